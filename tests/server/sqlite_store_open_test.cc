// Which files a SqliteStore opens, which it refuses and in which words. What it refuses it leaves as it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "ring/error.h"
#include "server/sqlite_store.h"
#include "server/store_rules.h"
#include "tests/server/store_test_data.h"

namespace ringd::server {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::string TextOf(const absl::Status& status) { return std::string(status.message()); }

void RunSql(const std::string& path, const char* sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(db, sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
  ASSERT_EQ(sqlite3_close(db), SQLITE_OK);
}

class SqliteStoreOpen : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<SqliteStore>> Open(InitMode mode) { return SqliteStore::Open(data(), mode); }
  absl::Status StatusOf(InitMode mode) { return Open(mode).status(); }

  // Expects that opening is refused, with --init or without, in words that hold `text`, and that nothing changes.
  void ExpectRefused(const std::string& text) {
    const std::vector<std::string> files = Files();
    for (const InitMode mode : {InitMode::kMustExist, InitMode::kCreate}) {
      const absl::Status refused = StatusOf(mode);
      EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
      EXPECT_EQ(ring::ReasonOf(refused), kStoreFormat);
      EXPECT_THAT(TextOf(refused), HasSubstr(text));
    }
    EXPECT_EQ(Files(), files);
  }

  void MakeStore(uint64_t epoch = 1) {
    auto store = Open(InitMode::kCreate);
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)->Load().ok());
    ASSERT_TRUE(CommitOne(**store, TestCreate("r", epoch)).ok());
    ASSERT_TRUE(CommitOne(**store, TestAdd("r", {epoch, 2}, "n1")).ok());
  }

  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(data())) {
      files.push_back(entry.path().filename().string() + ":" +
                      (entry.is_regular_file() ? ReadFile(entry.path().string()) : ""));
    }
    std::sort(files.begin(), files.end());
    return files;
  }
  std::vector<std::string> FileNames() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(data())) names.push_back(entry.path().filename());
    return names;
  }
  std::string data() const { return temp_ / "data"; }
  std::string db() const { return data() + "/ringd.db"; }
  std::string wal() const { return data() + "/ringd.db-wal"; }
  void MakeDir() { std::filesystem::create_directory(data()); }

 private:
  TempDir temp_;
};

TEST_F(SqliteStoreOpen, ADirectoryWithoutAStoreIsAnErrorThatNamesInit) {
  MakeDir();
  const absl::Status missing = StatusOf(InitMode::kMustExist);
  EXPECT_TRUE(absl::IsNotFound(missing));
  EXPECT_EQ(TextOf(missing), "data directory \"" + data() + "\" holds no store; --init creates one");
  EXPECT_THAT(FileNames(), ElementsAre());
}

TEST_F(SqliteStoreOpen, AStoreFromBeforeThereWereSlotsGetsTheTableForThem) {
  MakeStore();
  RunSql(db(), "DROP TABLE slots");
  auto store = Open(InitMode::kMustExist);
  ASSERT_TRUE(store.ok()) << store.status();
  ASSERT_TRUE((*store)->Load().ok());
  PutRing put = TestAdd("r", {1, 3}, "n2");
  put.slots = TestSlots(1);
  EXPECT_TRUE(CommitOne(**store, put).ok());
}

