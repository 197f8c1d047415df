// The golden values come from another implementation of the layout in checksum.h:
//   h = xxhash.xxh3_64_intdigest; u32, u64 = struct.pack of '<I', '<Q'; s(t) = u32(len(t)) + t
//   digest = h(s(id) + s(address) + u32(weight) + s(zone) + s(hash_key) + u32(len(metadata)) + sorted s(key) +
//   s(value)) ring = h(u32(1) + u32(1) + s('{key}#{index}') + u32(ppw) + u32(1) + u32(1) + s('') + u32(default_weight)
//            + u64(len(nodes)) + digests + u64(len(points)) + sorted (u64(h(key + '#' + index)) + u32(node)))
// in Python, with its own bindings of xxHash. A change here breaks every client that is out there.
#include "ring/checksum.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "ring/ring.h"
#include "tests/ring/ring_builder.h"

namespace ringd::ring {
namespace {

const Node kFull = {.id = "n1",
                    .address = "10.0.0.1:7000",
                    .weight = 3,
                    .zone = "eu-1",
                    .hash_key = "old-name",
                    .metadata = {{"b", "2"}, {"a", "1"}},
                    .join_number = 7};
const Node kPlain = {.id = "n0", .address = "", .weight = 1, .zone = "", .hash_key = "n0", .metadata = {}};
const Node kIdle = {.id = "\xD0\xBA\xD0\xBB\xD1\x8E\xD1\x87",
                    .address = "h:1",
                    .weight = 0,
                    .zone = "z",
                    .hash_key = "\xD0\xBA\xD0\xBB\xD1\x8E\xD1\x87",
                    .metadata = {{"", "x"}}};

TEST(NodeDigest, HasTheGoldenValues) {
  EXPECT_EQ(NodeDigest(kFull), 0x64B9F3979E12ED77ULL);
  EXPECT_EQ(NodeDigest(kPlain), 0x222E7602F8066F87ULL);
  EXPECT_EQ(NodeDigest(kIdle), 0xE40DE7B68768B67FULL);
}

TEST(NodeDigest, ReadsEveryFieldButTheJoinNumber) {
  const uint64_t digest = NodeDigest(kPlain);
  const auto changed = [&](auto change) {
    Node node = kPlain;
    change(node);
    return NodeDigest(node) != digest;
  };
  EXPECT_TRUE(changed([](Node& node) { node.id = "n2"; }));
  EXPECT_TRUE(changed([](Node& node) { node.address = "x"; }));
  EXPECT_TRUE(changed([](Node& node) { node.weight = 2; }));
  EXPECT_TRUE(changed([](Node& node) { node.zone = "x"; }));
  EXPECT_TRUE(changed([](Node& node) { node.hash_key = "x"; }));
  EXPECT_TRUE(changed([](Node& node) { node.metadata["k"] = ""; }));
  EXPECT_FALSE(changed([](Node& node) { node.join_number = 9; }));
}

TEST(NodeDigest, ReadsTheJoinNumberWhereTheOrderDoes) {
  Node later = kPlain;
  later.join_number++;
  EXPECT_NE(NodeDigest(later, NodeOrder::kLaterJoinFirst), NodeDigest(kPlain, NodeOrder::kLaterJoinFirst));
  EXPECT_NE(NodeDigest(kPlain, NodeOrder::kEarlierJoinFirst), NodeDigest(kPlain));
}

TEST(NodeDigest, KeepsFieldsApart) {
  Node a = kPlain;
  a.address = "xy";
  Node b = kPlain;
  b.address = "x";
  b.zone = "y";
  EXPECT_NE(NodeDigest(a), NodeDigest(b));
}

TEST(RingChecksum, HasTheGoldenValues) {
  EXPECT_EQ(Ring::Create(Settings{}, {})->checksum(), 0x7D198EBC847D7ADEULL);
  EXPECT_EQ(Ring::Create(Settings{}, {kIdle, kFull, kPlain})->checksum(), 0x908ED22D95FAE17CULL);
}

// Of slots: u32(3) + u32(slot_bits) + u32(owners) + u32(hash) + s(hash_tag) + u32(default_weight) + u64(len(nodes)) +
// digests + u64(len(places)) + u32 each.
TEST(RingChecksum, HasTheGoldenValueOfSlots) {
  std::vector<uint32_t> places;
  for (uint32_t slot = 0; slot < 1'024; ++slot) {
    places.insert(places.end(), {slot % 2, slot < 512 ? SlotTable::kNobody : 1 - slot % 2});
  }
  const Settings settings{.placement = SlotsSettings{.slot_bits = 10, .owners = 2, .hash_tag = "{}"}};
  const auto ring = Ring::Create(settings, {kIdle, kFull, kPlain}, 8, kUnlimited, places);
  ASSERT_TRUE(ring.ok()) << ring.status();
  EXPECT_EQ(ring->checksum(), 0x0545EAA546A5A16AULL);
}

// Of points: u32(4) + u64(last_position) + u32(match) + u32(tie_rule) + u32(default_weight), then nodes and points as
// above. The digest of a node that has points goes on with u64(len(points)) + u64 each, in order.
TEST(RingChecksum, HasTheGoldenValueOfPoints) {
  const Node node = {.id = "p", .weight = 1, .hash_key = "p", .points = {0, 7, UINT64_MAX}};
  const Node idle = {.id = "i", .weight = 0, .hash_key = "i", .points = {5}};
  EXPECT_EQ(NodeDigest(node), 0x9C7F12FC73BEE25FULL);
  const auto ring = Ring::Create({.placement = PointsSettings{}}, {node, idle});
  ASSERT_TRUE(ring.ok()) << ring.status();
  EXPECT_EQ(ring->checksum(), 0xFC79F6C06479ACB8ULL);
  Node other = idle;
  other.points = {6};
  EXPECT_NE(Ring::Create({.placement = PointsSettings{}}, {node, other})->checksum(), ring->checksum());
}

HashedSettings& HashedOf(Settings& settings) { return std::get<HashedSettings>(settings.placement); }

TEST(RingChecksum, ReadsEverySetting) {
  const PointTable none;
  const uint64_t checksum = RingChecksum(Settings{}, {}, none, nullptr);
  const auto changed = [&](auto change) {
    Settings settings;
    change(settings);
    return RingChecksum(settings, {}, none, nullptr) != checksum;
  };
  EXPECT_TRUE(changed([](Settings& s) { s.default_weight = 1; }));
  EXPECT_TRUE(changed([](Settings& s) { HashedOf(s).points_per_weight = 3; }));
  EXPECT_TRUE(changed([](Settings& s) { HashedOf(s).hash = static_cast<HashFunction>(2); }));
  EXPECT_TRUE(changed([](Settings& s) { HashedOf(s).label = "{key}{index}"; }));
  EXPECT_TRUE(changed([](Settings& s) { HashedOf(s).match = PointMatch::kStrictlyAfter; }));
  EXPECT_TRUE(changed([](Settings& s) { HashedOf(s).tie_rule = TieRule::kLaterJoin; }));
  EXPECT_TRUE(changed([](Settings& s) { HashedOf(s).hash_tag = "{}"; }));
  EXPECT_FALSE(changed([](Settings&) {}));
}

TEST(RingChecksum, ReadsEverySettingOfAPreset) {
  const PointTable none;
  Settings envoy{.placement = DefaultsOf(Preset::kEnvoyRingHash)};
  auto& settings = std::get<PresetSettings>(envoy.placement);
  std::set<uint64_t> checksums = {RingChecksum(Settings{}, {}, none, nullptr), RingChecksum(envoy, {}, none, nullptr)};
  settings.minimum_ring_size++;
  checksums.insert(RingChecksum(envoy, {}, none, nullptr));
  settings.maximum_ring_size--;
  checksums.insert(RingChecksum(envoy, {}, none, nullptr));
  settings.hash_tag = "{}";
  checksums.insert(RingChecksum(envoy, {}, none, nullptr));
  settings.hash = HashFunction::kMd5;
  checksums.insert(RingChecksum(envoy, {}, none, nullptr));
  settings.preset = Preset::kNginx;
  checksums.insert(RingChecksum(envoy, {}, none, nullptr));
  EXPECT_EQ(checksums.size(), 7u);
}

TEST(RingChecksum, ReadsTheTableAndNotOnlyTheNodes) {
  const std::vector<uint64_t> digests = {1};
  const std::vector<Point> here = {Point(5, 0)};
  const std::vector<Point> there = {Point(6, 0)};
  EXPECT_NE(RingChecksum(Settings{}, digests, PointTable(here), nullptr),
            RingChecksum(Settings{}, digests, PointTable(there), nullptr));
}

}  // namespace
}  // namespace ringd::ring
