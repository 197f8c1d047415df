// Processes killed and bytes changed under a SqliteStore: a true state of the past, or a refusal; never anything else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "ring/error.h"
#include "server/sqlite_store.h"
#include "server/store_rules.h"
#include "tests/server/store_test_data.h"

namespace ringd::server {
namespace {

using ::testing::HasSubstr;

std::string ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

void WriteFile(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::string NodeName(uint64_t revision) { return "n" + std::to_string(revision); }

class SqliteStoreDamage : public ::testing::Test {
 protected:
  absl::StatusOr<StoreContents> LoadStore() {
    auto store = SqliteStore::Open(data(), InitMode::kMustExist);
    if (!store.ok()) return store.status();
    return (*store)->Load();
  }
  // A store of ring "r" at epoch 1, where revision n added node n<n>, after a ring "gone" was there for a while.
  std::unique_ptr<SqliteStore> MakeStore(uint64_t revisions) {
    auto store = SqliteStore::Open(data(), InitMode::kCreate);
    EXPECT_TRUE(store.ok()) << store.status();
    EXPECT_TRUE((*store)->Load().ok());
    EXPECT_TRUE(CommitOne(**store, TestCreate("gone", 1)).ok());
    EXPECT_TRUE(CommitOne(**store, TestDrop("gone", {1, 1}, "drop-1")).ok());
    EXPECT_TRUE(CommitOne(**store, TestCreate("r", 2)).ok());
    for (uint64_t revision = 2; revision <= revisions; ++revision) {
      PutRing put = TestAdd("r", {2, revision}, NodeName(revision));
      put.slots = TestSlots(0);
      EXPECT_TRUE(CommitOne(**store, put).ok());
    }
    return *std::move(store);
  }
  // Expects that contents are exactly what some revision of MakeStore left; returns the revision.
  static uint64_t CheckTrueState(const StoreContents& contents) {
    if (contents.rings.empty()) return 0;
    const StoredRing& ring = contents.rings[0];
    const uint64_t revision = ring.head.version.revision;
    std::map<std::string, ring::Node> expected;
    for (uint64_t r = 2; r <= revision; ++r) expected[NodeName(r)] = *TestNode(NodeName(r));
    EXPECT_EQ(ring.nodes.size(), expected.size());
    for (const ring::Node& node : ring.nodes) EXPECT_EQ(node, expected[node.id]);
    EXPECT_EQ(ring.head, TestHead(ring.head.name, ring.head.version));
    EXPECT_EQ(ring.slot_places, std::vector<uint32_t>(revision > 1 ? 1'024 : 0, 0));
    return revision;
  }
  std::string data() const { return temp_ / "data"; }
  std::string db() const { return data() + "/ringd.db"; }
  std::string wal() const { return data() + "/ringd.db-wal"; }

 private:
  TempDir temp_{FastParent()};
};

// B108, amelielabs/amelie#58, facebook/rocksdb#1351: the tail of the log is cut, by bytes, or has garbage after it.
TEST_F(SqliteStoreDamage, ACutLogLosesItsTailAndNothingElse) {
  constexpr uint64_t kRevisions = 20;
  auto store = MakeStore(kRevisions - 1);
  const size_t before_last = ReadFile(wal()).size();
  ASSERT_TRUE(CommitOne(*store, TestAdd("r", {2, kRevisions}, NodeName(kRevisions))).ok());
  const std::string file = ReadFile(db());
  const std::string log = ReadFile(wal());
  store.reset();
  const auto load = [&](const std::string& log_bytes) {
    WriteFile(db(), file);
    WriteFile(wal(), log_bytes);
    absl::StatusOr<StoreContents> contents = LoadStore();
    EXPECT_TRUE(contents.ok()) << contents.status();
    return contents.ok() ? CheckTrueState(*contents) : 0;
  };
  EXPECT_EQ(load(log), kRevisions);
  for (size_t cut = 1; cut <= log.size() - before_last; cut += cut < 64 ? 1 : 101) {
    EXPECT_EQ(load(log.substr(0, log.size() - cut)), kRevisions - 1) << "cut by " << cut;
  }
  for (const size_t size : {1, 2, 23, 24, 25, 64}) {
    EXPECT_EQ(load(log + std::string(size, '\xa5')), kRevisions) << size << " bytes of garbage";
  }
  for (size_t size = 0; size < before_last; size += 1'009) EXPECT_LT(load(log.substr(0, size)), kRevisions);
}

// Reliability row 2: one bit flipped, anywhere in the file.
TEST_F(SqliteStoreDamage, AFlippedBitInTheFileGivesATrueStateOrARefusal) {
  auto store = MakeStore(12);
  store.reset();
  const std::string clean = ReadFile(db());
  std::mt19937 random(1);
  int refused = 0;
  for (size_t at = random() % 61; at < clean.size(); at += 1 + random() % 120) {
    std::string damaged = clean;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
    WriteFile(db(), damaged);
    absl::StatusOr<StoreContents> contents = LoadStore();
    if (contents.ok()) {
      EXPECT_EQ(CheckTrueState(*contents), 12u) << "byte " << at;
    } else {
      ++refused;
    }
    std::filesystem::remove(wal());
  }
  EXPECT_GT(refused, 20);
}

// Reliability row 2, facebook/rocksdb#1351: damage in the log with acknowledged changes behind it is a refusal, not the
// silent loss of them. In the last transaction it cannot be told from a crash; in the frame that ends the one before,
// it may be either.
TEST_F(SqliteStoreDamage, AFlippedBitInTheLogLosesNoMoreThanTheLastTwoTransactions) {
  auto store = MakeStore(11);
  const size_t last = ReadFile(wal()).size();
  const size_t end_of_one_before = last - 4'096 - 24;
  ASSERT_TRUE(CommitOne(*store, TestAdd("r", {2, 12}, NodeName(12))).ok());
  const std::string file = ReadFile(db());
  const std::string log = ReadFile(wal());
  store.reset();
  std::mt19937 random(1);
  for (size_t at = 0; at < log.size(); at += at < 64 ? 1 : 1 + random() % 700) {
    std::string damaged = log;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
    WriteFile(db(), file);
    WriteFile(wal(), damaged);
    const absl::StatusOr<StoreContents> contents = LoadStore();
    if (contents.ok()) {
      EXPECT_GE(at, end_of_one_before);
      EXPECT_GE(CheckTrueState(*contents), at < last ? 10u : 11u) << "byte " << at;
    } else {
      EXPECT_LT(at, last);
      EXPECT_TRUE(absl::IsDataLoss(contents.status())) << "byte " << at << ": " << contents.status();
      EXPECT_THAT(std::string(contents.status().message()), HasSubstr("ringd.db-wal\" is damaged at byte"));
      EXPECT_EQ(ReadFile(wal()), damaged) << "what is refused is left as it was";
    }
  }
}

// What a former use of the log's file left behind the present one is no damage.
TEST_F(SqliteStoreDamage, ALogThatWasBegunAnewIsWhole) {
  auto store = MakeStore(30);
  const std::string file = ReadFile(db());
  const std::string long_log = ReadFile(wal());
  store.reset();
  WriteFile(db(), file);
  WriteFile(wal(), long_log);
  auto opened = SqliteStore::Open(data(), InitMode::kMustExist);
  ASSERT_TRUE(opened.ok()) << opened.status();
  ASSERT_TRUE((*opened)->Load().ok());
  ASSERT_TRUE(CommitOne(**opened, TestAdd("r", {2, 31}, NodeName(31))).ok());
  const std::string now_file = ReadFile(db());
  const std::string now_log = ReadFile(wal());
  ASSERT_EQ(now_log.size(), long_log.size()) << "the file was written over from its start";
  opened->reset();
  WriteFile(db(), now_file);
  WriteFile(wal(), now_log);
  const absl::StatusOr<StoreContents> contents = LoadStore();
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_EQ(CheckTrueState(*contents), 31u);
}

// A row that SQLite finds in order and that is not the one that was written.
TEST_F(SqliteStoreDamage, ARowThatWasChangedOrLostIsNoticed) {
  MakeStore(5).reset();
  const std::string clean = ReadFile(db());
  const struct {
    const char* sql;
    const char* text;
  } cases[] = {
      {"UPDATE node SET record = x'00' || substr(record, 2) WHERE id = 'n3'",
       "ring \"r\", node \"n3\": the row is not what was written"},
      {"UPDATE node SET id = 'x' WHERE id = 'n3'", "ring \"r\", node \"x\": the row is not what was written"},
      {"UPDATE node SET record = (SELECT record FROM node WHERE id = 'n2'), checksum = (SELECT checksum FROM node "
       "WHERE "
       "id = 'n2') WHERE id = 'n3'",
       "ring \"r\", node \"n3\": the row is not what was written"},
      {"DELETE FROM node WHERE id = 'n3'", "ring \"r\": rows of its nodes are lost, or too many"},
      {"UPDATE change SET record = x'00' WHERE revision = 4", "ring \"r\", change 4: the row is not what was written"},
      {"UPDATE change SET request_id = 'x' WHERE revision = 4",
       "ring \"r\", change 4: the row is not what was written"},
      {"DELETE FROM change WHERE revision = 1", "ring \"r\": rows of its changes are lost, or too many"},
      {"UPDATE ring SET revision = 4", "ring \"r\": the row is not what was written"},
      {"UPDATE ring SET name = 'q'", "ring \"q\": the row is not what was written"},
      {"UPDATE ring SET nodes_digest = 0", "ring \"r\": the row is not what was written"},
      {"PRAGMA foreign_keys = OFF; DELETE FROM ring", "rows of ring number"},
      {"PRAGMA foreign_keys = ON; DELETE FROM ring", "rows of rings are lost"},
      {"DELETE FROM tombstone", "rows of tombstones are lost"},
      {"UPDATE tombstone SET time_micros = 0", "tombstone of ring \"gone\": the row is not what was written"},
      {"UPDATE meta SET highest_epoch = 1", "the row of meta is not what was written"},
      {"DELETE FROM meta", "the store has lost its identity"},
  };
  for (const auto& damage : cases) {
    WriteFile(db(), clean);
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(db().c_str(), &handle), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(handle, damage.sql, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(handle);
    ASSERT_EQ(sqlite3_close(handle), SQLITE_OK);
    const absl::Status refused = LoadStore().status();
    EXPECT_TRUE(absl::IsDataLoss(refused)) << damage.sql << ": " << refused;
    EXPECT_EQ(ring::ReasonOf(refused), kStoreCorrupt);
    EXPECT_THAT(std::string(refused.message()), HasSubstr(damage.text));
    std::filesystem::remove(wal());
  }
}

TEST_F(SqliteStoreDamage, ATruncatedFileIsDataLoss) {
  MakeStore(5).reset();
  std::filesystem::resize_file(db(), 8'192);
  EXPECT_TRUE(absl::IsDataLoss(LoadStore().status())) << LoadStore().status();
}

// B120, facebook/rocksdb#1351: killed at a random moment among changes, merges of the log included.
TEST(SqliteStoreKilled, NoAcknowledgedChangeIsLostAndNoneIsHalfThere) {
  TempDir temp(FastParent());
  std::mt19937 random(7);
  uint64_t revision = 0;
  uint64_t changes_seen = 0;
  const auto change = [](uint64_t to) {
    if (to == 1) return TestCreate("r", 1);
    ring::Node node = *TestNode(NodeName(to));
    node.metadata["padding"] = std::string(4'000, 'x');  // so that the log is merged now and then
    PutRing put =
        TestPut("r", {1, to}, {{nullptr, std::make_shared<const ring::Node>(node)}}, "request-" + NodeName(to));
    put.keep_from_revision = to > 50 ? to - 50 : 0;
    return put;
  };
  for (int round = 0; round < 20; ++round) {
    int acknowledgements[2];
    ASSERT_EQ(pipe(acknowledgements), 0);
    const pid_t child = fork();
    if (child == 0) {
      auto store = SqliteStore::Open(temp / "data", InitMode::kCreate);
      if (!store.ok() || !(*store)->Load().ok()) _exit(1);
      for (uint64_t next = revision + 1;; ++next) {
        if (!CommitOne(**store, change(next)).ok()) _exit(2);
        if (write(acknowledgements[1], &next, sizeof(next)) != sizeof(next)) _exit(3);
      }
    }
    close(acknowledgements[1]);
    uint64_t acknowledged = 0;
    ASSERT_EQ(read(acknowledgements[0], &acknowledged, sizeof(acknowledged)), ssize_t{sizeof(acknowledged)});
    usleep(1'000 + random() % 80'000);
    kill(child, SIGKILL);
    while (read(acknowledgements[0], &acknowledged, sizeof(acknowledged)) == ssize_t{sizeof(acknowledged)}) {
    }
    close(acknowledgements[0]);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "round " << round << ", exit status " << WEXITSTATUS(status);

    auto store = SqliteStore::Open(temp / "data", InitMode::kMustExist);
    ASSERT_TRUE(store.ok()) << store.status();
    auto contents = (*store)->Load();
    ASSERT_TRUE(contents.ok()) << contents.status();
    const StoredRing& ring = contents->rings.at(0);
    const uint64_t found = ring.head.version.revision;
    EXPECT_GE(found, acknowledged);
    EXPECT_LE(found, acknowledged + 1);
    EXPECT_EQ(ring.nodes.size(), found - 1);
    const uint64_t kept = found > 50 ? found - 50 : 1;
    EXPECT_EQ((*store)->ReadChanges("r", 1, kept, 1'000, SIZE_MAX)->size(), found - kept + 1);
    if (found > 1) {
      EXPECT_TRUE((*store)->FindRequest("r", "request-" + NodeName(found))->has_value());
    }
    changes_seen += found - revision;
    revision = found;
    if (round % 4 == 3) store->reset();  // now and then a clean stop in between
  }
  EXPECT_GE(changes_seen, 200u) << "too few changes to mean anything";
}

}  // namespace
}  // namespace ringd::server
