// Rings of slots: what Ring makes of the leveller and of the moves of others. The tables themselves are the business of
// slot_*_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "ring/movement.h"
#include "ring/ranges.h"
#include "tests/ring/ring_builder.h"

namespace ringd::ring {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Settings SlotsOf(uint32_t slot_bits = 10, uint32_t owners = 1, uint32_t default_weight = 1) {
  return {.placement = SlotsSettings{.slot_bits = slot_bits, .owners = owners, .hash_tag = ""},
          .default_weight = default_weight};
}

Ring RingOfSlots(const std::vector<std::string>& ids, uint32_t owners = 1) {
  Ring ring = EmptyRing(SlotsOf(10, owners));
  for (const std::string& id : ids) ring = With(ring, {Add(id)});
  return ring;
}

std::vector<uint32_t> PlacesOf(const Ring& ring) {
  return {ring.slots()->places().begin(), ring.slots()->places().end()};
}

TEST(RingOfSlots, OwnsEveryKeyByTheTopBitsOfItsHash) {
  const Ring ring = RingOfSlots({"a", "b", "c"});
  ASSERT_TRUE(ring.HasOwners());
  EXPECT_EQ(ring.point_count(), 0u);
  std::map<std::string, int> keys;
  for (int i = 0; i < 3'000; ++i) {
    const std::string key = "key-" + std::to_string(i);
    const uint32_t owner = ring.Owner(ring.Position(key));
    EXPECT_EQ(owner, ring.slots()->places()[HashKey(key) >> 54]);
    ++keys[ring.node(owner).id];
  }
  for (const auto& [id, count] : keys) EXPECT_NEAR(count, 1'000, 200) << id;
}

TEST(RingOfSlots, HasExactShares) {
  const Ring ring = With(RingOfSlots({"a", "b", "c"}), {Reweigh("b", 2), Add("idle", 0)});
  const NodeTable& table = *ring.table();
  EXPECT_EQ(table.ShareOf(0), 0.25);
  EXPECT_EQ(table.ShareOf(1), 0.5);
  EXPECT_EQ(table.ShareOf(2), 0.25);
  EXPECT_EQ(table.ShareOf(3), 0);
  EXPECT_EQ(table.BalanceOfNodes(), (Balance{1, 1}));
}

// The table has the same indices before and after, and they are those of other nodes.
TEST(RingOfSlots, ANodeThatTakesTheIndexOfAnotherTakesItsSlots) {
  const Ring four = RingOfSlots({"a", "b", "c", "d"});
  const Ring swapped = With(four, {Remove("d"), Add("e")});
  ASSERT_EQ(PlacesOf(swapped), PlacesOf(four));
  const Movement movement = Compare(four, swapped);
  EXPECT_EQ(movement.moved_share, 0.25);
  ASSERT_EQ(movement.pairs.size(), 1u);
  EXPECT_EQ(movement.pairs[0].from + movement.pairs[0].to, "de");

  const Ring one = RingOfSlots({"b"});
  EXPECT_EQ(Compare(one, With(one, {Remove("b"), Add("a")})).moved_share, 1);
}

TEST(RingOfSlots, WithoutAWeightHasNoOwners) {
  EXPECT_FALSE(EmptyRing(SlotsOf()).HasOwners());
  const Ring ring = With(RingOfSlots({"a"}), {Reweigh("a", 0)});
  EXPECT_FALSE(ring.HasOwners());
  EXPECT_EQ(ring.owner_count(), 0u);
  EXPECT_THAT(OwnerIds(ring, 0, 3), ElementsAre());
}

TEST(RingOfSlots, KeepsAsManyOwnersASlotAsItIsToldTo) {
  const Ring ring = RingOfSlots({"a", "b", "c", "d"}, 3);
  EXPECT_EQ(ring.owner_count(), 3u);
  const std::vector<std::string> owners = OwnerIds(ring, 77, 64);
  EXPECT_EQ(owners.size(), 3u);
  EXPECT_EQ(owners.front(), OwnerId(ring, uint64_t{77}));
  EXPECT_EQ(OwnerIds(ring, 77, 2), std::vector<std::string>(owners.begin(), owners.begin() + 2));
  EXPECT_EQ(RingOfSlots({"a", "b"}, 3).owner_count(), 2u) << "there are no more nodes";
}

// The table is kept, so another history is another content.
TEST(RingOfSlots, HasAChecksumOfItsTable) {
  const Ring grown = RingOfSlots({"a", "b", "c"});
  const auto at_once = Ring::Create(grown.settings(), NodesOf(grown), grown.next_join_number());
  ASSERT_TRUE(at_once.ok());
  EXPECT_NE(PlacesOf(grown), PlacesOf(*at_once));
  EXPECT_NE(grown.checksum(), at_once->checksum());
  const auto same =
      Ring::Create(grown.settings(), NodesOf(grown), grown.next_join_number(), kUnlimited, PlacesOf(grown));
  ASSERT_TRUE(same.ok());
  EXPECT_EQ(same->checksum(), grown.checksum());
  EXPECT_NE(EmptyRing(SlotsOf(10)).checksum(), EmptyRing(SlotsOf(11)).checksum());
  EXPECT_NE(EmptyRing(SlotsOf(10, 1)).checksum(), EmptyRing(SlotsOf(10, 2)).checksum());
}

TEST(RingOfSlots, IsNotMadeOfATableThatDoesNotFit) {
  const Ring ring = RingOfSlots({"a", "b"});
  const auto error = [&](const Settings& settings, std::vector<uint32_t> places) {
    return std::string(Ring::Create(settings, NodesOf(ring), 3, kUnlimited, std::move(places)).status().message());
  };
  EXPECT_THAT(error(SlotsOf(), std::vector<uint32_t>(1024, 2)), HasSubstr("slot 0 names node 2 of 2"));
  EXPECT_THAT(error(SlotsOf(11), PlacesOf(ring)), HasSubstr("has 1024 places, not 2048"));
  EXPECT_THAT(error(SettingsOf(100), PlacesOf(ring)), HasSubstr("its placement has no slots"));
}

// What a copy does with a change, and a restore with the way back.
TEST(RingOfSlots, FollowsMovesInsteadOfLevelling) {
  const Ring before = RingOfSlots({"a", "b", "c"});
  const std::vector<Operation> there = {Add("d", 2), Remove("b"), Reweigh("a", 3)};
  const Applied change = Change(before, there);
  EXPECT_FALSE(change.moves.runs.empty());
  const auto copied = before.Apply(there, change.moves);
  ASSERT_TRUE(copied.ok()) << copied.status();
  EXPECT_EQ(copied->ring.checksum(), change.ring.checksum());
  EXPECT_EQ(copied->moves, change.moves);

  const SlotMoves way =
      MovesBetween(*change.ring.slots(), change.ring.table()->nodes, *before.slots(), before.table()->nodes);
  const std::vector<Operation> back = {Remove("d"), PutNode{.node = before.node(0)}, PutNode{.node = before.node(1)}};
  const auto restored = change.ring.Apply(back, way);
  ASSERT_TRUE(restored.ok()) << restored.status();
  EXPECT_EQ(restored->ring.checksum(), before.checksum());
  EXPECT_NE(With(change.ring, back).checksum(), before.checksum()) << "levelling alone does not lead back";
  EXPECT_FALSE(before.Apply(there, way).ok());
}

TEST(RingOfSlots, StaysAsItIsWhereNoSlotHasTo) {
  const Ring ring = RingOfSlots({"a", "b"});
  UpdateNode update;
  update.id = "a";
  update.address = "h:1";
  const Applied addressed = Change(ring, {update});
  EXPECT_EQ(addressed.ring.slots(), ring.slots()) << "the table is shared";
  EXPECT_TRUE(addressed.moves.runs.empty());
  const Applied idle = Change(ring, {Add("0", 0)});
  EXPECT_TRUE(idle.moves.runs.empty()) << "the others only have other indices";
  EXPECT_EQ(Compare(ring, idle.ring).moved_share, 0);
  EXPECT_NE(PlacesOf(idle.ring), PlacesOf(ring));
  EXPECT_EQ(ring.WithDefaultWeight(7).slots(), ring.slots());
  EXPECT_NE(ring.WithDefaultWeight(7).checksum(), ring.checksum());
}

TEST(RingOfSlots, TellsItsMovementFromItsSlots) {
  const Ring before = RingOfSlots({"a", "b", "c"});
  const Ring after = With(before, {Add("d")});
  const Movement movement = Compare(before, after);
  EXPECT_EQ(movement.moved_share, 0.25);
  double sum = 0;
  for (const MovedPair& pair : movement.pairs) {
    EXPECT_EQ(pair.to, "d");
    sum += pair.share;
  }
  EXPECT_EQ(sum, 0.25);
  EXPECT_EQ(movement.new_members_share, 0);
  uint64_t next = 0;
  ForEachMovedRange(before, after, [&](const MovedRange& range) {
    EXPECT_GE(range.first, next);
    EXPECT_EQ(range.first % (uint64_t{1} << 54), 0u);
    EXPECT_EQ(OwnerId(before, range.first), range.from->id);
    EXPECT_EQ(OwnerId(after, range.last), "d");
    next = range.last;
  });
  const Movement gone = Compare(after, EmptyRing(SlotsOf()));
  EXPECT_EQ(gone.moved_share, 0);
  EXPECT_EQ(gone.pairs.size(), 4u);
}

TEST(RingOfSlots, TellsHowManyMembersAreNew) {
  const Ring before = RingOfSlots({"a", "b", "c"}, 2);
  const Ring after = With(before, {Remove("c")});
  // c was in two thirds of the slots; in each of them, the one of the other two that was not takes its place.
  EXPECT_NEAR(Compare(before, after).new_members_share, 2.0 / 3, 0.01);
  EXPECT_EQ(Compare(EmptyRing(SlotsOf(10, 2)), before).new_members_share, 0) << "nobody had them";
}

TEST(RingOfSlots, ListsTheRangesOfANode) {
  const Ring ring = RingOfSlots({"a", "b", "c"});
  absl::uint128 sum = 0;
  const std::vector<Range> all = RangesOf(ring, 1, 0, 10'000);
  for (const Range& range : all) {
    EXPECT_EQ(OwnerId(ring, range.first), "b");
    EXPECT_EQ(OwnerId(ring, range.last), "b");
    sum += absl::uint128(range.last) - range.first + 1;
  }
  EXPECT_EQ(sum, ring.table()->arcs[1]);
  const std::vector<Range> two = RangesOf(ring, 1, all[3].first + 5, 2);
  EXPECT_THAT(two, ElementsAre(all[3], all[4])) << "from the middle of a range on";
}

}  // namespace
}  // namespace ringd::ring
