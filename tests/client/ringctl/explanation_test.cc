// Why a key has its owners: the point it belongs to, and who was passed over.
#include "client/ringctl/explanation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/client/ringctl/ring_messages.h"

namespace ringd::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::LookupResponse LookupOf(const ring::Ring& ring, uint64_t position, size_t owners) {
  std::array<uint32_t, 8> nodes{};
  const size_t count = ring.Owners(position, std::span(nodes).first(owners));
  v1::LookupResponse lookup;
  lookup.set_hash(ring.keys().circle().Value(position));
  for (size_t i = 0; i < count; ++i) ToProto(ring.node(nodes[i]), lookup.add_owners());
  return lookup;
}

// With a point a node.
ring::Ring SmallRing(const std::vector<std::pair<std::string, std::string>>& ids_and_zones) {
  std::vector<ring::Node> nodes;
  for (const auto& [id, zone] : ids_and_zones) nodes.push_back({.id = id, .weight = 1, .zone = zone});
  return RingWith(ring::HashedSettings{.label = "{key}{index}", .points_per_weight = 1}, std::move(nodes));
}

TEST(Explanation, TellsThePointAndTheHashesThatBelongToIt) {
  const ring::Ring ring = SmallRing({{"a", ""}, {"b", ""}, {"c", ""}});
  const auto points = ring.points().points();
  for (size_t i = 0; i < points.size(); ++i) {
    const uint64_t before = points[i == 0 ? points.size() - 1 : i - 1].position();
    for (const uint64_t position : {before + 1, points[i].position()}) {
      const auto explanation = ExplainOwners(MessageOf(ring), LookupOf(ring, position, 2));
      ASSERT_TRUE(explanation.ok()) << explanation.status();
      EXPECT_EQ(explanation->point_of, ring.node(points[i].node()).id);
      EXPECT_EQ(explanation->hashes->first, before + 1);
      EXPECT_EQ(explanation->hashes->last, points[i].position());
      EXPECT_THAT(explanation->whys, ElementsAre("has the point", "next on the circle"));
      EXPECT_FALSE(explanation->slot.has_value());
    }
  }
}

TEST(Explanation, TellsWhomZonesPassedOver) {
  const ring::Ring ring = SmallRing({{"a", "1"}, {"b", "1"}, {"c", "1"}, {"far", "2"}});
  const auto points = ring.points().points();
  // From the point behind "far" on, the walk meets the three of zone 1 first.
  size_t at = 0;
  while (ring.node(points[at].node()).id != "far") ++at;
  const auto explanation =
      ExplainOwners(MessageOf(ring), LookupOf(ring, points[(at + 1) % points.size()].position(), 3));
  ASSERT_TRUE(explanation.ok()) << explanation.status();
  const std::string second = ring.node(points[(at + 2) % points.size()].node()).id;
  const std::string third = ring.node(points[(at + 3) % points.size()].node()).id;
  EXPECT_THAT(
      explanation->whys,
      ElementsAre("has the point", "zones are spread first: passed " + second + " (zone 1), " + third + " (zone 1)",
                  "next on the circle"));
}

TEST(Explanation, NamesTheNodesOfWeightZero) {
  const ring::Ring ring = RingWith(ring::HashedSettings{}, {{.id = "a", .weight = 1}, {.id = "drained"}});
  const auto explanation = ExplainOwners(MessageOf(ring), LookupOf(ring, 0, 1));
  EXPECT_THAT(explanation->weightless, ElementsAre("drained"));
}

TEST(Explanation, HashesAreValuesOfTheRingsHash) {
  const ring::Ring ring =
      RingWith(ring::DefaultsOf(ring::Preset::kJavaCrc32),
               {{.id = "a", .weight = 1, .join_number = 1}, {.id = "b", .weight = 1, .join_number = 2}});
  const auto explanation = ExplainOwners(MessageOf(ring), LookupOf(ring, ring.Position("k"), 1));
  EXPECT_LE(explanation->hashes->first, UINT32_MAX);
  EXPECT_LE(explanation->hashes->last, UINT32_MAX);
}

TEST(Explanation, SaysNothingOfATableThatIsNotTheServers) {
  const ring::Ring ring = SmallRing({{"a", ""}});
  v1::GetRingResponse message = MessageOf(ring);
  message.mutable_ring()->mutable_checksum()->set_value(ring.checksum() + 1);
  const auto explanation = ExplainOwners(message, LookupOf(ring, 0, 1));
  EXPECT_EQ(explanation.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(explanation.status().message()), HasSubstr("another table"));
  message.mutable_ring()->mutable_checksum()->set_algorithm(99);  // is not verified
  EXPECT_TRUE(ExplainOwners(message, LookupOf(ring, 0, 1)).ok());
}

TEST(Explanation, OfSlotsItIsTheSlot) {
  v1::GetRingResponse ring;
  ring.mutable_ring()->mutable_placement()->mutable_slots()->set_slot_bits(10);
  ring.mutable_ring()->mutable_placement()->mutable_slots()->set_hash(v1::HASH_FUNCTION_XXH3_64);
  v1::LookupResponse lookup;
  lookup.set_hash((uint64_t{5} << 54) + 7);
  lookup.add_owners()->set_id("a");
  const auto explanation = ExplainOwners(ring, lookup);
  ASSERT_TRUE(explanation.ok()) << explanation.status();
  EXPECT_EQ(explanation->slot, 5u);
  EXPECT_EQ(explanation->hashes->first, uint64_t{5} << 54);
  EXPECT_EQ(explanation->hashes->last, (uint64_t{6} << 54) - 1);
  EXPECT_THAT(explanation->whys, ElementsAre("kept in the slot"));

  ring.mutable_ring()->mutable_placement()->mutable_preset()->set_preset(v1::PRESET_REDIS_CLUSTER);
  EXPECT_EQ(ExplainOwners(ring, lookup)->slot, 7u);
}

}  // namespace
}  // namespace ringd::ctl
