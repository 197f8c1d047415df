// RestoreVersion: what it brings back and what it leaves, how far back it goes, and that it is a change like the
// others.
#include "server/restore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/test_directory.h"

namespace ringd::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<ring::Node> NodesOf(const RingState& state) {
  std::vector<ring::Node> nodes;
  for (const ring::NodePtr& node : state.ring.table()->nodes) nodes.push_back(*node);
  return nodes;
}

void ExpectNotKept(const absl::Status& status, const std::string& mention) {
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_EQ(ring::ReasonOf(status), kVersionNotKept);
  EXPECT_THAT(std::string(status.message()), HasSubstr(mention));
}

TEST(Restore, BringsBackEachKeptVersionWithItsNodesAndItsTable) {
  TestDirectory directory;
  directory.Make("r");
  const std::vector<std::vector<ring::Operation>> changes = {
      {AddOp("a", 3, "10.0.0.1:1"), AddOp("b", 2)},
      {WeightOp("a", 5), AddOp("c", 1)},
      {RemoveOp("b")},
      {AddOp("b", 9), RemoveOp("c")},  // the same id, another join number
      {ring::UpdateNode{.id = "a", .zone = "z", .metadata = std::map<std::string, std::string>{{"k", "v"}}}},
  };
  std::vector<RingStatePtr> states = {directory.State("r")};
  for (const auto& operations : changes) {
    directory.Do(Forced(Change("r", operations)));
    states.push_back(directory.State("r"));
  }
  for (const RingStatePtr& wanted : states) {
    directory.Do(Forced(Restore("r", wanted->head.version)));
    const RingStatePtr now = directory.State("r");
    EXPECT_EQ(NodesOf(*now), NodesOf(*wanted)) << ToString(wanted->head.version);
    EXPECT_EQ(now->head.checksum, wanted->head.checksum);
    EXPECT_GE(now->head.next_join_number, states.back()->head.next_join_number) << "join numbers are never given twice";
  }
  const RingStatePtr last = directory.State("r");
  directory.Reopen();
  EXPECT_EQ(NodesOf(*directory.State("r")), NodesOf(*last));
}

TEST(Restore, BringsBackTheExactSlots) {
  for (const uint32_t owners : {1u, 3u}) {
    TestDirectory directory;
    directory.Do(CreateSlots("r", owners));
    const std::vector<std::vector<ring::Operation>> changes = {
        {AddOp("a", 3), AddOp("b", 2)}, {WeightOp("a", 5), AddOp("c", 1)}, {RemoveOp("b")},
        {AddOp("b", 9), RemoveOp("c")}, {AddOp("d", 9), AddOp("e", 1)},    {WeightOp("e", 0)},
    };
    std::vector<RingStatePtr> states = {directory.State("r")};
    for (const auto& operations : changes) {
      directory.Do(Forced(Change("r", operations)));
      states.push_back(directory.State("r"));
    }
    for (size_t i = states.size(); i-- > 0;) {
      const RingStatePtr& wanted = states[i % 2 == 0 ? i : states.size() - 1 - i];
      directory.Do(Forced(Restore("r", wanted->head.version)));
      const RingStatePtr now = directory.State("r");
      EXPECT_EQ(*now->ring.slots(), *wanted->ring.slots()) << ToString(wanted->head.version) << ", owners " << owners;
      EXPECT_EQ(now->head.checksum, wanted->head.checksum);
    }
    const RingStatePtr last = directory.State("r");
    directory.Reopen();
    EXPECT_EQ(*directory.State("r")->ring.slots(), *last->ring.slots());
  }
}

TEST(Restore, ANodeThatComesBackHasTheHashKeyAndTheJoinNumberThatItHad) {
  TestDirectory directory;
  directory.Make("r", {"keeps"});
  ring::AddNode add = AddOp("n");
  add.node.hash_key = "old";
  const ring::Version then = directory.Do(Change("r", {add})).version;
  const ring::Node was = directory.State("r")->ring.node(1);
  directory.Do(Change("r", {RemoveOp("n")}));
  add.node.hash_key = "new";
  directory.Do(Change("r", {add}));
  directory.Do(Restore("r", then));
  EXPECT_EQ(directory.State("r")->ring.node(1), was);
  directory.Do(Add("r", "later"));
  EXPECT_EQ(directory.State("r")->ring.node(1).join_number, 4u) << "above every one that was given";
}

