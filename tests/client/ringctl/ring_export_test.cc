#include "client/ringctl/ring_export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/ringctl/json.h"

namespace ringd::ctl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

std::string Error(const std::string& content) {
  const absl::StatusOr<ImportedRing> ring = ParseRingExport("r.json", content);
  EXPECT_EQ(ring.status().code(), absl::StatusCode::kInvalidArgument) << content;
  return std::string(ring.status().message());
}

v1::GetRingResponse Answer() {
  v1::GetRingResponse answer;
  answer.mutable_version()->set_epoch(uint64_t{1} << 63);
  v1::Ring& ring = *answer.mutable_ring();
  ring.set_name("r");
  ring.mutable_placement()->mutable_preset()->set_preset(v1::PRESET_ENVOY_RING_HASH);
  ring.mutable_placement()->mutable_preset()->set_minimum_ring_size(12);
  ring.set_default_weight(7);
  (*ring.mutable_labels())["team"] = "a \"b\"";
  ring.mutable_history_limits()->set_max_changes(9);
  for (const auto& [id, joined] : {std::pair("a", 3), std::pair("b", 1), std::pair("c", 2)}) {
    v1::Node& node = *answer.add_nodes();
    node.set_id(id);
    node.set_hash_key(std::string("key of ") + id);
    node.set_weight(2);
    node.set_join_number(static_cast<uint64_t>(joined));
    node.set_share(0.25);
    (*node.mutable_metadata())["x"] = "\n\U0001F600";
  }
  return answer;
}

TEST(RingExport, IsReadBack) {
  const absl::StatusOr<ImportedRing> read = ParseRingExport("r.json", JsonText(ToJsonWithoutPaging(Answer())));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->settings.placement().preset().minimum_ring_size(), 12u);
  EXPECT_EQ(read->settings.default_weight(), 7u);
  EXPECT_THAT(read->settings.labels(), UnorderedElementsAre(Pair("team", "a \"b\"")));
  EXPECT_EQ(read->settings.history_limits().max_changes(), 9u);
  EXPECT_EQ(read->settings.ring(), "");
  ASSERT_EQ(read->nodes.size(), 3u);
  // In the order in which they joined.
  EXPECT_EQ(read->nodes[0].id(), "b");
  EXPECT_EQ(read->nodes[1].id(), "c");
  EXPECT_EQ(read->nodes[2].id(), "a");
  EXPECT_EQ(read->nodes[2].hash_key(), "key of a");
  EXPECT_EQ(read->nodes[2].metadata().at("x"), "\n\U0001F600");
  EXPECT_EQ(read->nodes[2].join_number(), 0u);
  EXPECT_EQ(read->nodes[2].share(), 0);
}

TEST(RingExport, RefusesWhatIsNoExport) {
  EXPECT_EQ(Error("{\n\"ring\": {,}}"), "r.json:2: this is no JSON");
  EXPECT_THAT(Error(""), HasSubstr("r.json:1: "));
  EXPECT_EQ(Error("[]"), "r.json:1: the document is no object");
  EXPECT_THAT(Error("{}"), HasSubstr("ring.placement is missing"));
  EXPECT_THAT(Error(R"({"nodes": [{"wight": 1}]})"), HasSubstr("wight"));
  EXPECT_THAT(Error(R"({"nodes": [{"weight": "many"}]})"), HasSubstr("weight"));
  EXPECT_THAT(Error(std::string(100'000, '[')), HasSubstr("r.json:1: "));
  EXPECT_THAT(Error("{\"ring\": \"\xFF\"}"), HasSubstr("r.json:1: "));
}

TEST(RingExport, RefusesAPartOfARing) {
  v1::GetRingResponse answer = Answer();
  answer.set_next_page_token("t");
  EXPECT_THAT(Error(JsonText(ToJson(answer))), HasSubstr("a part of a ring"));
}

TEST(RingExport, RefusesANodeThatComesTwice) {
  v1::GetRingResponse answer = Answer();
  *answer.add_nodes() = answer.nodes(0);
  EXPECT_THAT(Error(JsonText(ToJson(answer))), HasSubstr("node \"a\" comes twice"));
}

// Of slots, with a table of three places.
v1::GetRingResponse SlotsAnswer() {
  v1::GetRingResponse answer = Answer();
  answer.mutable_ring()->mutable_placement()->mutable_slots();
  for (const uint32_t owner : {1u, 3u, 0u}) answer.add_slot_owners(owner);
  return answer;
}

TEST(RingExport, ATableGoesWithItsNodes) {
  const absl::StatusOr<ImportedRing> read = ParseRingExport("r.json", JsonText(ToJsonWithoutPaging(SlotsAnswer())));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_TRUE(read->settings.placement().has_slots());
  ASSERT_EQ(read->nodes.size(), 3u);
  EXPECT_EQ(read->nodes[2].id(), "a");
  // Of a and of c, which joined last and second.
  EXPECT_THAT(read->slot_owners, ElementsAre(3, 2, 0));
  EXPECT_THAT(read->ranges, IsEmpty());
}

TEST(RingExport, ATableWithoutNodesIsThatOfANewRing) {
  v1::GetRingResponse answer = SlotsAnswer();
  answer.clear_nodes();
  for (uint32_t& owner : *answer.mutable_slot_owners()) owner = 0;
  const absl::StatusOr<ImportedRing> read = ParseRingExport("r.json", JsonText(ToJson(answer)));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_THAT(read->slot_owners, IsEmpty());
}

TEST(RingExport, RefusesSlotsWithoutTheirTable) {
  v1::GetRingResponse slots = SlotsAnswer();
  slots.clear_slot_owners();
  v1::GetRingResponse redis = Answer();
  redis.mutable_ring()->mutable_placement()->mutable_preset()->set_preset(v1::PRESET_REDIS_CLUSTER);
  for (const v1::GetRingResponse& answer : {slots, redis}) {
    EXPECT_THAT(Error(JsonText(ToJson(answer))), HasSubstr("slot_owners is missing"));
  }
}

TEST(RingExport, RefusesATableThatIsNotOfItsNodes) {
  v1::GetRingResponse answer = SlotsAnswer();
  answer.set_slot_owners(1, 4);
  EXPECT_THAT(Error(JsonText(ToJson(answer))), HasSubstr("slot_owners has node 4, of 3 nodes"));
  answer.mutable_ring()->mutable_placement()->mutable_hashed();
  EXPECT_THAT(Error(JsonText(ToJson(answer))), HasSubstr("a placement without slots"));
}

}  // namespace
}  // namespace ringd::ctl
