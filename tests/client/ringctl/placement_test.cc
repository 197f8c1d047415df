#include "client/ringctl/placement.h"

#include <gtest/gtest.h>

namespace ringd::ctl {
namespace {

std::string TextOf(const PlacementOptions& options) {
  const absl::StatusOr<v1::Placement> placement = PlacementOf(options);
  return placement.ok() ? placement->ShortDebugString() : std::string(placement.status().message());
}

TEST(Placement, IsSlotsWhereNothingIsSaid) {
  EXPECT_EQ(TextOf({}), "slots { }");
  EXPECT_EQ(TextOf({.kind = "slots", .hash = "md5", .slot_bits = 12, .slot_owners = 3}),
            "slots { slot_bits: 12 owners: 3 hash: HASH_FUNCTION_MD5 }");
  EXPECT_EQ(TextOf({.kind = "hashed", .points_per_weight = 7}), "hashed { points_per_weight: 7 }");
  EXPECT_EQ(TextOf({.preset = "java-crc32-vn"}), "preset { preset: PRESET_JAVA_CRC32_VN }");
  EXPECT_EQ(TextOf({.kind = "points", .match = "strictly-after", .last_position = 999}),
            "points { last_position: 999 match: POINT_MATCH_STRICTLY_AFTER }");
}

TEST(Placement, HasNoPlaceForWhatBelongsToAnother) {
  EXPECT_EQ(TextOf({.points_per_weight = 7}),
            "--points-per-weight means nothing with --placement slots; it goes with --placement hashed");
  EXPECT_EQ(TextOf({.kind = "hashed", .slot_bits = 12}),
            "--slot-bits means nothing with --placement hashed; it goes with --placement slots");
  EXPECT_EQ(TextOf({.preset = "ketama", .match = "at-or-after"}),
            "--match means nothing with --preset; it goes with --placement hashed or --placement points");
  EXPECT_EQ(TextOf({.kind = "points", .hash = "md5"}),
            "--hash means nothing with --placement points; it goes with --placement slots or --placement hashed or "
            "--preset");
  EXPECT_EQ(TextOf({.last_position = 7}),
            "--last-position means nothing with --placement slots; it goes with --placement points");
  EXPECT_EQ(TextOf({.maximum_ring_size = 7}),
            "--max-ring-size means nothing with --placement slots; it goes with --preset");
  EXPECT_EQ(TextOf({.kind = "slots", .preset = "ketama"}), "--placement and --preset do not go together");
}

TEST(PlacementDetails, AreOneLine) {
  v1::Placement placement;
  placement.mutable_slots()->set_slot_bits(16);
  placement.mutable_slots()->set_owners(1);
  placement.mutable_slots()->set_hash(v1::HASH_FUNCTION_XXH3_64);
  EXPECT_EQ(PlacementDetails(placement), "slots, 65536 slots, 1 owner each, xxh3-64");
  placement.mutable_slots()->set_owners(3);
  placement.mutable_slots()->set_hash_tag("{}");
  EXPECT_EQ(PlacementDetails(placement), "slots, 65536 slots, 3 owners each, xxh3-64, hash tag \"{}\"");
  placement.mutable_points()->set_last_position(999);
  placement.mutable_points()->set_tie_rule(v1::TIE_RULE_LATER_JOIN);
  EXPECT_EQ(PlacementDetails(placement), "points, positions 0..999, ties to the later join");
}

}  // namespace
}  // namespace ringd::ctl
