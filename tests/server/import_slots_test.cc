// ImportSlots: a table arrives as it was told, goes on as the one that it came from, and is judged before.
#include "server/import_slots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "tests/server/test_directory.h"

namespace ringd::server {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kNobody = ring::SlotTable::kNobody;
constexpr size_t kRedisSlots = 16'384;
constexpr size_t kRedisOwners = 8;

Mutation Import(const std::string& ring, ImportSlots import) {
  return {.ring = ring, .what = std::move(import), .actor = "test"};
}

// The nodes and the table of a ring.
ImportSlots CopyOf(const RingState& state) {
  ImportSlots copy;
  for (const ring::NodePtr& node : state.ring.table()->nodes) {
    copy.nodes.push_back({.node = *node});
    copy.nodes.back().node.join_number = 0;
  }
  copy.places.assign(state.ring.slots()->places().begin(), state.ring.slots()->places().end());
  return copy;
}

// A ring "r" of slots after some changes.
void MakeRing(TestDirectory& directory, uint32_t owners) {
  directory.Do(CreateSlots("r", owners));
  directory.Do(Change("r", {AddOp("d", 3), AddOp("b", 2), AddOp("c", 2, "10.0.0.1:1")}));
  directory.Do(Change("r", {WeightOp("b", 5), AddOp("a", 1), AddOp("e", 2)}));
  directory.Do(Forced(Change("r", {RemoveOp("c"), AddOp("idle", 0)})));
}

void ExpectRefused(const absl::Status& status, absl::StatusCode code, std::string_view reason,
                   const std::string& mention) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_EQ(ring::ReasonOf(status), reason) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(mention));
}
void ExpectInvalid(const absl::Status& status, const std::string& mention) {
  ExpectRefused(status, absl::StatusCode::kInvalidArgument, ring::kInvalidField, mention);
}

TEST(ImportSlots, ARingOfSlotsGoesOnAsTheOneThatItCameFrom) {
  for (const uint32_t owners : {1u, 3u}) {
    TestDirectory directory;
    MakeRing(directory, owners);
    directory.Do(CreateSlots("s", owners));
    const ImportSlots copy = CopyOf(*directory.State("r"));
    const MutationResult planned = directory.Do(Checked(Import("s", copy)));
    EXPECT_EQ(planned.plan->state->head.checksum, directory.State("r")->head.checksum);
    EXPECT_EQ(directory.At("s"), ToString(planned.version)) << "a plan changes nothing";
    directory.Do(Import("s", copy));
    directory.Reopen();
    EXPECT_EQ(*directory.State("s")->ring.slots(), *directory.State("r")->ring.slots());
    for (const Mutation& next : {Add("", "f", 4), Forced(Change("", {RemoveOp("b")}))}) {
      EXPECT_EQ(directory.State("s")->head.checksum, directory.State("r")->head.checksum);
      for (const std::string ring : {"r", "s"}) {
        Mutation change = next;
        change.ring = ring;
        directory.Do(change);
      }
    }
    EXPECT_EQ(directory.State("s")->head.checksum, directory.State("r")->head.checksum) << owners << " owners";
  }
}

TEST(ImportSlots, NodesMayStandInAnyOrder) {
  TestDirectory directory;
  MakeRing(directory, 2);
  directory.Do(CreateSlots("s", 2));
  ImportSlots copy = CopyOf(*directory.State("r"));
  std::reverse(copy.nodes.begin(), copy.nodes.end());
  const auto last = static_cast<uint32_t>(copy.nodes.size() - 1);
  for (uint32_t& place : copy.places) place = place == kNobody ? kNobody : last - place;
  directory.Do(Import("s", copy));
  EXPECT_EQ(directory.State("s")->head.checksum, directory.State("r")->head.checksum);
  EXPECT_EQ(directory.State("s")->ring.node(last).join_number, 1u) << "they join as they stand";
}

