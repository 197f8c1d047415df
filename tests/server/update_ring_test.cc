// UpdateRing: which settings it changes, that it is a change like the others, and that it moves nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/test_directory.h"

namespace ringd::server {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

using Labels = std::map<std::string, std::string>;

TEST(UpdateRing, SetsWhatItNamesAsOneRevision) {
  TestDirectory directory;
  directory.Make("r", {"n1", "n2"});
  directory.now += absl::Seconds(1);
  const MutationResult result = directory.Do(Update("r", {.default_weight = 7}));
  EXPECT_EQ(ToString(result.previous_version), "1/3");
  EXPECT_EQ(ToString(result.version), "1/4");
  directory.Do(Update("r", {.labels = Labels{{"team", "a"}}}));
  directory.Do(Update("r", {.max_age = absl::Hours(1)}));
  directory.Do(Update("r", {.max_changes = 5}));
  const RingHead& head = directory.State("r")->head;
  EXPECT_EQ(ToString(head.version), "1/7");
  EXPECT_EQ(head.settings.default_weight, 7u);
  EXPECT_THAT(head.labels, ElementsAre(Pair("team", "a")));
  EXPECT_EQ(head.history_limits, (HistoryLimits{absl::Hours(1), 5}));
  EXPECT_EQ(head.update_time, directory.now);
  directory.Do(Update("r", {.max_age = std::optional<absl::Duration>()}));
  EXPECT_EQ(directory.State("r")->head.history_limits, (HistoryLimits{.max_changes = 5})) << "as the server has it";
}

TEST(UpdateRing, SurvivesAStart) {
  TestDirectory directory;
  directory.Make("r", {"n1"});
  directory.Do(Update("r", {.default_weight = 7, .labels = Labels{{"team", "a"}}, .max_changes = 5}));
  const RingHead before = directory.State("r")->head;
  directory.Reopen();
  EXPECT_EQ(directory.State("r")->head, before);
}

TEST(UpdateRing, ThatChangesNothingUsesNoRevision) {
  TestDirectory directory;
  directory.Make("r", {"n1"});
  directory.Do(Update("r", {.default_weight = 7, .labels = Labels{{"team", "a"}}}));
  directory.bursts.clear();
  for (const UpdateRing& same :
       {UpdateRing{}, UpdateRing{.default_weight = 7}, UpdateRing{.labels = Labels{{"team", "a"}}},
        UpdateRing{.max_age = std::optional<absl::Duration>()}}) {
    const MutationResult result = directory.Do(Update("r", same));
    EXPECT_EQ(ToString(result.version), "1/3");
    EXPECT_EQ(result.previous_version, result.version);
    EXPECT_EQ(directory.Do(Checked(Update("r", same))).plan->state->head.version, result.version);
  }
  EXPECT_TRUE(directory.bursts.empty());
}

// The default is that of nodes added from now on: those that are there keep their weights, and every key its owner.
TEST(UpdateRing, OfTheDefaultWeightMovesNothing) {
  TestDirectory directory;
  directory.Make("r");
  ring::AddNode by_default = AddOp("n1");
  by_default.default_weight = true;
  directory.Do(Change("r", {by_default}));
  const RingStatePtr before = directory.State("r");
  directory.Do(Update("r", {.default_weight = 7}));
  const RingStatePtr after = directory.State("r");
  EXPECT_EQ(after->ring.table(), before->ring.table()) << "the very same nodes and shares";
  EXPECT_NE(after->head.checksum, before->head.checksum) << "it is part of the checksum";
  EXPECT_EQ(after->head.checksum, after->ring.checksum());
  by_default.node.id = "n2";
  directory.Do(Change("r", {by_default}));
  EXPECT_EQ(directory.State("r")->ring.node(0).weight, 100u);
  EXPECT_EQ(directory.State("r")->ring.node(1).weight, 7u);
}

TEST(UpdateRing, LabelsAndLimitsAreNoPartOfTheChecksum) {
  TestDirectory directory;
  directory.Make("r", {"n1"});
  const uint64_t before = directory.State("r")->head.checksum;
  directory.Do(Update("r", {.labels = Labels{{"team", "a"}}, .max_changes = 5}));
  EXPECT_EQ(directory.State("r")->head.checksum, before);
}

TEST(UpdateRing, IsKeptWithWhatWasBefore) {
  TestDirectory directory;
  directory.Make("r", {"n1"});
  directory.Do(Update("r", {.default_weight = 7, .labels = Labels{{"team", "a"}}}));
  const auto changes = directory.store().ReadChanges("r", 1, 3, 1, SIZE_MAX);
  ASSERT_TRUE(changes.ok());
  const ChangeRecord& record = changes->front();
  EXPECT_TRUE(record.nodes.empty());
  ASSERT_TRUE(record.ring_update.has_value());
  EXPECT_EQ(record.ring_update->before, RingUpdate{.default_weight = 100});
  EXPECT_EQ(record.ring_update->after, (RingUpdate{.default_weight = 7, .labels = {{"team", "a"}}}));
  EXPECT_EQ(directory.State("r")->log->Get(3)->record.ring_update, record.ring_update) << "what watchers are sent";
}

TEST(UpdateRing, IsAMutationLikeTheOthers) {
  TestDirectory directory;
  directory.Make("r", {"n1"});
  const Mutation update = WithId(Update("r", {.default_weight = 7}), "id", 1);
  EXPECT_TRUE(absl::IsNotFound(directory.Refused(Update("other", {.default_weight = 7}))));
  Mutation elsewhere = update;
  elsewhere.expected_version = ring::Version{1, 1};
  EXPECT_TRUE(absl::IsAborted(directory.Refused(elsewhere)));
  const MutationResult plan = directory.Do(Checked(update));
  EXPECT_EQ(plan.plan->state->head.settings.default_weight, 7u);
  EXPECT_EQ(ToString(plan.plan->state->head.version), "1/3");
  EXPECT_FALSE(plan.plan->force_needed);
  EXPECT_EQ(directory.At("r"), "1/2");
  EXPECT_EQ(ToString(directory.Do(update).version), "1/3");
  EXPECT_TRUE(directory.Do(update).repeated);
  EXPECT_EQ(directory.At("r"), "1/3");
  EXPECT_TRUE(absl::IsInvalidArgument(directory.Refused(WithId(Update("r", {.default_weight = 8}), "id", 2))));
}

TEST(UpdateRing, OfTheHistoryLimitsHoldsFromThatChangeOn) {
  TestDirectory directory;
  directory.Make("r", {"n1", "n2", "n3"});
  directory.Do(Update("r", {.max_changes = 2}));
  EXPECT_TRUE(directory.store().ReadChanges("r", 1, 3, 1, SIZE_MAX)->empty());
  EXPECT_EQ(directory.store().ReadChanges("r", 1, 4, 9, SIZE_MAX)->size(), 2u);
}

TEST(UpdateRing, InOneBurstIsBuiltUpon) {
  TestDirectory directory;
  directory.Make("r");
  ring::AddNode by_default = AddOp("n1");
  by_default.default_weight = true;
  const auto results =
      directory->Commit(std::vector<Mutation>{Update("r", {.default_weight = 7}), Change("r", {by_default})});
  ASSERT_TRUE(results[1].ok()) << results[1].status();
  EXPECT_EQ(directory.State("r")->ring.node(0).weight, 7u);
}

}  // namespace
}  // namespace ringd::server
