#include "server/data_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "ring/error.h"
#include "server/store_rules.h"
#include "tests/server/store_test_data.h"

namespace ringd::server {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Text(const absl::Status& status) { return std::string(status.message()); }

// Runs `check` in a child without root's right to ignore file modes; true when it returned true.
bool AsNobody(const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
    _exit(check() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(DataDir, AMissingDirectoryIsAnErrorThatNamesInit) {
  TempDir temp;
  const absl::Status missing = DataDir::Open(temp / "data", InitMode::kMustExist).status();
  EXPECT_TRUE(absl::IsNotFound(missing));
  EXPECT_EQ(Text(missing), "data directory \"" + (temp / "data") + "\": No such file or directory; --init creates it");
  EXPECT_FALSE(std::filesystem::exists(temp / "data"));
}

TEST(DataDir, InitMakesThePrivateDirectoryAndToleratesOneThatIsThere) {
  TempDir temp;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(DataDir::Open(temp / "data", InitMode::kCreate).ok());
  struct stat status;
  ASSERT_EQ(stat((temp / "data").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0700u);
}

// B119, nuts-foundation/nuts-node#3478: a missing parent is not made, and said so.
TEST(DataDir, InitDoesNotMakeTheParent) {
  TempDir temp;
  const absl::Status missing = DataDir::Open(temp / "parent/data", InitMode::kCreate).status();
  EXPECT_TRUE(absl::IsNotFound(missing));
  EXPECT_THAT(Text(missing), EndsWith("No such file or directory; its parent directory must exist"));
  EXPECT_FALSE(std::filesystem::exists(temp / "parent"));
}

// B119, dolthub/dolt#10313: path is a file.
TEST(DataDir, AFileIsNoDataDirectory) {
  TempDir temp;
  std::ofstream(temp / "file") << "x";
  for (const InitMode mode : {InitMode::kMustExist, InitMode::kCreate}) {
    const absl::Status refused = DataDir::Open(temp / "file", mode).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(refused));
    EXPECT_EQ(Text(refused), "data directory \"" + (temp / "file") + "\": Not a directory");
  }
}

// B119, influxdata/influxdb#4946: mode 0555, as another user than root.
TEST(DataDir, ADirectoryThatMayNotBeReadOrWrittenIsRefused) {
  TempDir temp;
  std::filesystem::permissions(temp.path(), std::filesystem::perms(0755));
  for (const mode_t mode : {0555u, 0333u, 0000u}) {
    const std::string path = temp / std::to_string(mode);
    ASSERT_EQ(mkdir(path.c_str(), 0700), 0);
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    EXPECT_TRUE(AsNobody([&] {
      const absl::Status refused = DataDir::Open(path, InitMode::kCreate).status();
      return absl::IsFailedPrecondition(refused) &&
             Text(refused) == "data directory \"" + path + "\": Permission denied";
    })) << std::oct
        << mode;
  }
  EXPECT_TRUE(
      AsNobody([&] { return absl::IsFailedPrecondition(DataDir::Open(temp / "new", InitMode::kCreate).status()); }));
  EXPECT_FALSE(std::filesystem::exists(temp / "new"));
}

// B114, nambok/mentedb#97: a second process on the same directory.
TEST(DataDir, ASecondHolderIsRefusedAndToldOfTheFirst) {
  TempDir temp;
  absl::StatusOr<DataDir> first = DataDir::Open(temp / "data", InitMode::kCreate);
  ASSERT_TRUE(first.ok());
  const absl::Status second = DataDir::Open(temp / "data", InitMode::kMustExist).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(second));
  EXPECT_EQ(ring::ReasonOf(second), kStoreInUse);
  EXPECT_THAT(Text(second), HasSubstr("data directory \"" + (temp / "data") + "\" is in use by "));
  // Where the kernel tells the holder (some file systems hide the inode's device), it is this process.
  if (Text(second).find("another process") == std::string::npos) {
    EXPECT_THAT(Text(second), EndsWith("is in use by process " + std::to_string(getpid())));
  }
}

// B114, boltdb/bolt#111: the same directory by another path.
TEST(DataDir, ASymbolicLinkMeetsTheSameLock) {
  TempDir temp;
  absl::StatusOr<DataDir> first = DataDir::Open(temp / "data", InitMode::kCreate);
  ASSERT_TRUE(first.ok());
  std::filesystem::create_directory_symlink(temp / "data", temp / "link");
  EXPECT_EQ(ring::ReasonOf(DataDir::Open(temp / "link", InitMode::kMustExist).status()), kStoreInUse);
  first = absl::CancelledError("let go");
  EXPECT_TRUE(DataDir::Open(temp / "link", InitMode::kMustExist).ok());
}

// B114, canonical/dqlite#656: the lock ends with the process that holds it, however it ends.
TEST(DataDir, AKilledHolderLeavesNoLock) {
  TempDir temp;
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    absl::StatusOr<DataDir> held = DataDir::Open(temp / "data", InitMode::kCreate);
    const char answer = held.ok() ? 'y' : 'n';
    if (write(ready[1], &answer, 1) != 1) _exit(1);
    while (true) pause();
  }
  char answer = 0;
  ASSERT_EQ(read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  const absl::Status held = DataDir::Open(temp / "data", InitMode::kMustExist).status();
  EXPECT_EQ(ring::ReasonOf(held), kStoreInUse);
  EXPECT_THAT(Text(held), Not(EndsWith("process " + std::to_string(getpid()))));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  EXPECT_TRUE(DataDir::Open(temp / "data", InitMode::kMustExist).ok());
}

TEST(DataDir, TheLockMovesWithTheObject) {
  TempDir temp;
  absl::StatusOr<DataDir> first = DataDir::Open(temp / "data", InitMode::kCreate);
  ASSERT_TRUE(first.ok());
  {
    DataDir moved = *std::move(first);
    EXPECT_EQ(moved.path(), temp / "data");
    EXPECT_FALSE(DataDir::Open(temp / "data", InitMode::kMustExist).ok());
  }
  EXPECT_TRUE(DataDir::Open(temp / "data", InitMode::kMustExist).ok());
}

}  // namespace
}  // namespace ringd::server
