#include "server/storage_codec.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ring/error.h"
#include "ringd/storage/v1/storage.pb.h"
#include "server/store_rules.h"
#include "tests/server/store_test_data.h"

namespace ringd::server {
namespace {

TEST(StorageCodec, ARingComesBackAsItWas) {
  RingHead head = TestHead("cache", {1ull << 63, 17});
  head.settings.default_weight = 1;
  ring::PresetSettings envoy = ring::DefaultsOf(ring::Preset::kEnvoyRingHash);
  envoy.minimum_ring_size = 12;
  envoy.maximum_ring_size = 34;
  ring::PresetSettings twemproxy = ring::DefaultsOf(ring::Preset::kTwemproxy);
  twemproxy.hash = ring::HashFunction::kMurmur2_32;
  twemproxy.hash_tag = "{}";
  for (const ring::Placement& placement :
       {ring::Placement(ring::HashedSettings{.hash = ring::HashFunction::kCrc16,
       .label = "{key}-{index}",
       .points_per_weight = 160,
       .match = ring::PointMatch::kStrictlyAfter,
       .tie_rule = ring::TieRule::kLaterJoin,
       .hash_tag = "{}"}),
        ring::Placement(envoy), ring::Placement(twemproxy),
        ring::Placement(
            ring::SlotsSettings{.slot_bits = 12, .owners = 3, .hash = ring::HashFunction::kMd5, .hash_tag = "{}"}),
        ring::Placement(ring::PointsSettings{
            .last_position = 999, .match = ring::PointMatch::kStrictlyAfter, .tie_rule = ring::TieRule::kLaterJoin})}) {
    head.settings.placement = placement;
    absl::StatusOr<RingHead> decoded = DecodeRing(EncodeRing(head));
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(*decoded, head);
  }
}

TEST(StorageCodec, HistoryLimitsThatAreAbsentStayAbsent) {
  RingHead head = TestHead("cache", {1, 1});
  head.history_limits = {};
  EXPECT_EQ(DecodeRing(EncodeRing(head))->history_limits, HistoryLimits());
  head.history_limits.max_changes = 0;
  EXPECT_EQ(DecodeRing(EncodeRing(head))->history_limits, head.history_limits);
}

TEST(StorageCodec, ANodeComesBackAsItWas) {
  ring::Node node = *TestNode("n\xc3\xa9", 65'535);
  node.points = {0, 17, UINT64_MAX};
  absl::StatusOr<ring::Node> decoded = DecodeNode(EncodeNode(node));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, node);
  EXPECT_EQ(*DecodeNode(EncodeNode(ring::Node())), ring::Node());
}

TEST(StorageCodec, AChangeComesBackAsItWas) {
  ChangeRecord change =
      TestPut("cache", {5, 9},
              {{nullptr, TestNode("a")}, {TestNode("b"), nullptr}, {TestNode("c", 1), TestNode("c", 2)}}, "request-1")
          .change;
  absl::StatusOr<ChangeRecord> decoded = DecodeChange(EncodeChange(change));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_TRUE(SameChange(*decoded, change));
  change.slot_moves = TestMoves();
  change.movement.new_members_share = 1.5;
  EXPECT_TRUE(SameChange(*DecodeChange(EncodeChange(change)), change));
  change.ring_update = TestRingDelta();
  EXPECT_TRUE(SameChange(*DecodeChange(EncodeChange(change)), change));
  change.ring_update.emplace();
  EXPECT_TRUE(SameChange(*DecodeChange(EncodeChange(change)), change));
}

TEST(StorageCodec, MovesThatCannotBeAreDataLoss) {
  ChangeRecord change = TestCreate("cache", 5).change;
  for (auto spoil : std::vector<void (*)(ring::SlotMoves&)>{
           [](ring::SlotMoves& moves) { moves.after.pop_back(); }, [](ring::SlotMoves& moves) { moves.after[0] = 3; },
           [](ring::SlotMoves& moves) { moves.owners = 9; }, [](ring::SlotMoves& moves) { moves.runs[1].last = 5; },
           [](ring::SlotMoves& moves) { moves.runs[2].last = 1 << 20; }}) {
    change.slot_moves = TestMoves();
    spoil(change.slot_moves);
    EXPECT_TRUE(absl::IsDataLoss(DecodeChange(EncodeChange(change)).status()));
  }
}

TEST(StorageCodec, SlotsComeBackAsTheyWere) {
  const uint32_t nobody = ring::SlotTable::kNobody;
  for (const std::vector<uint32_t>& places : {std::vector<uint32_t>{}, std::vector<uint32_t>{0, nobody, 65'534, 258},
                                              std::vector<uint32_t>{0, nobody, 65'535, 65'536, 4'294'967'294}}) {
    const auto decoded = DecodeSlots(EncodeSlots(places));
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(*decoded, places);
  }
  EXPECT_EQ(EncodeSlots(std::vector<uint32_t>{1, 2}).size(), 5u) << "two bytes each, where that does";
  for (const char* bytes : {"", "\x03\x01\x02\x03", "\x02\x01", "\x04\x01\x02"}) {
    EXPECT_TRUE(absl::IsDataLoss(DecodeSlots(bytes).status())) << bytes;
  }
}

TEST(StorageCodec, ATombstoneComesBackAsItWas) {
  const Tombstone tombstone = TestDrop("cache", {5, 9}, "request-1", At(3)).tombstone;
  absl::StatusOr<Tombstone> decoded = DecodeTombstone(EncodeTombstone(tombstone));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, tombstone);
}

TEST(StorageCodec, AMovementThatIsNoNumberIsDataLoss) {
  ChangeRecord change = TestCreate("cache", 5).change;
  change.movement.pairs[1].share = std::nan("");
  EXPECT_TRUE(absl::IsDataLoss(DecodeChange(EncodeChange(change)).status()));
  Tombstone tombstone = TestDrop("cache", {5, 9}).tombstone;
  tombstone.movement.balance_after.min_ratio = HUGE_VAL;
  EXPECT_TRUE(absl::IsDataLoss(DecodeTombstone(EncodeTombstone(tombstone)).status()));
}

TEST(StorageCodec, EqualNodesHaveEqualBytesInWhateverOrderTheirMetadataCame) {
  ring::Node node = *TestNode("n");
  for (int i = 0; i < 100; ++i) node.metadata[std::to_string(i)] = "x";
  const std::string bytes = EncodeNode(node);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(EncodeNode(*DecodeNode(bytes)), bytes);
}

TEST(StorageCodec, BytesThatAreNoRecordAreDataLoss) {
  const std::string garbage = "\xff\xff\xff\xff";
  EXPECT_TRUE(absl::IsDataLoss(DecodeRing(garbage).status()));
  EXPECT_TRUE(absl::IsDataLoss(DecodeNode(garbage).status()));
  EXPECT_TRUE(absl::IsDataLoss(DecodeChange(garbage).status()));
  EXPECT_TRUE(absl::IsDataLoss(DecodeTombstone(garbage).status()));
  EXPECT_EQ(ring::ReasonOf(DecodeNode(garbage).status()), kStoreCorrupt);
}

TEST(StorageCodec, APlacementThatThisBinaryDoesNotKnowIsNotGuessed) {
  EXPECT_TRUE(absl::IsDataLoss(DecodeRing("").status()));
  const auto with = [](auto change) {
    storage::v1::RingRecord record;
    record.ParseFromString(EncodeRing(TestHead("cache", {1, 1})));
    change(record);
    return DecodeRing(record.SerializeAsString()).status();
  };
  EXPECT_TRUE(with([](auto&) {}).ok());
  EXPECT_TRUE(absl::IsDataLoss(with([](auto& r) { r.mutable_settings()->clear_placement(); })));
  EXPECT_TRUE(absl::IsDataLoss(with([](auto& r) { r.mutable_settings()->mutable_hashed()->set_hash(999); })));
  EXPECT_TRUE(absl::IsDataLoss(with([](auto& r) { r.mutable_settings()->mutable_hashed()->set_match(0); })));
  EXPECT_TRUE(absl::IsDataLoss(with([](auto& r) { r.mutable_settings()->mutable_hashed()->set_tie_rule(3); })));
  EXPECT_TRUE(absl::IsDataLoss(with([](auto& r) { r.mutable_settings()->mutable_preset()->set_preset(99); })));
  EXPECT_TRUE(absl::IsDataLoss(with([](auto& r) { r.set_checksum_algorithm(2); })));
}

}  // namespace
}  // namespace ringd::server
