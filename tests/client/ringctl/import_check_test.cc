// A dry run refuses what the directory would refuse, and lets pass what it would take.
#include "client/ringctl/import_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <string>

namespace ringd::ctl {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kSlots = 1'024;
constexpr uint32_t kRedisSlots = 16'384;
constexpr uint32_t kRedisOwners = 8;

v1::Node NodeOf(const std::string& id, std::optional<uint32_t> weight) {
  v1::Node node;
  node.set_id(id);
  if (weight.has_value()) node.set_weight(*weight);
  return node;
}

v1::Ring Planned(uint32_t default_weight) {
  v1::Ring ring;
  ring.mutable_placement()->mutable_slots()->set_slot_bits(10);
  ring.set_default_weight(default_weight);
  return ring;
}

// Of a ring of slots, whose first `of_first` slots are those of the first node and all others those of the second.
ImportedRing Slots(std::initializer_list<v1::Node> nodes, uint32_t of_first) {
  ImportedRing imported{.nodes = nodes};
  for (uint32_t slot = 0; slot < kSlots; ++slot) imported.slot_owners.push_back(slot < of_first ? 1 : 2);
  return imported;
}

v1::Ring PlannedOfRedis() {
  v1::Ring ring;
  ring.mutable_placement()->mutable_preset()->set_preset(v1::PRESET_REDIS_CLUSTER);
  ring.set_default_weight(1);
  return ring;
}

// The first node is the master of all slots, and the second its replica.
ImportedRing Redis(std::initializer_list<v1::Node> nodes) {
  ImportedRing imported{.nodes = nodes};
  for (uint32_t slot = 0; slot < kRedisSlots; ++slot) {
    imported.slot_owners.insert(imported.slot_owners.end(), {1, 2});
    imported.slot_owners.resize(imported.slot_owners.size() + kRedisOwners - 2);
  }
  return imported;
}

void ExpectRefused(const absl::Status& status, const std::string& mention) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(mention));
}

TEST(ImportCheck, ANodeWithoutAWeightHasTheDefaultOfTheRing) {
  const ImportedRing imported = Slots({NodeOf("b", 3), NodeOf("a", {})}, kSlots / 4 * 3);
  EXPECT_TRUE(CheckPlanned(imported, Planned(1)).ok()) << CheckPlanned(imported, Planned(1));
  ExpectRefused(CheckPlanned(imported, Planned(3)), "node \"a\" owns 256 slots; it should own 512");
}

TEST(ImportCheck, ATableMustBeOneOfTheRing) {
  ImportedRing imported = Slots({NodeOf("b", 1), NodeOf("a", 1)}, kSlots / 2);
  EXPECT_TRUE(CheckPlanned(imported, Planned(1)).ok());
  imported.slot_owners[7] = 3;
  ExpectRefused(CheckPlanned(imported, Planned(1)), "slot_owners: slot 7 names node 2 of 2");
  imported.slot_owners.pop_back();
  ExpectRefused(CheckPlanned(imported, Planned(1)), "slot_owners: a slot table has 1023 places, not 1024");
}

TEST(ImportCheck, NodesOfATableAreJudged) {
  ImportedRing imported = Slots({NodeOf("b", 1), NodeOf("a", 1)}, kSlots / 2);
  imported.nodes[0].set_hash_key("a");
  EXPECT_EQ(CheckPlanned(imported, Planned(1)).code(), absl::StatusCode::kAlreadyExists);
  imported.nodes[0].set_hash_key("k");
  imported.nodes[0].add_points(7);
  ExpectRefused(CheckPlanned(imported, Planned(1)), "node \"b\" has points of its own");
}

TEST(ImportCheck, InATableOfRedisTheMastersAreThoseThatHaveWeight) {
  const v1::Ring planned = PlannedOfRedis();
  EXPECT_TRUE(CheckPlanned(Redis({NodeOf("m", 1), NodeOf("r", 0)}), planned).ok());
  EXPECT_TRUE(CheckPlanned(Redis({NodeOf("m", {}), NodeOf("r", 0)}), planned).ok());
  ExpectRefused(CheckPlanned(Redis({NodeOf("m", 0), NodeOf("r", 0)}), planned),
                "slot 0 has the first owner \"m\", whose weight is 0");
  ExpectRefused(CheckPlanned(Redis({NodeOf("m", 1), NodeOf("r", 1)}), planned),
                "node \"r\" is the first owner of no slot");
  ExpectRefused(CheckPlanned(Redis({NodeOf("m", 5), NodeOf("r", 0)}), planned), "weight 5 is neither 0 nor 1");
  ImportedRing nobodys = Redis({NodeOf("m", 1), NodeOf("r", 0)});
  nobodys.slot_owners.assign(nobodys.slot_owners.size(), 0);
  ExpectRefused(CheckPlanned(nobodys, planned), "slot 0 has no owner");
}

// Those without a table are judged as they are added.
TEST(ImportCheck, NodesAloneAreJudged) {
  v1::Ring planned;
  planned.mutable_placement()->mutable_preset()->set_preset(v1::PRESET_KETAMA);
  planned.set_default_weight(1);
  EXPECT_TRUE(CheckPlanned({.nodes = {NodeOf("a", {}), NodeOf("b", 1)}}, planned).ok());
  ExpectRefused(CheckPlanned({.nodes = {NodeOf("a", 2)}}, planned), "weight 2 is neither 0 nor 1");
}

}  // namespace
}  // namespace ringd::ctl