TEST(ImportSlots, IsForRingsOfSlotsWithoutNodes) {
  TestDirectory directory;
  MakeRing(directory, 1);
  const ImportSlots copy = CopyOf(*directory.State("r"));
  ExpectRefused(directory.Refused(Import("r", copy)), absl::StatusCode::kFailedPrecondition, kRingNotImported,
                "ring \"r\": a ring of slots takes a table only while it has no nodes, and it has 5");
  directory.Make("hashed");
  ExpectRefused(directory.Refused(Import("hashed", copy)), absl::StatusCode::kFailedPrecondition, kRingNotImported,
                "it has no slots");
  directory.Do(CreateSlots("s"));
  ImportSlots ranges = copy;
  ranges.as_ranges = true;
  ExpectInvalid(directory.Refused(Import("s", ranges)), "takes slot_owners");
}

TEST(ImportSlots, RefusesATableThatIsNoneOfTheRing) {
  TestDirectory directory;
  MakeRing(directory, 2);
  directory.Do(CreateSlots("s", 2));
  const ImportSlots good = CopyOf(*directory.State("r"));
  const auto refused = [&](const std::function<void(ImportSlots&)>& edit, const std::string& mention) {
    ImportSlots bad = good;
    edit(bad);
    ExpectInvalid(directory.Refused(Import("s", bad)), mention);
  };
  refused([](auto& bad) { bad.places.pop_back(); }, "ring \"s\": slot_owners: a slot table has 2047 places, not 2048");
  refused([](auto& bad) { bad.places[1] = bad.places[0]; }, "slot_owners: slot 0 names node");
  refused([](auto& bad) { bad.places[0] = kNobody; }, "slot_owners: slot 0 has a gap before rank 1");
  refused([](auto& bad) { bad.places[3] = kNobody; }, "the table is not levelled: slot 1 has 1 members, not 2");
  refused([](auto& bad) { std::swap(bad.nodes[0].node.weight, bad.nodes[1].node.weight); }, "it should own");
  refused([](auto& bad) { bad.nodes[0].node.weight = 0; }, "whose weight is 0");
  refused([](auto& bad) { bad.places.assign(bad.places.size(), kNobody); }, "slot 0 has 0 members, not 2");
  EXPECT_EQ(directory.State("s")->ring.node_count(), 0u);
  directory.Do(Import("s", good));
}

// A ring of redis-cluster with the nodes a and b, of which a is the first owner of every slot and b the second.
ImportSlots Redis() {
  ImportSlots import{.nodes = {AddOp("a"), AddOp("b", 0)}, .places = {}};
  for (size_t slot = 0; slot < kRedisSlots; ++slot) {
    import.places.insert(import.places.end(), {0, 1});
    import.places.insert(import.places.end(), kRedisOwners - 2, kNobody);
  }
  return import;
}

TEST(ImportSlots, OfRedisNeedsAMasterOfEverySlotAndMayComeAgain) {
  TestDirectory directory;
  const ring::Settings settings{.placement = ring::DefaultsOf(ring::Preset::kRedisCluster), .default_weight = 1};
  directory.Do({.ring = "r", .what = CreateRing{.settings = settings}, .actor = "test"});
  const auto refused = [&](const std::function<void(ImportSlots&)>& edit, const std::string& mention) {
    ImportSlots bad = Redis();
    edit(bad);
    ExpectInvalid(directory.Refused(Import("r", bad)), mention);
  };
  refused([](auto& bad) { bad.places.assign(bad.places.size(), kNobody); }, "slot 0 has no owner");
  refused([](auto& bad) { std::fill_n(bad.places.begin() + 8, 8, kNobody); }, "slot 1 has no owner, as others have");
  refused([](auto& bad) { std::swap(bad.places[16], bad.places[17]); },
          "slot 2 has the first owner \"b\", whose weight is 0");
  refused([](auto& bad) { bad.nodes.push_back(AddOp("c")); },
          "node \"c\" is the first owner of no slot; its weight must be 0, and is 1");
  const ring::Version version = directory.Do(Import("r", Redis())).version;
  EXPECT_EQ(directory.Do(Import("r", Redis())).version, version) << "nothing moved";
  ImportSlots moved = Redis();
  moved.nodes.push_back(AddOp("c"));
  moved.places[8] = 2;
  EXPECT_EQ(directory.Do(Import("r", moved)).movement.moved_share, 1.0 / kRedisSlots);
  EXPECT_EQ(directory.State("r")->ring.slots()->PlacesOf(1).front(), 2u);
}

}  // namespace
}  // namespace ringd::server