TEST(Restore, IsANewRevisionThatSaysWhatItDid) {
  TestDirectory directory;
  directory.Make("r", {"a", "b", "c"});
  directory.Do(Change("r", {RemoveOp("a"), WeightOp("b", 2)}));
  const MutationResult result = directory.Do(Forced(Restore("r", {1, 3})));
  EXPECT_EQ(ToString(result.previous_version), "1/5");
  EXPECT_EQ(ToString(result.version), "1/6");
  const ChangeRecord& record = directory.State("r")->log->Get(6)->record;
  ASSERT_EQ(record.nodes.size(), 3u);
  EXPECT_EQ(record.nodes[0].before, nullptr);
  EXPECT_EQ(record.nodes[0].after->id, "a");
  EXPECT_EQ(record.nodes[1].after->weight, 1u);
  EXPECT_EQ(record.nodes[2].after, nullptr);
  EXPECT_EQ(ToString(directory.Do(Restore("r", {1, 5})).version), "1/7") << "and can be taken back itself";
  EXPECT_THAT(directory.Nodes("r"), ElementsAre("b", "c"));
}

TEST(Restore, LeavesTheSettingsAlone) {
  TestDirectory directory;
  directory.Make("r", {"a", "b"});
  const RingStatePtr then = directory.State("r");
  directory.Do(Update("r", {.default_weight = 7, .labels = std::map<std::string, std::string>{{"k", "v"}}}));
  directory.Do(Add("r", "c"));
  directory.Do(Restore("r", then->head.version));
  const RingStatePtr now = directory.State("r");
  EXPECT_EQ(NodesOf(*now), NodesOf(*then));
  EXPECT_EQ(now->head.settings.default_weight, 7u);
  EXPECT_EQ(now->head.labels.at("k"), "v");
  EXPECT_NE(now->head.checksum, then->head.checksum);
  EXPECT_EQ(now->ring.WithDefaultWeight(100).checksum(), then->head.checksum);
}

TEST(Restore, OfWhatIsThereUsesNoRevision) {
  TestDirectory directory;
  directory.Make("r", {"a"});
  directory.Do(Change("r", {WeightOp("a", 2)}));
  directory.Do(Change("r", {WeightOp("a", 1)}));
  for (const uint64_t revision : {4, 2}) {
    const MutationResult result = directory.Do(Restore("r", {1, revision}));
    EXPECT_EQ(ToString(result.version), "1/4");
    EXPECT_EQ(result.previous_version, result.version);
  }
}

TEST(Restore, OfAVersionThatIsNotKeptIsNotFound) {
  TestDirectory directory({.history_max = 2});
  directory.Make("r", {"a", "b", "c", "d"});
  ExpectNotKept(directory.Refused(Restore("r", {1, 6})), "it is at 1/5");
  ExpectNotKept(directory.Refused(Restore("r", {2, 5})), "epoch");
  ExpectNotKept(directory.Refused(Restore("r", {1, 2})), "kept from 1/3");
  ExpectNotKept(directory.Refused(Checked(Restore("r", {1, 2}))), "1/2");
  EXPECT_EQ(directory.At("r"), "1/5");
  directory.Do(Restore("r", {1, 3}));
  EXPECT_THAT(directory.Nodes("r"), ElementsAre("a", "b"));
}

TEST(Restore, IsGuarded) {
  TestDirectory directory;
  directory.Make("r", {"a"});
  directory.Do(Add("r", "b", 10));
  const Mutation restore = Restore("r", {1, 2});
  const MutationResult plan = directory.Do(Checked(restore));
  EXPECT_TRUE(plan.plan->force_needed);
  EXPECT_THAT(NodeIds(*plan.plan->state), ElementsAre("a"));
  const absl::Status refused = directory.Refused(restore);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_EQ(ring::ReasonOf(refused), kForceRequired);
  EXPECT_EQ(directory.At("r"), "1/3");
  EXPECT_EQ(directory.Do(Forced(restore)).version, plan.plan->state->head.version);
  EXPECT_EQ(directory.State("r")->head.checksum, plan.plan->state->head.checksum);
}

TEST(Restore, KeepsTheLimitsOfARing) {
  TestDirectory directory({.ring_limits = {.max_nodes = 2}});
  directory.Make("r", {"a", "b"});
  directory.Do(Change("r", {RemoveOp("a")}));
  directory.Do(Restore("r", {1, 3}));
  EXPECT_THAT(directory.Nodes("r"), ElementsAre("a", "b"));
}

