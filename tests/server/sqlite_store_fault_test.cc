// A disk that fails under a SqliteStore: what is acknowledged stays, what was refused is told so, nothing is retried.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <filesystem>
#include <fstream>

#include "ring/error.h"
#include "server/sqlite_store.h"
#include "server/store_rules.h"
#include "tests/server/fault_vfs.h"
#include "tests/server/store_test_data.h"

namespace ringd::server {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Op = FaultVfs::Op;
using Call = FaultVfs::Call;

class SqliteStoreFault : public ::testing::Test {
 protected:
  ~SqliteStoreFault() override { store_.reset(); }

  absl::Status Open() {
    store_.reset();
    absl::StatusOr<std::unique_ptr<SqliteStore>> opened = SqliteStore::Open(data(), InitMode::kCreate);
    if (opened.ok()) store_ = *std::move(opened);
    return opened.status();
  }
  absl::Status OpenAndLoad() {
    if (absl::Status opened = Open(); !opened.ok()) return opened;
    return store_->Load().status();
  }
  // A ring "r" at revision 1 in a new store.
  void MakeRing() {
    ASSERT_TRUE(OpenAndLoad().ok());
    ASSERT_TRUE(CommitOne(*store_, TestCreate("r", 1)).ok());
  }
  // Adds node n<revision>.
  absl::Status Add(uint64_t revision) {
    return CommitOne(*store_, TestAdd("r", {1, revision}, "n" + std::to_string(revision)));
  }
  // Adds as much as makes the log long enough to be merged.
  absl::Status AddMuch(uint64_t revision) {
    std::vector<ring::NodeDelta> deltas;
    for (int i = 0; i < 3'000; ++i) {
      ring::Node node = *TestNode("much" + std::to_string(i));
      node.metadata["padding"] = std::string(1'000, 'x');
      deltas.push_back({nullptr, std::make_shared<const ring::Node>(node)});
    }
    return CommitOne(*store_, TestPut("r", {1, revision}, deltas));
  }
  uint64_t ShownRevision() {
    absl::StatusOr<std::vector<ChangeRecord>> changes = store_->ReadChanges("r", 1, 1, 1'000, SIZE_MAX);
    EXPECT_TRUE(changes.ok()) << changes.status();
    return changes.ok() && !changes->empty() ? changes->back().version.revision : 0;
  }
  // The revision of the ring in the store as the next start finds it, all of it verified.
  uint64_t RevisionAfterRestart() {
    vfs_.ClearFault();
    EXPECT_TRUE(Open().ok());
    absl::StatusOr<StoreContents> contents = store_->Load();
    EXPECT_TRUE(contents.ok()) << contents.status();
    return contents.ok() && !contents->rings.empty() ? contents->rings[0].head.version.revision : 0;
  }
  std::string data() const { return temp_ / "data"; }

  TempDir temp_{FastParent()};
  FaultVfs vfs_;
  std::unique_ptr<SqliteStore> store_;
};

int FailLogSync(const Call& call) { return call.log && call.op == Op::kSync ? SQLITE_IOERR_FSYNC : SQLITE_OK; }
int FailDatabaseSync(const Call& call) { return !call.log && call.op == Op::kSync ? SQLITE_IOERR_FSYNC : SQLITE_OK; }
int FullLog(const Call& call) { return call.log && call.op == Op::kWrite ? SQLITE_FULL : SQLITE_OK; }
int FullDatabase(const Call& call) { return !call.log && call.op == Op::kWrite ? SQLITE_FULL : SQLITE_OK; }

// B111, redis/redis#8111, tursodatabase/turso#3077, clockworklabs/SpacetimeDB#985.
TEST_F(SqliteStoreFault, AfterAFailedFsyncNothingIsWrittenUntilReopened) {
  MakeRing();
  ASSERT_TRUE(Add(2).ok());
  vfs_.SetFault(FailLogSync);
  const absl::Status failed = Add(3);
  EXPECT_TRUE(absl::IsUnavailable(failed)) << failed;
  EXPECT_EQ(ring::ReasonOf(failed), kStoreUnreachable);
  EXPECT_THAT(std::string(failed.message()), HasSubstr(data() + "/ringd.db\": disk I/O error ("));

  vfs_.ClearFault();  // the next fsync would succeed
  const absl::Status refused = Add(3);
  EXPECT_TRUE(absl::IsUnavailable(refused));
  EXPECT_EQ(ring::ReasonOf(refused), kStoreUnreachable);
  EXPECT_THAT(std::string(refused.message()), HasSubstr("takes no more changes until ringd is started anew, since: "));
  EXPECT_EQ(ShownRevision(), 2u) << "reads go on, without the change that failed";
  store_.reset();
  EXPECT_EQ(vfs_.calls(), 0) << "nothing is written after the failure, not even on close";

  EXPECT_THAT(RevisionAfterRestart(), AnyOf(2u, 3u)) << "the outcome of the failed change was unknown";
  EXPECT_TRUE(Add(ShownRevision() + 1).ok());
}

TEST_F(SqliteStoreFault, AFailedWriteLatchesToo) {
  MakeRing();
  vfs_.SetFault([](const Call& call) { return call.op == Op::kWrite ? SQLITE_IOERR_WRITE : SQLITE_OK; });
  EXPECT_TRUE(absl::IsUnavailable(Add(2)));
  vfs_.ClearFault();
  EXPECT_TRUE(absl::IsUnavailable(Add(2)));
  EXPECT_EQ(RevisionAfterRestart(), 1u);
}

TEST_F(SqliteStoreFault, EveryWriteOfAFailedCommitFails) {
  MakeRing();
  vfs_.SetFault(FailLogSync);
  const std::vector<absl::Status> results = store_->Commit(
      {TestAdd("r", {1, 2}, "a"), TestAdd("r", {1, 9}, "skips"), TestCreate("s", 2)}, absl::InfinitePast());
  for (const absl::Status& result : results) EXPECT_TRUE(absl::IsUnavailable(result)) << result;
}

// B111 at the second fsync there is: a lost page of the database, which SQLite by itself would retry and forget.
TEST_F(SqliteStoreFault, AFailedFsyncWhileTheLogIsMergedLatchesAndKeepsTheLog) {
  MakeRing();
  vfs_.SetFault(FailDatabaseSync);
  EXPECT_TRUE(AddMuch(2).ok()) << "durable in the log";
  vfs_.ClearFault();
  EXPECT_TRUE(absl::IsUnavailable(Add(3)));
  EXPECT_EQ(ShownRevision(), 2u);
  store_.reset();
  EXPECT_EQ(vfs_.calls(), 0);
  EXPECT_GT(std::filesystem::file_size(data() + "/ringd.db-wal"), 3'000'000u);
  EXPECT_EQ(RevisionAfterRestart(), 2u);
}

TEST_F(SqliteStoreFault, WhatTheLastProcessLeftInTheLogIsShownOnlyOnceItIsDurable) {
  MakeRing();
  vfs_.SetFault(FailLogSync);
  EXPECT_TRUE(absl::IsUnavailable(Add(2)));
  for (const FaultVfs::Fault& fault : {FaultVfs::Fault(FailLogSync), FaultVfs::Fault(FailDatabaseSync)}) {
    vfs_.ClearFault();
    ASSERT_TRUE(Open().ok());
    vfs_.SetFault(fault);
    EXPECT_TRUE(absl::IsUnavailable(store_->Load().status()));
    EXPECT_TRUE(absl::IsUnavailable(Add(3)));
  }
  EXPECT_EQ(RevisionAfterRestart(), 2u);
}

// B112, facebook/rocksdb#6316.
TEST_F(SqliteStoreFault, AFullDiskRefusesTheChangeAndTheNextOneMaySucceed) {
  MakeRing();
  vfs_.SetFault(FullLog);
  const absl::Status full = Add(2);
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_EQ(ring::ReasonOf(full), kStoreFull);
  EXPECT_THAT(std::string(full.message()), HasSubstr("the disk is full"));
  EXPECT_EQ(ShownRevision(), 1u);
  vfs_.ClearFault();
  EXPECT_TRUE(Add(2).ok());
  vfs_.SetFault(FullLog);
  EXPECT_TRUE(absl::IsResourceExhausted(Add(3)));
  EXPECT_EQ(RevisionAfterRestart(), 2u) << "a change that was refused is never found later";
}

TEST_F(SqliteStoreFault, ADiskThatIsFullWhenTheLogIsMergedFailsNoChange) {
  MakeRing();
  vfs_.SetFault(FullDatabase);
  EXPECT_TRUE(AddMuch(2).ok());
  EXPECT_TRUE(Add(3).ok());
  vfs_.ClearFault();
  EXPECT_TRUE(Add(4).ok());
  EXPECT_GT(std::filesystem::file_size(data() + "/ringd.db"), 3'000'000u) << "merged once there was space";
  EXPECT_EQ(RevisionAfterRestart(), 4u);
}

TEST_F(SqliteStoreFault, AStoreOpensOnAFullDisk) {
  MakeRing();
  vfs_.SetFault(FullDatabase);
  EXPECT_TRUE(AddMuch(2).ok());
  store_.reset();  // cannot merge the log
  ASSERT_TRUE(Open().ok());
  absl::StatusOr<StoreContents> contents = store_->Load();
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_EQ(contents->rings.at(0).nodes.size(), 3'000u);
  EXPECT_EQ(RevisionAfterRestart(), 2u);
}

// Reliability row 4: the failure point moves until a run completes, once and sticky.
class FailingCall : public SqliteStoreFault {
 protected:
  // Four changes of which the call number `failing` fails, and with `sticky` all after it. False: there are less calls.
  bool CompletesBefore(int failing, bool sticky, int code) {
    vfs_.SetFault([=](const Call& call) {
      if (sticky ? call.number < failing : call.number != failing) return SQLITE_OK;
      return call.op == Op::kSync ? SQLITE_IOERR_FSYNC : code;
    });
    uint64_t acknowledged = ShownRevision();
    bool latched = false;
    for (int i = 0; i < 4; ++i) {
      const absl::Status added = Add(acknowledged + 1);
      EXPECT_FALSE(latched && added.ok());
      if (added.ok()) ++acknowledged;
      if (absl::IsUnavailable(added)) latched = true;
      EXPECT_EQ(ShownRevision(), acknowledged);
    }
    const bool completed = vfs_.calls() < failing;
    const uint64_t found = RevisionAfterRestart();
    EXPECT_GE(found, acknowledged);
    EXPECT_LE(found, acknowledged + (latched ? 1 : 0)) << "a change that was refused for good is there";
    return completed;
  }
};

TEST_F(FailingCall, InAChangeLosesNoAcknowledgedChange) {
  for (const int code : {SQLITE_IOERR_WRITE, SQLITE_FULL}) {
    for (const bool sticky : {false, true}) {
      int failing = 0;
      bool completed = false;
      while (!completed) {
        SCOPED_TRACE("call " + std::to_string(++failing));
        std::filesystem::remove_all(data());
        MakeRing();
        completed = CompletesBefore(failing, sticky, code);
      }
      EXPECT_GT(failing, 20);
    }
  }
}

TEST_F(FailingCall, InAChangeThatMergesTheLogLosesNoAcknowledgedChange) {
  for (const int code : {SQLITE_IOERR_WRITE, SQLITE_FULL}) {
    const bool sticky = code == SQLITE_FULL;
    int failing = 0;
    bool completed = false;
    while (!completed) {
      failing += 3;
      SCOPED_TRACE("call " + std::to_string(failing));
      std::filesystem::remove_all(data());
      MakeRing();
      constexpr uintmax_t kAlmostMerged = 990 * 4'120;
      for (uint64_t revision = 2; std::filesystem::file_size(data() + "/ringd.db-wal") < kAlmostMerged; ++revision) {
        ASSERT_TRUE(Add(revision).ok());
      }
      completed = CompletesBefore(failing, sticky, code);
    }
    EXPECT_GT(failing, 60);
  }
}

TEST_F(SqliteStoreFault, WhicheverCallFailsWhileAStoreIsMadeTheNextStartMakesIt) {
  bool completed = false;
  int failing = 0;
  while (!completed) {
    SCOPED_TRACE("call " + std::to_string(++failing));
    store_.reset();
    std::filesystem::remove_all(data());
    vfs_.SetFault([&](const Call& call) { return call.number == failing ? SQLITE_IOERR : SQLITE_OK; });
    const absl::Status opened = Open();
    completed = vfs_.calls() < failing;
    if (!opened.ok()) {
      EXPECT_TRUE(absl::IsUnavailable(opened)) << opened;
      EXPECT_FALSE(std::filesystem::exists(data() + "/ringd.db.tmp")) << "no partial files pile up";
    }
    EXPECT_EQ(RevisionAfterRestart(), 0u);
  }
  EXPECT_GT(failing, 10);
}

// B112 on a real file system: filled to the last byte, started full, space given back.
TEST(SqliteStoreFullDisk, WritesResumeWhenSpaceReturns) {
  TempDir temp;
  if (mount("ringd_test", temp.path().c_str(), "tmpfs", 0, "size=2m") != 0) GTEST_SKIP() << "may not mount a tmpfs";
  struct Unmount {
    std::string path;
    ~Unmount() { umount2(path.c_str(), MNT_DETACH); }
  } unmount{temp.path()};
  auto store = SqliteStore::Open(temp / "data", InitMode::kCreate);
  ASSERT_TRUE(store.ok()) << store.status();
  ASSERT_TRUE((*store)->Load().ok());
  ASSERT_TRUE(CommitOne(**store, TestCreate("r", 1)).ok());
  std::ofstream(temp / "filler") << std::string(1'500'000, 'x');
  uint64_t revision = 1;
  absl::Status added;
  while (added.ok() && revision < 10'000) {
    added = CommitOne(**store, TestAdd("r", {1, revision + 1}, "n" + std::to_string(revision + 1)));
    if (added.ok()) ++revision;
  }
  EXPECT_TRUE(absl::IsResourceExhausted(added)) << added;
  EXPECT_GT(revision, 10u);
  EXPECT_THAT(Revisions(*(*store)->ReadChanges("r", 1, revision, 9, SIZE_MAX)), ElementsAre(revision));

  store->reset();
  store = SqliteStore::Open(temp / "data", InitMode::kMustExist);
  ASSERT_TRUE(store.ok()) << store.status();
  auto contents = (*store)->Load();
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_EQ(contents->rings.at(0).head.version.revision, revision);
  std::filesystem::remove(temp / "filler");
  EXPECT_TRUE(CommitOne(**store, TestAdd("r", {1, revision + 1}, "last")).ok());
}

}  // namespace
}  // namespace ringd::server
