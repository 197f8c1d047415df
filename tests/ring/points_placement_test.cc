// Rings whose nodes have points of their own: what they refuse, who owns what, and that any other ring can be told so.
#include "ring/points_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "ring/balance_warning.h"
#include "ring/error.h"
#include "ring/movement.h"
#include "tests/ring/ring_builder.h"

namespace ringd::ring {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

AddNode WithPoints(const std::string& id, std::vector<uint64_t> points, uint32_t weight = 1) {
  AddNode add = Add(id, weight);
  add.node.points = std::move(points);
  return add;
}

Ring EmptyPoints(const PointsSettings& settings) { return EmptyRing({.placement = settings, .default_weight = 1}); }

// The owner of a position of the ring's own circle.
std::string OwnerAt(const Ring& ring, uint64_t value) { return OwnerId(ring, ring.keys().circle().First(value)); }

std::string Refusal(const Ring& ring, const Operation& operation, absl::StatusCode code) {
  const absl::Status status = ring.Apply(std::vector<Operation>{operation}).status();
  EXPECT_EQ(status.code(), code) << status;
  return std::string(status.message());
}

TEST(PointsPlacement, HasBounds) {
  EXPECT_TRUE(CheckPointsPlacement({}).ok());
  EXPECT_TRUE(CheckPointsPlacement({.last_position = 1}).ok());
  for (const uint64_t good : {uint64_t{4'294'967'295}, (uint64_t{1} << 33) - 1, (uint64_t{1} << 63) - 1, UINT64_MAX}) {
    EXPECT_TRUE(CheckPointsPlacement({.last_position = good}).ok()) << good;
  }
  for (const uint64_t bad : {uint64_t{0}, uint64_t{4'294'967'296}, uint64_t{1} << 63, UINT64_MAX - 1}) {
    EXPECT_EQ(ReasonOf(CheckPointsPlacement({.last_position = bad})), kInvalidField) << bad;
  }
  EXPECT_EQ(ReasonOf(CheckPointsPlacement({.match = static_cast<PointMatch>(9)})), kNotServedYet);
  EXPECT_EQ(ReasonOf(CheckPointsPlacement({.tie_rule = static_cast<TieRule>(9)})), kNotServedYet);
}

TEST(PointsPlacement, APositionBelongsToTheFirstPointAtOrAfterIt) {
  const Ring ring = With(EmptyPoints({.last_position = 999}), {WithPoints("a", {500, 10}), WithPoints("b", {0, 700})});
  const std::map<uint64_t, std::string> owners = {{0, "b"},   {1, "a"},   {10, "a"},  {11, "a"}, {500, "a"},
                                                  {501, "b"}, {700, "b"}, {701, "b"}, {999, "b"}};
  for (const auto& [value, owner] : owners) EXPECT_EQ(OwnerAt(ring, value), owner) << value;
  EXPECT_EQ(ring.point_count(), 4u);
  EXPECT_NEAR(ring.table()->ShareOf(0), 0.5, 1e-15);
}

TEST(PointsPlacement, OrToTheFirstStrictlyAfterIt) {
  const Ring ring = With(EmptyPoints({.last_position = 999, .match = PointMatch::kStrictlyAfter}),
                         {WithPoints("a", {10, 999}), WithPoints("b", {0, 700})});
  const std::map<uint64_t, std::string> owners = {{0, "a"},   {9, "a"},   {10, "b"}, {699, "b"},
                                                  {700, "a"}, {998, "a"}, {999, "b"}};
  for (const auto& [value, owner] : owners) EXPECT_EQ(OwnerAt(ring, value), owner) << value;
}

TEST(PointsPlacement, OfPointsThatMeetTheRuleSaysWhichIsFirst) {
  for (const auto& [rule, owner] : {std::pair(TieRule::kNodeId, "a"), {TieRule::kLaterJoin, "b"}}) {
    Ring ring = With(EmptyPoints({.tie_rule = rule}), {WithPoints("a", {7})});
    ring = With(ring, {WithPoints("b", {7, 9})});
    EXPECT_EQ(OwnerAt(ring, 3), owner);
    EXPECT_EQ(OwnerIds(ring, 3, 2).size(), 2u) << "the other one is still there";
  }
}

TEST(PointsPlacement, WeightZeroOwnsNothingAndSoDoesANodeWithoutPoints) {
  Ring ring = With(EmptyPoints({}), {WithPoints("a", {7}), WithPoints("b", {3}), WithPoints("none", {})});
  EXPECT_EQ(ring.owner_count(), 2u);
  EXPECT_THAT(BalanceWarnings(ring), ElementsAre(HasSubstr("\"none\" has 0.00 times its share")));
  ring = With(ring, {Reweigh("b", 0)});
  EXPECT_EQ(OwnerAt(ring, 0), "a");
  EXPECT_EQ(ring.point_count(), 1u);
  ring = With(ring, {Reweigh("b", 5)});
  EXPECT_EQ(OwnerAt(ring, 0), "b");
  EXPECT_THAT(ring.node(1).points, ElementsAre(3u));
}

TEST(PointsPlacement, AnUpdateReplacesThePoints) {
  const Ring before = With(EmptyPoints({}), {WithPoints("a", {7}), WithPoints("b", {3})});
  UpdateNode update{.id = "b"};
  update.points = {9, 5};
  const Ring after = With(before, {update});
  EXPECT_THAT(after.node(1).points, ElementsAre(5u, 9u));
  EXPECT_EQ(OwnerAt(after, 3), "b");
  EXPECT_EQ(OwnerAt(after, 6), "a");
  EXPECT_NE(after.checksum(), before.checksum());
  EXPECT_EQ(With(after, {update}).checksum(), after.checksum()) << "the same again changes nothing";
}

TEST(PointsPlacement, RefusesWhatIsNotOnTheCircleOrComesTwice) {
  const Ring ring = EmptyPoints({.last_position = 999});
  EXPECT_EQ(Refusal(ring, WithPoints("a", {1000, 3}), absl::StatusCode::kInvalidArgument),
            "point 1000 of node \"a\" is beyond the circle's last position, 999");
  EXPECT_EQ(Refusal(ring, WithPoints("a", {5, 3, 5}), absl::StatusCode::kInvalidArgument),
            "point 5 of node \"a\" comes twice");
  PutNode put{.node = WithPoints("a", {5, 3}).node};
  EXPECT_EQ(Refusal(ring, put, absl::StatusCode::kInvalidArgument), "point 3 of node \"a\" is out of order");
}

TEST(PointsPlacement, OtherPlacementsTakeNoPoints) {
  for (const Placement& placement : {Placement(HashedSettings{}), Placement(SlotsSettings{.slot_bits = 10}),
                                     Placement(DefaultsOf(Preset::kKetama))}) {
    const Ring ring = With(EmptyRing({.placement = placement, .default_weight = 1}), {Add("b")});
    EXPECT_THAT(Refusal(ring, WithPoints("a", {1}), absl::StatusCode::kInvalidArgument),
                HasSubstr("node \"a\" has points of its own"));
    UpdateNode update{.id = "b"};
    update.points = {1};
    EXPECT_THAT(Refusal(ring, update, absl::StatusCode::kInvalidArgument), HasSubstr("node \"b\" has points"));
  }
}

TEST(PointsPlacement, PointsCountAgainstTheLimitOfTheRing) {
  const Ring ring = With(EmptyPoints({}), {WithPoints("a", {1, 2, 3})});
  const std::vector<Operation> one = {WithPoints("b", {4, 5})};
  EXPECT_TRUE(ring.Apply(one, {.max_points = 5}).ok());
  const absl::Status over = ring.Apply(one, {.max_points = 4}).status();
  EXPECT_EQ(over.message(), "5 points are over the limit of 4");
  const absl::Status idle = ring.Apply(std::vector<Operation>{WithPoints("b", {4, 5}, 0)}, {.max_points = 4}).status();
  EXPECT_EQ(idle.message(), "5 points are over the limit of 4") << "those of weight 0 are kept, too";
  // A ring that is over it may change, but not grow.
  const Ring over_it = With(ring, {WithPoints("b", {4, 5})});
  EXPECT_TRUE(over_it.Apply(std::vector<Operation>{Reweigh("b", 0)}, {.max_points = 4}).ok());
  EXPECT_FALSE(over_it.Apply(std::vector<Operation>{WithPoints("c", {6})}, {.max_points = 4}).ok());
}

TEST(PointsPlacement, SharesAreThoseOfThePositions) {
  for (const uint64_t last :
       {uint64_t{2}, uint64_t{998}, uint64_t{4'294'967'294}, (uint64_t{1} << 62) - 1, UINT64_MAX}) {
    const uint64_t third = last / 3;
    const Ring ring =
        With(EmptyPoints({.last_position = last}), {WithPoints("a", {third}), WithPoints("b", {2 * third})});
    const auto b = static_cast<double>(third) / (static_cast<double>(last) + 1);
    EXPECT_NEAR(ring.table()->ShareOf(1), b, 1e-9) << last;
    EXPECT_NEAR(ring.table()->ShareOf(0), 1 - b, 1e-9) << last;
  }
}

TEST(PointsPlacement, MovementIsThatOfPointsWhereWeightsStay) {
  const Ring before = With(EmptyPoints({.last_position = 31}), {WithPoints("a", {10}), WithPoints("b", {5, 20})});
  UpdateNode update{.id = "b"};
  update.points = {5};
  const Movement movement = Compare(before, With(before, {update}));
  EXPECT_EQ(movement.moved_share, 0) << "the wrap was b's, and is";
  update.points = {15};
  EXPECT_EQ(Compare(before, With(before, {update})).moved_share, 22.0 / 32) << "0..5 and 16..31";
}

TEST(PointsPlacement, NoKeyHasAPlace) {
  const KeyPlace keys(PointsSettings{});
  EXPECT_FALSE(keys.has_hash());
  EXPECT_FALSE(keys.CanPlace("user:17"));
  EXPECT_TRUE(KeyPlace(HashedSettings{}).has_hash());
}

// A ring with a hash of its own, such as any preset is, moves in: its points told, no position changes owner.
TEST(PointsPlacement, AnyOtherRingCanBeToldByItsPoints) {
  for (const Preset preset : {Preset::kJavaCrc32Vn, Preset::kJavaFnvCluster, Preset::kMurmur3Weighted,
                              Preset::kKetamaWeighted, Preset::kNginx, Preset::kEnvoyRingHash}) {
    PresetSettings settings = DefaultsOf(preset);
    if (preset == Preset::kEnvoyRingHash) settings.maximum_ring_size = 1'024;
    const PresetTraits& traits = *FindPreset(preset);
    Ring original = EmptyRing({.placement = settings, .default_weight = 1});
    std::vector<std::string> names;
    for (int i = 0; i < 12; ++i) names.push_back("10.0.0." + std::to_string(11 - i) + ":80");
    std::vector<PresetNode> nodes;
    for (size_t i = 0; i < names.size(); ++i) {
      const uint32_t weight = traits.weighted ? 1 + static_cast<uint32_t>(i % 4) : 1;
      original = With(original, {Add(names[i], weight)});
      nodes.push_back({names[i], weight});
    }
    std::vector<std::set<uint64_t>> points(nodes.size());
    for (const auto& [value, node] : PresetPoints(settings, nodes)) points[node].insert(value);

    const uint64_t last = original.keys().circle().last_value();
    Ring told = EmptyPoints({.last_position = last, .match = traits.match, .tie_rule = TieRule::kLaterJoin});
    for (size_t i = 0; i < nodes.size(); ++i) {
      told = With(told, {WithPoints(names[i], {points[i].begin(), points[i].end()}, nodes[i].weight)});
    }
    for (int i = 0; i < 20'000; ++i) {
      const std::string key = "user:" + std::to_string(i);
      const uint64_t value = original.keys().circle().Value(original.Position(key));
      ASSERT_EQ(OwnerAt(told, value), OwnerId(original, key)) << traits.name << " " << key;
    }
    for (size_t i = 0; i < original.node_count(); ++i) {
      EXPECT_EQ(told.table()->arcs[i], original.table()->arcs[i]) << traits.name;
    }
  }
}

}  // namespace
}  // namespace ringd::ring