TEST(Restore, IsAMutationLikeTheOthers) {
  TestDirectory directory;
  directory.Make("r", {"a", "b"});
  EXPECT_TRUE(absl::IsNotFound(directory.Refused(Restore("other", {1, 1}))));
  Mutation restore = WithId(Restore("r", {1, 2}), "id", 1);
  restore.expected_version = ring::Version{1, 2};
  EXPECT_TRUE(absl::IsAborted(directory.Refused(restore)));
  restore.expected_version = ring::Version{1, 3};
  EXPECT_EQ(ToString(directory.Do(restore).version), "1/4");
  EXPECT_TRUE(directory.Do(restore).repeated);
  EXPECT_EQ(directory.At("r"), "1/4");
  EXPECT_TRUE(absl::IsInvalidArgument(directory.Refused(WithId(Restore("r", {1, 1}), "id", 2))));
}

TEST(Restore, SeesTheChangesOfItsBurst) {
  TestDirectory directory;
  directory.Make("r", {"a", "b"});
  const auto results = directory->Commit(std::vector<Mutation>{Add("r", "c"), Change("r", {WeightOp("a", 2)}),
                                                               Restore("r", {1, 3}), Restore("r", {1, 4})});
  ASSERT_TRUE(results[2].ok()) << results[2].status();
  ASSERT_TRUE(results[3].ok()) << results[3].status();
  EXPECT_EQ(directory.At("r"), "1/7");
  EXPECT_THAT(directory.Nodes("r"), ElementsAre("a", "b", "c"));
  EXPECT_EQ(directory.State("r")->ring.node(0).weight, 1u);
}

TEST(Restore, FailsWithTheChangeThatItWasMadeOn) {
  TestDirectory directory;
  directory.Make("r", {"a", "b"});
  directory.store_verdict = absl::ResourceExhaustedError("disk full");
  const auto results = directory->Commit(std::vector<Mutation>{Add("r", "c"), Restore("r", {1, 4})});
  EXPECT_TRUE(absl::IsResourceExhausted(results[1].status())) << "a version that never was: " << results[1].status();
}

TEST(Restore, OfACallerWhoHasGoneReadsNoFurther) {
  TestDirectory directory;
  directory.Make("r");
  directory.Do(Add("r", "a"));
  directory.ChangeUpTo("r", "a", 300);
  Mutation restore = Restore("r", {1, 2});
  int asked = 0;
  restore.still_wanted = [&asked] { return ++asked < 3 ? absl::OkStatus() : absl::CancelledError("gone"); };
  EXPECT_TRUE(absl::IsCancelled(directory.Refused(restore)));
  EXPECT_EQ(directory.At("r"), "1/300");
}

TEST(Restore, OfLongAgoReadsBatchAfterBatch) {
  TestDirectory directory;
  directory.Make("r", {"a", "b"});
  directory.ChangeUpTo("r", "a", 400);
  directory.Do(Restore("r", {1, 3}));
  EXPECT_EQ(directory.State("r")->ring.node(0).weight, 1u);
}

// A history that contradicts the ring is never taken for the way back.
class LyingStore : public MemoryStore {
 public:
  absl::StatusOr<std::vector<ChangeRecord>> ReadEarlierChanges(std::string_view ring, uint64_t epoch, uint64_t last,
                                                               size_t max_count, size_t max_bytes) override {
    auto changes = MemoryStore::ReadEarlierChanges(ring, epoch, last, max_count, max_bytes);
    for (ChangeRecord& change : *changes) {
      if (change.slot_moves.runs.empty()) {
        change.nodes.clear();
      } else {
        change.slot_moves.before = change.slot_moves.after;
      }
    }
    return changes;
  }
};

TEST(Restore, ThatDoesNotComeToTheChecksumOfThenIsRefused) {
  LyingStore store;
  TestDirectory directory(store, {});
  directory.Make("r", {"a", "b"});
  EXPECT_TRUE(absl::IsInternal(directory.Refused(Restore("r", {1, 2}))));
  EXPECT_EQ(directory.At("r"), "1/3");
  directory.Do(CreateSlots("s"));
  directory.Do(Add("s", "a", 3));
  directory.Do(Add("s", "b", 2));
  EXPECT_TRUE(absl::IsInternal(directory.Refused(Restore("s", {2, 2}))));
  EXPECT_EQ(directory.At("s"), "2/3");
}

class UnreadableStore : public MemoryStore {
 public:
  absl::StatusOr<std::vector<ChangeRecord>> ReadEarlierChanges(std::string_view, uint64_t, uint64_t, size_t,
                                                               size_t) override {
    return absl::DataLossError("rotten");
  }
};

TEST(Restore, OfAHistoryThatCannotBeReadIsUnavailable) {
  UnreadableStore store;
  TestDirectory directory(store, {});
  directory.Make("r", {"a", "b"});
  EXPECT_TRUE(absl::IsUnavailable(directory.Refused(Restore("r", {1, 2}))));
}

}  // namespace
}  // namespace ringd::server
