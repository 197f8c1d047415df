// The file of a saved copy, on real file systems: what is there is whole, whatever happens to who writes it.
#include "client/local/copy_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/ring/ring_builder.h"

namespace ringd {
namespace {

using std::chrono::system_clock;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

const system_clock::time_point kThen = system_clock::time_point(std::chrono::milliseconds(1'700'000'000'123));

// Of a kilobyte a node.
SavedCopy CopyOf(uint64_t revision, int nodes) {
  ring::Ring ring = ring::EmptyRing(ring::SettingsOf(1));
  std::vector<ring::Operation> adds;
  for (int i = 0; i < nodes; ++i) {
    ring::AddNode add = ring::Add("n" + std::to_string(i));
    add.node.metadata = {{"note", std::string(1'000, 'x')}};
    adds.emplace_back(add);
  }
  return {.held = std::make_shared<const HeldRing>(
              HeldRing{.version = {1, revision}, .ring = nodes > 0 ? ring::With(ring, adds) : ring}),
          .current_at = kThen};
}

class CopyFileTest : public ::testing::Test {
 protected:
  CopyFileTest() {
    std::string folder = (std::filesystem::temp_directory_path() / "ringd_copy_XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) std::abort();
    folder_ = folder;
  }
  ~CopyFileTest() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ / "r.copy"; }
  absl::Status Save(uint64_t revision, int nodes = 2) const { return SaveCopy(path(), "r", CopyOf(revision, nodes)); }
  absl::StatusOr<SavedCopy> Load() const { return LoadCopy(path(), {.ring = "r", .now = kThen}); }
  // Of what lies there; 0 where that is nothing.
  uint64_t SavedRevision() const {
    const absl::StatusOr<SavedCopy> copy = Load();
    EXPECT_TRUE(copy.ok() || absl::IsNotFound(copy.status())) << copy.status();
    return copy.ok() ? copy->held->version.revision : 0;
  }
  std::set<std::string> Files() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) names.insert(entry.path().filename());
    return names;
  }
  void ExpectRefused(const absl::Status& status, absl::StatusCode code, const std::string& text) const {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("saved copy \"" + path() + "\" " + text));
  }

  std::filesystem::path folder_;
};

// Runs in a process of its own, and returns how that ended.
template <class Run>
int InChild(Run run) {
  const pid_t child = fork();
  if (child == 0) {
    run();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

void LimitFileSize(rlim_t bytes) {
  const rlimit limit{.rlim_cur = bytes, .rlim_max = RLIM_INFINITY};
  setrlimit(RLIMIT_FSIZE, &limit);
}

TEST_F(CopyFileTest, WhatWasSavedIsLoaded) {
  ExpectRefused(Load().status(), absl::StatusCode::kNotFound, "cannot be read");
  ASSERT_EQ(Save(1), absl::OkStatus());
  EXPECT_EQ(SavedRevision(), 1u);
  ASSERT_EQ(Save(2), absl::OkStatus());
  const absl::StatusOr<SavedCopy> copy = Load();
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_EQ(copy->held->version, (ring::Version{1, 2}));
  EXPECT_EQ(copy->held->ring.node_count(), 2u);
  EXPECT_EQ(copy->current_at, kThen);
  EXPECT_THAT(Files(), UnorderedElementsAre("r.copy"));
}

TEST_F(CopyFileTest, ANameWithoutAFolderIsOfThisOne) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder_);
  EXPECT_EQ(SaveCopy("r.copy", "r", CopyOf(1, 1)), absl::OkStatus());
  std::filesystem::current_path(before);
  EXPECT_EQ(SavedRevision(), 1u);
}

TEST_F(CopyFileTest, OnlyItsOwnerReadsIt) {
  const mode_t before = umask(0);
  ASSERT_EQ(Save(1), absl::OkStatus());
  umask(before);
  struct stat status {};
  ASSERT_EQ(stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(CopyFileTest, ErrorsNameTheFile) {
  std::ofstream(path()) << "something else";
  ExpectRefused(Load().status(), absl::StatusCode::kFailedPrecondition, "is no saved copy of a ring");
  EXPECT_EQ(Save(1), absl::OkStatus()) << "what cannot be read is replaced";
  EXPECT_EQ(SavedRevision(), 1u);
}

TEST_F(CopyFileTest, AFolderThatIsNotThereIsAnError) {
  std::filesystem::remove_all(folder_);
  ExpectRefused(Save(1), absl::StatusCode::kNotFound, "cannot be written: its folder");
}

TEST_F(CopyFileTest, WhatIsNoFileIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(path().c_str(), 0600), 0);
  ExpectRefused(Load().status(), absl::StatusCode::kFailedPrecondition, "is no regular file");
  std::filesystem::remove(path());
  std::filesystem::create_directory(path());
  ExpectRefused(Load().status(), absl::StatusCode::kFailedPrecondition, "is no regular file");
  EXPECT_FALSE(Save(1).ok());
  EXPECT_THAT(Files(), UnorderedElementsAre("r.copy")) << "nothing is left over";
}

TEST_F(CopyFileTest, AFileThatIsTooLargeIsNotRead) {
  std::ofstream(path()).flush();
  ASSERT_EQ(truncate(path().c_str(), off_t{kMaxSavedBytes} + 1), 0);
  ExpectRefused(Load().status(), absl::StatusCode::kResourceExhausted, "has more than 1073741824 bytes");
}

// As when the process before a restart still saves.
TEST_F(CopyFileTest, TwoDoNotWriteAtOnce) {
  ASSERT_EQ(Save(1), absl::OkStatus());
  const std::string next = path() + ".tmp";
  {
    const int other = open(next.c_str(), O_WRONLY | O_CREAT, 0600);
    ASSERT_EQ(flock(other, LOCK_EX), 0);
    ExpectRefused(Save(2), absl::StatusCode::kUnavailable, "is just being saved by another one");
    EXPECT_THAT(Files(), UnorderedElementsAre("r.copy", "r.copy.tmp")) << "what the other one writes is left alone";
    close(other);
  }
  EXPECT_EQ(SavedRevision(), 1u);
  EXPECT_EQ(Save(2), absl::OkStatus());
  EXPECT_EQ(SavedRevision(), 2u);
}

// Processes that save as fast as they can: one of them at a time does, and what lies there is always whole.
TEST_F(CopyFileTest, ManyMaySaveToOnePath) {
  ASSERT_EQ(Save(1, 1), absl::OkStatus());
  std::vector<pid_t> writers;
  for (int writer = 1; writer <= 3; ++writer) {
    writers.push_back(fork());
    if (writers.back() != 0) continue;
    const SavedCopy copy = CopyOf(static_cast<uint64_t>(writer), writer);
    int saved = 0;
    while (saved < 50) {
      const absl::Status status = SaveCopy(path(), "r", copy);
      if (!status.ok() && !absl::IsUnavailable(status)) _exit(1);
      saved += status.ok() ? 1 : 0;
    }
    _exit(0);
  }
  for (size_t left = writers.size(); left > 0;) {
    const absl::StatusOr<SavedCopy> copy = Load();
    ASSERT_TRUE(copy.ok()) << copy.status();
    ASSERT_EQ(copy->held->ring.node_count(), copy->held->version.revision);
    int status = 0;
    for (pid_t& writer : writers) {
      if (writer == 0 || waitpid(writer, &status, WNOHANG) != writer) continue;
      EXPECT_EQ(status, 0);
      writer = 0;
      --left;
    }
  }
}

// Killed by the kernel when it has written so many bytes.
TEST_F(CopyFileTest, OfAWriterThatIsKilledTheOldFileStays) {
  ASSERT_EQ(Save(1), absl::OkStatus());
  const auto size = std::filesystem::file_size(path());
  for (uint64_t bytes = 0; bytes < size; bytes += 97) {
    const int status = InChild([&] {
      LimitFileSize(bytes);
      (void)Save(2);
    });
    ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ) << status;
    ASSERT_EQ(SavedRevision(), 1u) << "after " << bytes;
  }
  EXPECT_THAT(Files(), UnorderedElementsAre("r.copy", "r.copy.tmp"));
  ASSERT_EQ(Save(2, 0), absl::OkStatus()) << "what is left over does no harm, though it is longer";
  EXPECT_EQ(SavedRevision(), 2u);
  EXPECT_THAT(Files(), UnorderedElementsAre("r.copy"));
}

// Killed anywhere.
TEST_F(CopyFileTest, AfterAnyKillTheFileIsTheOldOneOrTheNewOne) {
  ASSERT_EQ(Save(1), absl::OkStatus());
  uint64_t revision = 1;
  for (int round = 0; round < 60; ++round) {
    int progress[2];
    ASSERT_EQ(pipe(progress), 0);
    const pid_t child = fork();
    if (child == 0) {
      for (uint64_t next = revision + 1;; ++next) {
        if (!Save(next, static_cast<int>(next % 50)).ok() || write(progress[1], &next, sizeof(next)) < 0) _exit(1);
      }
    }
    close(progress[1]);
    uint64_t told = 0;
    for (int i = 0; i <= round % 5; ++i) ASSERT_EQ(read(progress[0], &told, sizeof(told)), ssize_t{sizeof(told)});
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    while (read(progress[0], &told, sizeof(told)) > 0) continue;
    close(progress[0]);
    revision = SavedRevision();
    ASSERT_TRUE(revision == told || revision == told + 1) << revision << " after " << told;
  }
  EXPECT_EQ(Save(revision + 1), absl::OkStatus());
}

TEST_F(CopyFileTest, WhereNoMoreMayBeWrittenTheOldFileStays) {
  ASSERT_EQ(Save(1), absl::OkStatus());
  const int status = InChild([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    LimitFileSize(1'000);
    const absl::Status saved = Save(2);
    _exit(saved.ok() || saved.message().find("cannot be written") == absl::string_view::npos ? 1 : 0);
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(SavedRevision(), 1u);
  EXPECT_THAT(Files(), UnorderedElementsAre("r.copy")) << "nothing is left over";
}

TEST_F(CopyFileTest, OnAFullDiskTheOldFileStays) {
  if (mount("ringd_test", folder_.c_str(), "tmpfs", 0, "size=1m") != 0) GTEST_SKIP() << "may not mount a tmpfs";
  struct Unmount {
    std::string folder;
    ~Unmount() { umount2(folder.c_str(), MNT_DETACH); }
  } unmount{folder_};
  ASSERT_EQ(Save(1, 500), absl::OkStatus());
  ExpectRefused(Save(2, 600), absl::StatusCode::kResourceExhausted, "cannot be written");
  EXPECT_EQ(SavedRevision(), 1u);
  EXPECT_THAT(Files(), UnorderedElementsAre("r.copy")) << "it gives the space back";
  EXPECT_EQ(Save(3, 300), absl::OkStatus());
  EXPECT_EQ(SavedRevision(), 3u);
}

}  // namespace
}  // namespace ringd