TEST_F(SqliteStoreOpen, InitMakesACompletePrivateFileAndAnyLaterStartReadsIt) {
  ASSERT_TRUE(Open(InitMode::kCreate).ok());
  struct stat status;
  ASSERT_EQ(stat(db().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  const std::string header = ReadFile(db()).substr(0, 100);
  EXPECT_EQ(header.substr(68, 4), "ring");
  EXPECT_EQ(header.substr(60, 4), std::string("\0\0\0\1", 4));
  EXPECT_TRUE(Open(InitMode::kMustExist).ok());
  EXPECT_TRUE(Open(InitMode::kCreate).ok());
}

TEST_F(SqliteStoreOpen, FilesArePrivateWhileTheStoreIsOpenAndTheLogIsGoneAfterwards) {
  {
    auto store = Open(InitMode::kCreate);
    ASSERT_TRUE((*store)->Load().ok());
    ASSERT_TRUE(CommitOne(**store, TestCreate("r", 1)).ok());
    EXPECT_THAT(FileNames(), UnorderedElementsAre("ringd.db", "ringd.db-wal"));
    for (const std::string& file : {db(), wal()}) {
      struct stat status;
      ASSERT_EQ(stat(file.c_str(), &status), 0);
      EXPECT_EQ(status.st_mode & 07777, 0600u) << file;
    }
  }
  EXPECT_THAT(FileNames(), ElementsAre("ringd.db"));
}

// B115, stackshy/cloudemu#869: what a killed attempt to make a store left, of size 0 or not, is ignored and removed.
TEST_F(SqliteStoreOpen, StaleTemporaryFilesAreRemoved) {
  MakeDir();
  for (const char* suffix : {"", "-wal", "-journal"}) WriteFile(db() + ".tmp" + suffix, "half a file");
  EXPECT_TRUE(absl::IsNotFound(StatusOf(InitMode::kMustExist)));
  EXPECT_THAT(FileNames(), ElementsAre());
  WriteFile(db() + ".tmp", "");
  MakeStore();
  EXPECT_THAT(FileNames(), ElementsAre("ringd.db"));
}

// B114, nambok/mentedb#97.
TEST_F(SqliteStoreOpen, ASecondStoreOnTheDirectoryIsRefused) {
  auto first = Open(InitMode::kCreate);
  ASSERT_TRUE(first.ok());
  const absl::Time start = absl::Now();
  const absl::Status second = StatusOf(InitMode::kMustExist);
  EXPECT_LT(absl::Now() - start, absl::Seconds(1));
  EXPECT_EQ(ring::ReasonOf(second), kStoreInUse);
  EXPECT_THAT(TextOf(second), HasSubstr("data directory \"" + data() + "\" is in use by"));
  first->reset();
  EXPECT_TRUE(Open(InitMode::kMustExist).ok());
}

// B114, wangyingsm/dr-strange#2: a program that opens the file itself, past the lock of the directory.
TEST_F(SqliteStoreOpen, AFileThatAnotherProgramHasLockedIsInUse) {
  MakeStore();
  int ready[2];
  int done[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(done), 0);
  const pid_t child = fork();
  if (child == 0) {
    sqlite3* other = nullptr;
    const bool locked = sqlite3_open(db().c_str(), &other) == SQLITE_OK &&
                        sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK;
    char byte = locked ? 'y' : 'n';
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    byte = static_cast<char>(read(done[0], &byte, 1));
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  const absl::Status locked = StatusOf(InitMode::kMustExist);
  EXPECT_TRUE(absl::IsFailedPrecondition(locked));
  EXPECT_EQ(TextOf(locked), "\"" + db() + "\" is in use by another process");
  ASSERT_EQ(write(done[1], &byte, 1), 1);
  waitpid(child, nullptr, 0);
  for (const int fd : {ready[0], ready[1], done[0], done[1]}) close(fd);
  EXPECT_TRUE(Open(InitMode::kMustExist).ok());
}

// B118, anyproto/any-store#170 and zevv/duc#94: each case in its own words, never "corrupt", never an empty directory.
TEST_F(SqliteStoreOpen, ANewerFormatIsRefusedByItsNumber) {
  MakeStore();
  RunSql(db(), "PRAGMA user_version = 2");
  ExpectRefused("\"" + db() + "\" has format 2, this binary reads format 1");
}

TEST_F(SqliteStoreOpen, TheDatabaseOfAnotherProgramIsRefused) {
  MakeDir();
  RunSql(db(), "CREATE TABLE t(x); PRAGMA application_id = 0x1234");
  ExpectRefused("is not a ringd store: it is an SQLite database of another program (application_id 0x1234)");
}

TEST_F(SqliteStoreOpen, AFileThatIsNoDatabaseIsRefused) {
  MakeDir();
  WriteFile(db(), "short");
  ExpectRefused("\"" + db() + "\" is not a ringd store");
  WriteFile(db(), std::string(8192, 'x'));
  ExpectRefused("\"" + db() + "\" is not a ringd store");
}

TEST_F(SqliteStoreOpen, AnEmptyFileIsRefused) {
  MakeDir();
  WriteFile(db(), "");
  ExpectRefused("\"" + db() + "\" is empty");
}

TEST_F(SqliteStoreOpen, ADirectoryInPlaceOfTheFileIsRefused) {
  MakeDir();
  std::filesystem::create_directory(db());
  ExpectRefused("\"" + db() + "\" is a directory");
}

TEST_F(SqliteStoreOpen, ASymbolicLinkInPlaceOfTheFileIsRefused) {
  MakeStore();
  std::filesystem::rename(db(), data() + "/elsewhere.db");
  std::filesystem::create_symlink(data() + "/elsewhere.db", db());
  ExpectRefused("\"" + db() + "\" is a symbolic link");
}

// B119, rethinkdb/rethinkdb#1070: file mode 0000, as another user than root.
TEST_F(SqliteStoreOpen, AFileThatMayNotBeReadIsToldInTheSystemsWords) {
  MakeStore();
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 &&
        (chown(data().c_str(), 65534, 65534) != 0 || chown(db().c_str(), 65534, 65534) != 0 ||
         chmod(std::filesystem::path(data()).parent_path().c_str(), 0755) != 0 || setuid(65534) != 0)) {
      _exit(2);
    }
    for (const mode_t mode : {0000u, 0200u, 0400u}) {
      if (chmod(db().c_str(), mode) != 0) _exit(3);
      const absl::Status refused = StatusOf(InitMode::kCreate);
      if (!absl::IsUnavailable(refused) || TextOf(refused).find(db()) == std::string::npos ||
          TextOf(refused).find("Permission denied") == std::string::npos) {
        fprintf(stderr, "mode %o: %s\n", mode, refused.ToString().c_str());
        _exit(4);
      }
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// B116, tursodatabase/turso#8103: the file deleted, the log left behind.
class LeftoverLog : public SqliteStoreOpen {
 protected:
  // Leaves a store with a log, as a killed server does.
  void MakeKilledStore() {
    auto store = Open(InitMode::kCreate);
    ASSERT_TRUE(store.ok()) << store.status();
    ASSERT_TRUE((*store)->Load().ok());
    ASSERT_TRUE(CommitOne(**store, TestCreate("r", 1)).ok());
    ASSERT_TRUE(CommitOne(**store, TestAdd("r", {1, 2}, "n1")).ok());
    const std::string file = ReadFile(db());
    const std::string log = ReadFile(wal());
    store->reset();
    WriteFile(db(), file);
    WriteFile(wal(), log);
  }
};

TEST_F(LeftoverLog, ALogWithoutItsFileIsRefused) {
  MakeKilledStore();
  std::filesystem::remove(db());
  ExpectRefused("\"" + wal() + "\" is there without \"ringd.db\"");
}

TEST_F(LeftoverLog, AFileWithTheLogOfAnotherStoreIsRefused) {
  MakeKilledStore();
  const std::string log = ReadFile(wal());
  std::filesystem::remove_all(data());
  MakeKilledStore();
  WriteFile(wal(), log);
  ExpectRefused("\"ringd.db-wal\" is the log of another store");
}

TEST_F(LeftoverLog, ACleanlyClosedFileWithTheLogOfAnotherStoreIsRefused) {
  MakeKilledStore();
  const std::string log = ReadFile(wal());
  std::filesystem::remove_all(data());
  MakeStore();
  WriteFile(wal(), log);
  ExpectRefused("\"ringd.db-wal\" is the log of another store");
}

TEST_F(LeftoverLog, AFileWithoutItsLogIsTheStoreAsItWasBefore) {
  MakeKilledStore();
  std::filesystem::remove(wal());
  auto store = Open(InitMode::kMustExist);
  ASSERT_TRUE(store.ok()) << store.status();
  auto contents = (*store)->Load();
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_TRUE(contents->rings.empty());
}

}  // namespace
}  // namespace ringd::server
