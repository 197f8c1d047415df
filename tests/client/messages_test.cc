#include "client/messages.h"

#include <gtest/gtest.h>

namespace ringd {
namespace {

TEST(Messages, ANodeComesBackAsItWas) {
  const Node node{.id = "n1",
                  .address = "10.0.0.1:7000",
                  .weight = 7,
                  .zone = "a",
                  .hash_key = "old-name",
                  .metadata = {{"rack", "r1"}, {"", ""}},
                  .points = {3, 1}};
  v1::Node message;
  ToMessage(node, &message);
  EXPECT_EQ(ToValue(message), node);
}

TEST(Messages, AnAbsentWeightStaysAbsentAndZeroStaysZero) {
  v1::Node message;
  ToMessage(Node{.id = "n1"}, &message);
  EXPECT_FALSE(message.has_weight());
  ToMessage(Node{.id = "n1", .weight = 0}, &message);
  EXPECT_TRUE(message.has_weight());
}

TEST(Messages, TheMaskOfAnUpdateNamesJustTheFieldsThatHaveAValue) {
  v1::NodeOperation message;
  ToMessage(
      UpdateNode{
          .id = "n1", .weight = 0, .metadata = std::map<std::string, std::string>{}, .points = std::vector<uint64_t>{}},
      &message);
  const auto& mask = message.update().update_mask();
  EXPECT_EQ(std::vector<std::string>(mask.paths().begin(), mask.paths().end()),
            (std::vector<std::string>{"weight", "metadata", "points"}));
  EXPECT_EQ(message.update().node().id(), "n1");
}

TEST(Messages, OperationsAreWhatTheySay) {
  v1::NodeOperation add;
  ToMessage(AddNode{.node = {.id = "n1"}}, &add);
  EXPECT_EQ(add.add().node().id(), "n1");
  v1::NodeOperation remove;
  ToMessage(RemoveNode{.id = "n2"}, &remove);
  EXPECT_EQ(remove.remove().node_id(), "n2");
}

TEST(Messages, TheMaskOfAnUpdateOfARingNamesJustTheSettingsThatHaveAValue) {
  const auto paths = [](const UpdateRing& update) {
    v1::UpdateRingRequest message;
    ToMessage(update, &message);
    const auto& mask = message.update_mask().paths();
    return std::vector<std::string>(mask.begin(), mask.end());
  };
  EXPECT_TRUE(paths({}).empty());
  EXPECT_EQ(paths({.default_weight = 1}), std::vector<std::string>{"default_weight"});
  EXPECT_EQ(paths({.labels = std::map<std::string, std::string>{}, .history_limits = HistoryLimits{}}),
            (std::vector<std::string>{"labels", "history_limits"}));
  v1::UpdateRingRequest message;
  ToMessage(UpdateRing{.history_limits = HistoryLimits{std::chrono::milliseconds(1'500), 9}}, &message);
  EXPECT_EQ(message.history_limits().max_age().seconds(), 1);
  EXPECT_EQ(message.history_limits().max_age().nanos(), 500'000'000);
  EXPECT_EQ(message.history_limits().max_changes(), 9u);
}

TEST(Messages, AChangeOfTheHistoryArrivesWhole) {
  v1::ChangeRecord message;
  message.mutable_version()->set_epoch(3);
  message.mutable_version()->set_revision(4);
  message.set_from_revision(3);
  message.mutable_checksum()->set_value(17);
  message.mutable_time()->set_seconds(5);
  message.set_actor("ops");
  message.set_reason("why");
  message.set_request_id("id");
  message.add_nodes()->mutable_before()->set_id("n1");
  message.set_nodes_left_out(2);
  EXPECT_FALSE(ToValue(message).settings.has_value());
  message.mutable_ring_update()->mutable_before()->set_default_weight(100);
  message.mutable_ring_update()->mutable_after()->mutable_history_limits()->set_max_changes(9);
  const ChangeRecord change = ToValue(message);
  EXPECT_EQ(change.version, (Version{3, 4}));
  EXPECT_EQ(change.from_revision, 3u);
  EXPECT_EQ(change.checksum, 17u);
  EXPECT_EQ(change.time.time_since_epoch(), std::chrono::seconds(5));
  EXPECT_EQ(change.actor + change.reason + change.request_id, "opswhyid");
  ASSERT_EQ(change.nodes.size(), 1u);
  EXPECT_EQ(change.nodes[0].before->id, "n1");
  EXPECT_FALSE(change.nodes[0].after.has_value());
  EXPECT_EQ(change.nodes_left_out, 2u);
  EXPECT_EQ(change.settings->before.default_weight, 100u);
  EXPECT_EQ(change.settings->after.history_limits, (HistoryLimits{.max_changes = 9}));
}

TEST(Messages, EveryMutationOptionArrives) {
  v1::MutationOptions message;
  ToMessage(
      {.expected_version = Version{3, 4}, .request_id = "id", .reason = "why", .validate_only = true, .force = true},
      &message);
  EXPECT_EQ(ToValue(message.expected_version()), (Version{3, 4}));
  EXPECT_EQ(message.request_id(), "id");
  EXPECT_EQ(message.reason(), "why");
  EXPECT_TRUE(message.validate_only());
  EXPECT_TRUE(message.force());
  EXPECT_FALSE(message.has_wait_for());
  ToMessage(MutationOptions{}, &message);
}

TEST(Messages, AWaitForWatchersArrivesAndComesBack) {
  v1::MutationOptions message;
  ToMessage({.wait_for = WaitFor{.share = 0.5, .timeout = std::chrono::milliseconds(2'500)}}, &message);
  EXPECT_EQ(message.wait_for().share(), 0.5);
  EXPECT_EQ(message.wait_for().timeout().seconds(), 2);
  EXPECT_EQ(message.wait_for().timeout().nanos(), 500'000'000);
  v1::WaitResult result;
  result.set_watchers(3);
  result.set_applied(2);
  result.add_lagging("w");
  result.set_reached(true);
  const WaitResult value = ToValue(result);
  EXPECT_EQ(value.watchers, 3u);
  EXPECT_EQ(value.applied, 2u);
  EXPECT_EQ(value.lagging, std::vector<std::string>{"w"});
  EXPECT_TRUE(value.reached);
}

TEST(Messages, PlacementsComeBackAsTheyWere) {
  for (const Placement& placement :
       {Placement(SlotsPlacement{.slot_bits = 12, .owners = 3}), Placement(HashedPlacement{.points_per_weight = 7}),
        Placement(PresetPlacement{.preset = "java-crc32-vn"}), Placement(PointsPlacement{.last_position = 999})}) {
    v1::Placement message;
    ASSERT_TRUE(ToMessage(placement, &message).ok());
    EXPECT_EQ(ToValue(message), placement) << message.ShortDebugString();
  }
  v1::Placement defaults;
  ASSERT_TRUE(ToMessage(Placement(), &defaults).ok());
  EXPECT_EQ(defaults.ShortDebugString(), "slots { }");
  v1::Placement none;
  const absl::Status unknown = ToMessage(PresetPlacement{.preset = "ketma"}, &none);
  EXPECT_TRUE(absl::IsInvalidArgument(unknown)) << unknown;
}

TEST(Messages, TimesKeepTheirMicroseconds) {
  v1::Ring ring;
  ring.mutable_create_time()->set_seconds(1'700'000'000);
  ring.mutable_create_time()->set_nanos(123'456'000);
  EXPECT_EQ(ToValue(ring).create_time.time_since_epoch(), std::chrono::microseconds(1'700'000'000'123'456));
}

// What no directory answers is an error, and no value that a caller would have to look at before using it.
TEST(Messages, AnAnswerHasOneToAsManyOwnersAsWereAskedFor) {
  v1::LookupResponse response;
  EXPECT_TRUE(absl::IsInternal(ToValue(response, 1).status()));
  response.add_owners()->set_id("n1");
  EXPECT_EQ(ToValue(response, 1)->owners.front().id, "n1");
  response.add_owners()->set_id("n2");
  EXPECT_EQ(ToValue(response, 2)->owners.size(), 2u);
  EXPECT_TRUE(absl::IsInternal(ToValue(response, 1).status()));
}

TEST(Messages, ABatchHasOwnersOfEachKeyAmongItsNodes) {
  v1::BatchLookupResponse response;
  EXPECT_TRUE(ToValue(response, 0, 1).ok());
  EXPECT_TRUE(absl::IsInternal(ToValue(response, 1, 1).status())) << "no owner of a key";
  response.add_nodes()->set_id("n1");
  response.set_owners_per_key(1);
  response.add_owner_indices(0);
  response.add_owner_indices(0);
  EXPECT_EQ(ToValue(response, 2, 1)->owner(1).id, "n1");
  EXPECT_TRUE(absl::IsInternal(ToValue(response, 1, 1).status())) << "owners of more keys";
  EXPECT_TRUE(absl::IsInternal(ToValue(response, 3, 1).status())) << "owners of fewer keys";
  EXPECT_TRUE(absl::IsInternal(ToValue(response, 2, 0).status()));
  response.set_owners_per_key(2);
  EXPECT_EQ(ToValue(response, 1, 2)->owners(0).size(), 2u);
  EXPECT_TRUE(absl::IsInternal(ToValue(response, 1, 1).status())) << "more owners than were asked for";
  response.set_owners_per_key(1);
  response.set_owner_indices(1, 1);
  EXPECT_TRUE(absl::IsInternal(ToValue(response, 2, 1).status())) << "an owner that is not there";
}

TEST(Messages, VersionsAreShownAsRingctlDoes) { EXPECT_EQ(ToString(Version{12, 3}), "12/3"); }

}  // namespace
}  // namespace ringd
