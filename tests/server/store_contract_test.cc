// What store.h promises, for every store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "ring/error.h"
#include "server/memory_store.h"
#include "server/sqlite_store.h"
#include "server/store_rules.h"
#include "tests/server/store_test_data.h"

namespace ringd::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class MemoryMaker {
 public:
  Store& store() { return store_; }
  void Reopen() {}

 private:
  MemoryStore store_;
};

class SqliteMaker {
 public:
  SqliteMaker() { Reopen(); }
  Store& store() { return *store_; }
  void Reopen() {
    store_.reset();
    absl::StatusOr<std::unique_ptr<SqliteStore>> opened = SqliteStore::Open(dir_ / "data", InitMode::kCreate);
    ASSERT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
    ASSERT_TRUE(store_->Load().ok());
  }

 private:
  TempDir dir_;
  std::unique_ptr<SqliteStore> store_;
};

template <typename Maker>
class StoreContract : public ::testing::Test {
 protected:
  Store& store() { return maker_.store(); }
  void Reopen() { maker_.Reopen(); }
  StoreContents Load() {
    absl::StatusOr<StoreContents> contents = store().Load();
    EXPECT_TRUE(contents.ok()) << contents.status();
    return contents.ok() ? *std::move(contents) : StoreContents();
  }
  std::vector<uint64_t> KeptRevisions(uint64_t epoch, uint64_t first, size_t max_count = 100) {
    absl::StatusOr<std::vector<ChangeRecord>> changes = store().ReadChanges("r", epoch, first, max_count, SIZE_MAX);
    EXPECT_TRUE(changes.ok()) << changes.status();
    return changes.ok() ? Revisions(*changes) : std::vector<uint64_t>();
  }
  // Ring "r" at epoch 10 with `revisions` revisions, each of which adds a node n<revision>.
  void MakeRing(uint64_t revisions) {
    ASSERT_TRUE(CommitOne(store(), TestCreate("r", 10)).ok());
    for (uint64_t revision = 2; revision <= revisions; ++revision) {
      ASSERT_TRUE(CommitOne(store(), TestAdd("r", {10, revision}, "n" + std::to_string(revision))).ok());
    }
  }

 private:
  Maker maker_;
};

struct MakerNames {
  template <typename Maker>
  static std::string GetName(int) {
    return std::is_same_v<Maker, MemoryMaker> ? "Memory" : "Sqlite";
  }
};
using Makers = ::testing::Types<MemoryMaker, SqliteMaker>;
TYPED_TEST_SUITE(StoreContract, Makers, MakerNames);

TYPED_TEST(StoreContract, ANewStoreIsEmpty) {
  const StoreContents contents = this->Load();
  EXPECT_THAT(contents.rings, IsEmpty());
  EXPECT_THAT(contents.tombstones, IsEmpty());
  EXPECT_EQ(contents.highest_epoch, 0u);
}

TYPED_TEST(StoreContract, WhatWasCommittedIsLoadedAgain) {
  Store& store = this->store();
  ASSERT_TRUE(CommitOne(store, TestCreate("b", 1)).ok());
  ASSERT_TRUE(CommitOne(store, TestCreate("a", 2)).ok());
  ASSERT_TRUE(CommitOne(store, TestPut("a", {2, 2}, {{nullptr, TestNode("n1")}, {nullptr, TestNode("n2")}})).ok());
  ASSERT_TRUE(CommitOne(store, TestPut("a", {2, 3}, {{TestNode("n1"), TestNode("n1", 7)}})).ok());
  ASSERT_TRUE(CommitOne(store, TestPut("a", {2, 4}, {{TestNode("n2"), nullptr}, {nullptr, TestNode("n0")}})).ok());
  this->Reopen();
  const StoreContents contents = this->Load();
  ASSERT_EQ(contents.rings.size(), 2u);
  EXPECT_EQ(contents.rings[0].head, TestHead("a", {2, 4}));
  EXPECT_THAT(contents.rings[0].nodes, ElementsAre(*TestNode("n0"), *TestNode("n1", 7)));
  EXPECT_EQ(contents.rings[1].head, TestHead("b", {1, 1}));
  EXPECT_THAT(contents.rings[1].nodes, IsEmpty());
  EXPECT_EQ(contents.highest_epoch, 2u);
}

