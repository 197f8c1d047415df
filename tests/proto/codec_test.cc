// Wire messages and values of ring/ say the same.
#include "proto/codec.h"

#include <gtest/gtest.h>

#include <memory>

#include "google/protobuf/util/message_differencer.h"
#include "ring/error.h"

namespace ringd {
namespace {

ring::Node FullNode() {
  return {.id = "n1",
          .address = "10.0.0.1:7000",
          .weight = 42,
          .zone = "a",
          .hash_key = "old-name",
          .metadata = {{"rack", "7"}, {"owner", "search"}},
          .join_number = 9,
          .points = {0, 7, UINT64_MAX}};
}

TEST(Codec, NodeKeepsEveryFieldThereAndBackButWhatIsOutputOnly) {
  v1::Node message;
  ToProto(FullNode(), 0.25, &message);
  EXPECT_EQ(message.share(), 0.25);
  EXPECT_EQ(message.join_number(), 9);
  const ring::AddNode add = FromProto(message);
  ring::Node expected = FullNode();
  expected.join_number = 0;
  EXPECT_EQ(add.node, expected);
  EXPECT_FALSE(add.default_weight);
}

TEST(Codec, AbsentWeightIsTheDefaultAndZeroIsZero) {
  v1::Node message;
  message.set_id("n1");
  EXPECT_TRUE(FromProto(message).default_weight);
  message.set_weight(0);
  EXPECT_FALSE(FromProto(message).default_weight);
  EXPECT_EQ(FromProto(message).node.weight, 0);
}

TEST(Codec, PlacementFillsInItsDefaults) {
  v1::Placement message;
  message.mutable_hashed();
  const auto settings = FromProto(message);
  ASSERT_TRUE(settings.ok());
  EXPECT_EQ(*settings, ring::Placement(ring::HashedSettings()));
  v1::Placement full;
  ToProto(*settings, &full);
  EXPECT_EQ(full.hashed().hash(), v1::HASH_FUNCTION_XXH3_64);
  EXPECT_EQ(full.hashed().label(), "{key}#{index}");
  EXPECT_EQ(full.hashed().points_per_weight(), 2);
  EXPECT_EQ(full.hashed().match(), v1::POINT_MATCH_AT_OR_AFTER);
  EXPECT_EQ(full.hashed().tie_rule(), v1::TIE_RULE_NODE_ID);
  EXPECT_EQ(*FromProto(full), *settings);
}

TEST(Codec, PlacementThatIsAbsentOrNotServedIsInvalid) {
  EXPECT_EQ(FromProto(v1::Placement()).status().code(), absl::StatusCode::kInvalidArgument);
  v1::Placement slots, hash, match, tie, preset;
  slots.mutable_slots()->set_hash(static_cast<v1::HashFunction>(99));
  hash.mutable_hashed()->set_hash(static_cast<v1::HashFunction>(99));
  match.mutable_hashed()->set_match(static_cast<v1::PointMatch>(99));
  tie.mutable_hashed()->set_tie_rule(static_cast<v1::TieRule>(99));
  preset.mutable_preset()->set_preset(static_cast<v1::Preset>(99));
  for (const v1::Placement& placement : {slots, hash, match, tie, preset}) {
    const absl::Status status = FromProto(placement).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << placement.ShortDebugString();
    EXPECT_EQ(ring::ReasonOf(status), ring::kNotServedYet) << placement.ShortDebugString();
  }
  v1::Placement label, tag, nameless, no_choice, bits, more_bits, owners, java;
  java.mutable_slots()->set_hash(v1::HASH_FUNCTION_JAVA_FNV1);
  bits.mutable_slots()->set_slot_bits(9);
  more_bits.mutable_slots()->set_slot_bits(17);
  more_bits.mutable_slots()->set_hash(v1::HASH_FUNCTION_CRC16);
  owners.mutable_slots()->set_owners(9);
  label.mutable_hashed()->set_label("{name}{index}");
  tag.mutable_hashed()->set_hash_tag("{");
  nameless.mutable_preset();
  no_choice.mutable_preset()->set_preset(v1::PRESET_NGINX);
  no_choice.mutable_preset()->set_hash(v1::HASH_FUNCTION_MD5);
  v1::Placement sizes;
  sizes.mutable_preset()->set_preset(v1::PRESET_NGINX);
  sizes.mutable_preset()->set_minimum_ring_size(1'024);
  for (const v1::Placement& placement : {label, tag, nameless, no_choice, sizes, bits, more_bits, owners, java}) {
    const absl::Status status = FromProto(placement).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << placement.ShortDebugString();
    EXPECT_EQ(ring::ReasonOf(status), ring::kInvalidField) << placement.ShortDebugString();
  }
}

TEST(Codec, PlacementComesBackAsItWas) {
  v1::Placement hashed, twemproxy, envoy, slots, points;
  points.mutable_points()->set_last_position(999);
  points.mutable_points()->set_match(v1::POINT_MATCH_STRICTLY_AFTER);
  points.mutable_points()->set_tie_rule(v1::TIE_RULE_LATER_JOIN);
  slots.mutable_slots()->set_slot_bits(12);
  slots.mutable_slots()->set_owners(3);
  slots.mutable_slots()->set_hash(v1::HASH_FUNCTION_SHA1);
  slots.mutable_slots()->set_hash_tag("{}");
  hashed.mutable_hashed()->set_hash(v1::HASH_FUNCTION_MD5);
  hashed.mutable_hashed()->set_label("{key}{index}");
  hashed.mutable_hashed()->set_match(v1::POINT_MATCH_STRICTLY_AFTER);
  hashed.mutable_hashed()->set_tie_rule(v1::TIE_RULE_LATER_JOIN);
  hashed.mutable_hashed()->set_hash_tag("{}");
  hashed.mutable_hashed()->set_points_per_weight(160);
  twemproxy.mutable_preset()->set_preset(v1::PRESET_TWEMPROXY);
  twemproxy.mutable_preset()->set_hash(v1::HASH_FUNCTION_MURMUR2_32);
  twemproxy.mutable_preset()->set_hash_tag("{}");
  envoy.mutable_preset()->set_preset(v1::PRESET_ENVOY_RING_HASH);
  envoy.mutable_preset()->set_hash(v1::HASH_FUNCTION_XXH64);
  envoy.mutable_preset()->set_minimum_ring_size(12);
  envoy.mutable_preset()->set_maximum_ring_size(34);
  for (const v1::Placement& placement : {hashed, twemproxy, envoy, slots, points}) {
    const auto settings = FromProto(placement);
    ASSERT_TRUE(settings.ok()) << settings.status();
    v1::Placement back;
    ToProto(*settings, &back);
    EXPECT_EQ(back.DebugString(), placement.DebugString());
  }
}

TEST(Codec, SlotMovesComeBackWithTheirOwners) {
  const uint32_t nobody = ring::SlotTable::kNobody;
  ring::SlotMoves moves;
  moves.owners = 2;
  moves.nodes = {"a", "b"};
  moves.runs = {{3, 5}, {9, 9}, {10, 10}};
  moves.before = {0, 1, 0, 1, 0, 1};
  moves.after = {1, 0, 0, nobody, nobody, nobody};
  google::protobuf::RepeatedPtrField<v1::SlotMove> message;
  for (size_t run = 0; run < moves.runs.size(); ++run) ToProto(moves, run, message.Add());
  EXPECT_EQ(message[0].ShortDebugString(), R"(first: 3 last: 5 node_ids: "b" node_ids: "a")");
  EXPECT_EQ(message[2].ShortDebugString(), "first: 10 last: 10");
  const auto back = FromProto(message);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->runs, moves.runs);
  EXPECT_EQ(back->nodes, (std::vector<std::string>{"b", "a"})) << "as they come";
  EXPECT_EQ(back->after, (std::vector<uint32_t>{0, 1, 1, nobody, nobody, nobody}));
  EXPECT_EQ(back->before, std::vector<uint32_t>(6, nobody)) << "is not told";
  for (int i = 0; i < 9; ++i) message[1].add_node_ids("n");
  EXPECT_EQ(std::string(FromProto(message).status().message()), "slots 9..9 have 10 owners, the most is 8");
}

TEST(Codec, PlacesOfSlotsComeBackAsTheyWere) {
  const std::vector<uint32_t> places = {0, 7, ring::SlotTable::kNobody, 4'294'967'294};
  google::protobuf::RepeatedField<uint32_t> message;
  ToProto(places, &message);
  EXPECT_EQ(message[2], 0u);
  std::vector<uint32_t> back = {5};
  AppendPlaces(message, &back);
  EXPECT_EQ(back, (std::vector<uint32_t>{5, 0, 7, ring::SlotTable::kNobody, 4'294'967'294}));
}

TEST(Codec, FieldMaskNamesWhatAnUpdateSets) {
  v1::Node node;
  node.set_id("n1");
  node.set_weight(7);
  node.set_zone("b");
  google::protobuf::FieldMask mask;
  mask.add_paths("weight");
  const auto update = FromProto(node, mask);
  ASSERT_TRUE(update.ok());
  EXPECT_EQ(update->weight, 7);
  EXPECT_FALSE(update->zone.has_value());
  EXPECT_FALSE(update->address.has_value());
  EXPECT_FALSE(update->metadata.has_value());
  EXPECT_FALSE(update->points.has_value());
}

TEST(Codec, FieldMaskSetsToEmptyAndToTheDefault) {
  v1::Node node;
  node.set_id("n1");
  google::protobuf::FieldMask mask;
  for (const char* path : {"weight", "address", "zone", "metadata", "points"}) mask.add_paths(path);
  const auto update = FromProto(node, mask);
  ASSERT_TRUE(update.ok());
  EXPECT_TRUE(update->default_weight);
  EXPECT_FALSE(update->weight.has_value());
  EXPECT_EQ(update->address, "");
  EXPECT_EQ(update->zone, "");
  EXPECT_TRUE(update->metadata->empty());
  EXPECT_TRUE(update->points->empty());
}

TEST(Codec, FieldMaskThatIsEmptyOrUnknownIsInvalid) {
  v1::Node node;
  node.set_id("n1");
  EXPECT_EQ(FromProto(node, google::protobuf::FieldMask()).status().code(), absl::StatusCode::kInvalidArgument);
  for (const char* path : {"id", "hash_key", "share", "metadata.rack", "wieght", "*"}) {
    google::protobuf::FieldMask mask;
    mask.add_paths(path);
    const absl::Status status = FromProto(node, mask).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << path;
    EXPECT_NE(status.message().find(path), absl::string_view::npos) << status.message();
  }
}

TEST(Codec, OperationMustBeOneOfThree) {
  EXPECT_EQ(FromProto(v1::NodeOperation()).status().code(), absl::StatusCode::kInvalidArgument);
  v1::NodeOperation remove;
  remove.mutable_remove()->set_node_id("n1");
  EXPECT_EQ(std::get<ring::RemoveNode>(*FromProto(remove)).id, "n1");
}

TEST(Codec, AMovementLeavesOutNobodyAndABalanceThatThereIsNot) {
  v1::Movement message;
  ToProto(ring::Movement{.moved_share = 0.5,
                         .pairs = {{"a", "b", 0.5}, {"", "c", 0.25}, {"d", "", 0.125}},
                         .other_pairs_share = 0.125,
                         .balance_after = {.max_ratio = 1.5, .min_ratio = 0.25}},
          &message);
  EXPECT_EQ(message.ShortDebugString(),
            R"(moved_share: 0.5 pairs { from: "a" to: "b" share: 0.5 } pairs { to: "c" share: 0.25 } )"
            R"(pairs { from: "d" share: 0.125 } other_pairs_share: 0.125 after { max_ratio: 1.5 min_ratio: 0.25 })");
}

TEST(Codec, ChangeOfANodeSaysWhatHappened) {
  const auto before = std::make_shared<const ring::Node>(FullNode());
  ring::Node changed = FullNode();
  changed.weight = 1;
  const auto after = std::make_shared<const ring::Node>(changed);
  v1::NodeChange added, updated, removed;
  ToProto(ring::NodeDelta{.before = nullptr, .after = after}, &added);
  ToProto(ring::NodeDelta{.before = before, .after = after}, &updated);
  ToProto(ring::NodeDelta{.before = before, .after = nullptr}, &removed);
  EXPECT_EQ(added.added().weight(), 1);
  EXPECT_EQ(updated.updated().weight(), 1);
  EXPECT_EQ(updated.updated().hash_key(), "old-name");
  EXPECT_EQ(removed.removed(), "n1");
}

}  // namespace
}  // namespace ringd