TYPED_TEST(StoreContract, AChangeIsReadBackAsItWasWritten) {
  this->MakeRing(1);
  PutRing put = TestPut("r", {10, 2}, {{nullptr, TestNode("n1")}}, "request-1");
  put.change.ring_update = TestRingDelta();
  put.change.slot_moves = TestMoves();
  ASSERT_TRUE(CommitOne(this->store(), put).ok());
  this->Reopen();
  absl::StatusOr<std::vector<ChangeRecord>> changes = this->store().ReadChanges("r", 10, 2, 1, SIZE_MAX);
  ASSERT_TRUE(changes.ok()) << changes.status();
  ASSERT_EQ(changes->size(), 1u);
  EXPECT_TRUE(SameChange(changes->front(), put.change));
  changes = this->store().ReadEarlierChanges("r", 10, 2, 1, SIZE_MAX);
  ASSERT_TRUE(changes.ok()) << changes.status();
  EXPECT_TRUE(SameChange(changes->front(), put.change));
}

TYPED_TEST(StoreContract, SlotsStayUntilAChangeBringsOthers) {
  this->MakeRing(2);
  const auto places = [this] {
    this->Reopen();
    return this->Load().rings.at(0).slot_places;
  };
  const auto put = [this](uint64_t revision, std::shared_ptr<const ring::SlotTable> slots) {
    PutRing write = TestPut("r", {10, revision}, {});
    write.slots = std::move(slots);
    ASSERT_TRUE(CommitOne(this->store(), write).ok());
  };
  EXPECT_THAT(places(), IsEmpty());
  put(3, TestSlots(0));
  EXPECT_EQ(places(), std::vector<uint32_t>(1'024, 0));
  put(4, nullptr);
  EXPECT_EQ(places(), std::vector<uint32_t>(1'024, 0));
  put(5, TestSlots(7));
  EXPECT_EQ(places(), std::vector<uint32_t>(1'024, 7));
  put(6, TestSlots(ring::SlotTable::kNobody));
  EXPECT_THAT(places(), IsEmpty());
  put(7, TestSlots(1));
  ASSERT_TRUE(CommitOne(this->store(), TestDrop("r", {10, 7})).ok());
  ASSERT_TRUE(CommitOne(this->store(), TestCreate("r", 11)).ok());
  EXPECT_THAT(places(), IsEmpty()) << "they went with their ring";
}

TYPED_TEST(StoreContract, HistoryIsReadUpToANumberOfBytesAndOneChangeAtLeast) {
  this->MakeRing(5);
  EXPECT_EQ(this->store().ReadChanges("r", 10, 1, 100, 1)->size(), 1u);
  EXPECT_EQ(this->store().ReadChanges("r", 10, 1, 100, SIZE_MAX)->size(), 5u);
}

TYPED_TEST(StoreContract, HistoryIsReadInOrderFromAnyKeptRevision) {
  this->MakeRing(5);
  EXPECT_THAT(this->KeptRevisions(10, 1), ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(this->KeptRevisions(10, 3), ElementsAre(3, 4, 5));
  EXPECT_THAT(this->KeptRevisions(10, 2, 2), ElementsAre(2, 3));
  EXPECT_THAT(this->KeptRevisions(10, 6), IsEmpty());
  EXPECT_THAT(this->KeptRevisions(10, 0), IsEmpty());
  EXPECT_THAT(this->KeptRevisions(9, 3), IsEmpty()) << "another epoch";
  EXPECT_THAT(*this->store().ReadChanges("other", 10, 1, 9, SIZE_MAX), IsEmpty());
}

TYPED_TEST(StoreContract, HistoryIsReadBackFromAnyKeptRevision) {
  this->MakeRing(5);
  const auto back = [this](uint64_t epoch, uint64_t last, size_t max_count = 100, size_t max_bytes = SIZE_MAX) {
    const auto changes = this->store().ReadEarlierChanges("r", epoch, last, max_count, max_bytes);
    EXPECT_TRUE(changes.ok()) << changes.status();
    return Revisions(*changes);
  };
  EXPECT_THAT(back(10, 5), ElementsAre(5, 4, 3, 2, 1));
  EXPECT_THAT(back(10, 3), ElementsAre(3, 2, 1));
  EXPECT_THAT(back(10, 4, 2), ElementsAre(4, 3));
  EXPECT_THAT(back(10, 4, 100, 1), ElementsAre(4)) << "one at least";
  EXPECT_THAT(back(10, 6), IsEmpty());
  EXPECT_THAT(back(10, 0), IsEmpty());
  EXPECT_THAT(back(10, UINT64_MAX), IsEmpty());
  EXPECT_THAT(back(9, 3), IsEmpty()) << "another epoch";
  EXPECT_THAT(*this->store().ReadEarlierChanges("other", 10, 1, 9, SIZE_MAX), IsEmpty());
  PutRing put = TestAdd("r", {10, 6}, "n6");
  put.keep_from_revision = 4;
  ASSERT_TRUE(CommitOne(this->store(), put).ok());
  EXPECT_THAT(back(10, 6), ElementsAre(6, 5, 4));
  EXPECT_THAT(back(10, 3), IsEmpty());
}

TYPED_TEST(StoreContract, HistoryIsPrunedByRevision) {
  this->MakeRing(5);
  PutRing put = TestAdd("r", {10, 6}, "n6");
  put.keep_from_revision = 4;
  ASSERT_TRUE(CommitOne(this->store(), put).ok());
  EXPECT_THAT(this->KeptRevisions(10, 4), ElementsAre(4, 5, 6));
  EXPECT_THAT(this->KeptRevisions(10, 3), IsEmpty()) << "not kept: never a part of what was asked for";
  this->Reopen();
  EXPECT_THAT(this->KeptRevisions(10, 4), ElementsAre(4, 5, 6));
}

TYPED_TEST(StoreContract, HistoryIsPrunedByTime) {
  this->MakeRing(5);
  PutRing put = TestAdd("r", {10, 6}, "n6");
  put.keep_from_time = At(5);
  ASSERT_TRUE(CommitOne(this->store(), put).ok());
  EXPECT_THAT(this->KeptRevisions(10, 4), IsEmpty());
  EXPECT_THAT(this->KeptRevisions(10, 5), ElementsAre(5, 6));
}

TYPED_TEST(StoreContract, TheNewestChangeIsAlwaysKept) {
  this->MakeRing(2);
  PutRing put = TestAdd("r", {10, 3}, "n3");
  put.keep_from_revision = 100;
  put.keep_from_time = absl::InfiniteFuture();
  ASSERT_TRUE(CommitOne(this->store(), put).ok());
  EXPECT_THAT(this->KeptRevisions(10, 3), ElementsAre(3));
}

TYPED_TEST(StoreContract, ARequestIdIsFoundAfterReopen) {
  this->MakeRing(1);
  ASSERT_TRUE(CommitOne(this->store(), TestAdd("r", {10, 2}, "n2", "request-1")).ok());
  ASSERT_TRUE(CommitOne(this->store(), TestAdd("r", {10, 3}, "n3")).ok());
  this->Reopen();
  absl::StatusOr<std::optional<ChangeRecord>> found = this->store().FindRequest("r", "request-1");
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_TRUE(found->has_value());
  EXPECT_TRUE(SameChange(**found, TestAdd("r", {10, 2}, "n2", "request-1").change));
  EXPECT_EQ(*this->store().FindRequest("r", "request-2"), std::nullopt);
  EXPECT_EQ(*this->store().FindRequest("r", ""), std::nullopt) << "no id is not an id";
  EXPECT_EQ(*this->store().FindRequest("other", "request-1"), std::nullopt);
}

TYPED_TEST(StoreContract, ARequestIdIsForgottenWithItsChange) {
  this->MakeRing(1);
  ASSERT_TRUE(CommitOne(this->store(), TestAdd("r", {10, 2}, "n2", "request-1")).ok());
  PutRing put = TestAdd("r", {10, 3}, "n3");
  put.keep_from_revision = 3;
  ASSERT_TRUE(CommitOne(this->store(), put).ok());
  EXPECT_EQ(*this->store().FindRequest("r", "request-1"), std::nullopt);
  EXPECT_TRUE(CommitOne(this->store(), TestAdd("r", {10, 4}, "n4", "request-1")).ok());
}

TYPED_TEST(StoreContract, ARequestIdThatIsKeptIsNotTakenTwice) {
  this->MakeRing(1);
  ASSERT_TRUE(CommitOne(this->store(), TestAdd("r", {10, 2}, "n2", "request-1")).ok());
  EXPECT_TRUE(absl::IsAborted(CommitOne(this->store(), TestAdd("r", {10, 3}, "n3", "request-1"))));
  ASSERT_TRUE(CommitOne(this->store(), TestCreate("s", 11)).ok());
  EXPECT_TRUE(CommitOne(this->store(), TestAdd("s", {11, 2}, "n", "request-1")).ok()) << "ids are per ring";
}

TYPED_TEST(StoreContract, AChangeOnAnotherVersionThanTheStoredOneIsAborted) {
  this->MakeRing(3);
  const absl::Status skipped = CommitOne(this->store(), TestAdd("r", {10, 5}, "x"));
  EXPECT_TRUE(absl::IsAborted(skipped));
  EXPECT_EQ(ring::ReasonOf(skipped), kStoreConflict);
  EXPECT_EQ(std::string(skipped.message()), "ring \"r\" cannot go to version 10/5: the store has version 10/3");
  EXPECT_TRUE(absl::IsAborted(CommitOne(this->store(), TestAdd("r", {10, 3}, "x"))));
  EXPECT_TRUE(absl::IsAborted(CommitOne(this->store(), TestAdd("r", {11, 4}, "x"))));
  EXPECT_TRUE(absl::IsAborted(CommitOne(this->store(), TestAdd("s", {11, 2}, "x"))));
  EXPECT_TRUE(absl::IsAborted(CommitOne(this->store(), TestCreate("r", 11)))) << "the name is taken";
  EXPECT_TRUE(absl::IsAborted(CommitOne(this->store(), TestDrop("r", {10, 2}))));
  EXPECT_TRUE(absl::IsAborted(CommitOne(this->store(), TestDrop("s", {10, 2}))));
  EXPECT_THAT(NodeIds(this->Load().rings.at(0)), ElementsAre("n2", "n3"));
  EXPECT_TRUE(CommitOne(this->store(), TestAdd("r", {10, 4}, "n4")).ok());
}

TYPED_TEST(StoreContract, AChangeThatContradictsTheStoredNodesIsInternal) {
  this->MakeRing(2);
  EXPECT_TRUE(absl::IsInternal(CommitOne(this->store(), TestAdd("r", {10, 3}, "n2"))));
  EXPECT_TRUE(absl::IsInternal(CommitOne(this->store(), TestPut("r", {10, 3}, {{TestNode("x"), nullptr}}))));
  PutRing torn = TestAdd("r", {10, 3}, "n3");
  torn.change.version.revision = 4;
  EXPECT_TRUE(absl::IsInternal(CommitOne(this->store(), torn)));
  EXPECT_THAT(NodeIds(this->Load().rings.at(0)), ElementsAre("n2"));
  EXPECT_TRUE(CommitOne(this->store(), TestAdd("r", {10, 3}, "n3")).ok());
}

TYPED_TEST(StoreContract, WritesOfOneCommitBuildOnEachOther) {
  const std::vector<absl::Status> results =
      this->store().Commit({TestCreate("r", 1), TestAdd("r", {1, 2}, "a"), TestAdd("r", {1, 3}, "b"),
                            TestDrop("r", {1, 3}), TestCreate("r", 2), TestAdd("r", {2, 2}, "c")},
                           absl::InfinitePast());
  for (const absl::Status& result : results) EXPECT_TRUE(result.ok()) << result;
  this->Reopen();
  const StoreContents contents = this->Load();
  ASSERT_EQ(contents.rings.size(), 1u);
  EXPECT_EQ(contents.rings[0].head.version, (ring::Version{2, 2}));
  EXPECT_THAT(NodeIds(contents.rings[0]), ElementsAre("c"));
}

TYPED_TEST(StoreContract, ARefusedWriteTakesThoseOfItsRingWithItAndNoOthers) {
  const std::vector<absl::Status> results =
      this->store().Commit({TestCreate("r", 1), TestAdd("r", {1, 3}, "skips"), TestCreate("s", 2),
                            TestAdd("r", {1, 2}, "would fit"), TestDrop("r", {1, 1}), TestAdd("s", {2, 2}, "a")},
                           absl::InfinitePast());
  EXPECT_TRUE(results[0].ok());
  EXPECT_TRUE(absl::IsAborted(results[1]));
  EXPECT_TRUE(results[2].ok());
  EXPECT_TRUE(absl::IsAborted(results[3]));
  EXPECT_TRUE(absl::IsAborted(results[4]));
  EXPECT_TRUE(results[5].ok());
  this->Reopen();
  const StoreContents contents = this->Load();
  ASSERT_EQ(contents.rings.size(), 2u);
  EXPECT_EQ(contents.rings[0].head.version, (ring::Version{1, 1}));
  EXPECT_THAT(NodeIds(contents.rings[1]), ElementsAre("a"));
}

TYPED_TEST(StoreContract, ADroppedRingLeavesNothingButItsTombstone) {
  this->MakeRing(3);
  ASSERT_TRUE(CommitOne(this->store(), TestDrop("r", {10, 3}, "request-9", At(50))).ok());
  this->Reopen();
  const StoreContents contents = this->Load();
  EXPECT_THAT(contents.rings, IsEmpty());
  EXPECT_THAT(contents.tombstones, ElementsAre(TestDrop("r", {10, 3}, "request-9", At(50)).tombstone));
  EXPECT_THAT(this->KeptRevisions(10, 1), IsEmpty());
}

TYPED_TEST(StoreContract, ADropWithoutRequestIdLeavesNoTombstone) {
  this->MakeRing(1);
  ASSERT_TRUE(CommitOne(this->store(), TestDrop("r", {10, 1})).ok());
  EXPECT_THAT(this->Load().tombstones, IsEmpty());
}

TYPED_TEST(StoreContract, OldTombstonesAreForgotten) {
  this->MakeRing(1);
  ASSERT_TRUE(CommitOne(this->store(), TestDrop("r", {10, 1}, "request-1", At(1))).ok());
  ASSERT_TRUE(CommitOne(this->store(), TestCreate("r", 11)).ok());
  ASSERT_TRUE(CommitOne(this->store(), TestDrop("r", {11, 1}, "request-2", At(2))).ok());
  EXPECT_EQ(this->Load().tombstones.size(), 2u) << "both deletions of the name can still be retried";
  this->store().Commit({TestCreate("s", 12)}, At(2));
  this->Reopen();
  EXPECT_THAT(this->Load().tombstones, ElementsAre(TestDrop("r", {11, 1}, "request-2", At(2)).tombstone));
}

TYPED_TEST(StoreContract, TheHighestEpochSurvivesTheRingsThatHadIt) {
  this->MakeRing(1);
  ASSERT_TRUE(CommitOne(this->store(), TestDrop("r", {10, 1})).ok());
  this->Reopen();
  EXPECT_EQ(this->Load().highest_epoch, 10u);
  EXPECT_TRUE(absl::IsAborted(CommitOne(this->store(), TestCreate("r", 10)))) << "an epoch is given once";
  EXPECT_TRUE(CommitOne(this->store(), TestCreate("r", 11)).ok());
  EXPECT_EQ(this->Load().highest_epoch, 11u);
}

TYPED_TEST(StoreContract, ARecreatedRingHasNothingOfTheFormerOne) {
  this->MakeRing(3);
  ASSERT_TRUE(CommitOne(this->store(), TestDrop("r", {10, 3})).ok());
  ASSERT_TRUE(CommitOne(this->store(), TestCreate("r", 11)).ok());
  EXPECT_THAT(this->KeptRevisions(11, 1), ElementsAre(1));
  EXPECT_THAT(this->KeptRevisions(10, 1), IsEmpty());
  EXPECT_THAT(this->Load().rings.at(0).nodes, IsEmpty());
}

TYPED_TEST(StoreContract, AnEmptyCommitIsFine) { EXPECT_THAT(this->store().Commit({}, At(0)), IsEmpty()); }

TYPED_TEST(StoreContract, HistoryIsReadByOtherThreadsDuringCommits) {
  this->MakeRing(1);
  constexpr uint64_t kLast = 100;
  std::atomic<uint64_t> acknowledged = 1;
  std::atomic<bool> failed = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; ++i) {
    readers.emplace_back([&] {
      while (acknowledged < kLast && !failed) {
        const uint64_t floor = acknowledged;
        absl::StatusOr<std::vector<ChangeRecord>> changes = this->store().ReadChanges("r", 10, 1, 1'000, SIZE_MAX);
        absl::StatusOr<std::optional<ChangeRecord>> request =
            this->store().FindRequest("r", "request-" + std::to_string(floor));
        if (!changes.ok() || changes->size() < floor || !request.ok() || (floor > 1 && !request->has_value())) {
          failed = true;
        }
      }
    });
  }
  for (uint64_t revision = 2; revision <= kLast; ++revision) {
    const std::string number = std::to_string(revision);
    if (!CommitOne(this->store(), TestAdd("r", {10, revision}, "n" + number, "request-" + number)).ok()) failed = true;
    acknowledged = revision;
  }
  for (std::thread& reader : readers) reader.join();
  EXPECT_FALSE(failed);
}

TEST(MemoryStore, AVerdictAgainstACommitIsTheAnswerAndNothingIsMade) {
  absl::Status verdict;
  MemoryStore store([&](const std::vector<Write>&) { return verdict; });
  verdict = absl::UnavailableError("disk on fire");
  EXPECT_EQ(CommitOne(store, TestCreate("r", 1)), verdict);
  EXPECT_THAT(store.Load()->rings, IsEmpty());
  verdict = absl::OkStatus();
  EXPECT_TRUE(CommitOne(store, TestCreate("r", 1)).ok());
}

}  // namespace
}  // namespace ringd::server
