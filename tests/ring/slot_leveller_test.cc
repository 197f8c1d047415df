// Examples of what a change does to a slot table; the laws are in slot_property_test.cc. Tests later_ranks.cc and
// slot_dealer.cc too, which are its parts.
#include "ring/slot_leveller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "ring/later_ranks.h"
#include "ring/slot_dealer.h"
#include "tests/ring/slot_history.h"

namespace ringd::ring {
namespace {

constexpr uint32_t kNobody = SlotTable::kNobody;

SlotNodes Without(SlotNodes nodes, uint32_t id) {
  nodes.erase(id);
  return nodes;
}

SlotNodes Reweighed(SlotNodes nodes, uint32_t id, uint32_t weight) {
  nodes[id].weight = weight;
  return nodes;
}

TEST(NextScattered, VisitsAllAndHalvesFirst) {
  std::vector<size_t> visited;
  size_t slot = 0;
  for (int i = 0; i < 8; ++i, slot = NextScattered(slot, 8)) visited.push_back(slot);
  EXPECT_EQ(visited, (std::vector<size_t>{0, 4, 2, 6, 1, 5, 3, 7}));
  EXPECT_EQ(slot, 0u);
}

TEST(SlotDealer, Interleaves) {
  const std::vector<SlotMember> members(3, {.weight = 1, .zone = 0});
  SlotDealer dealer(members, std::vector<uint32_t>{4, 0, 2});
  std::vector<uint32_t> dealt;
  while (!dealer.done()) dealt.push_back(dealer.Deal(SlotList(), ZoneRule::kAny));
  EXPECT_EQ(dealt, (std::vector<uint32_t>{0, 2, 0, 0, 2, 0}));
  EXPECT_EQ(dealer.Deal(SlotList(), ZoneRule::kAny), kNobody);
}

TEST(SlotDealer, PassesOverMembersAndTheirZones) {
  const std::vector<SlotMember> members = {{1, 0}, {1, 0}, {1, 1}};
  SlotList list;
  list.Append(0, 0);
  SlotDealer dealer(members, std::vector<uint32_t>{9, 5, 1});
  EXPECT_EQ(dealer.Deal(list, ZoneRule::kAny), 1u);
  EXPECT_EQ(dealer.Deal(list, ZoneRule::kNewToSlot), 2u);
  EXPECT_EQ(dealer.Deal(list, ZoneRule::kNewToSlot), kNobody);
  EXPECT_EQ(dealer.Deal(SlotList(), ZoneRule::kAny), 0u) << "due before the second place of node 1";
}

TEST(Level, GivesTheFirstNodeAll) {
  const SlotState one = Levelled(10, 3, EqualNodes(1));
  for (const std::vector<uint32_t>& ids : one.Ids()) EXPECT_EQ(ids, std::vector<uint32_t>{0});
  const SlotState none = one.With({});
  EXPECT_EQ(none.table, SlotTable(10, 3)) << "the last node gone";
  EXPECT_EQ(one.With(Reweighed(one.nodes, 0, 0)).table, SlotTable(10, 3)) << "the last weight gone";
  EXPECT_EQ(none.With(EqualNodes(1)).table, one.table) << "back to life";
}

TEST(Level, TakesNothingThatItNeedNot) {
  const SlotState before = Levelled(16, 1, EqualNodes(100));
  SlotNodes nodes = before.nodes;
  nodes[200] = {.weight = 100, .zone = 0};
  const SlotState after = before.With(nodes);
  EXPECT_EQ(MovedSlots(before, after), 65'536u / 101) << "what the new node takes";
  const auto was = before.Ids();
  const auto is = after.Ids();
  for (size_t slot = 0; slot < was.size(); ++slot) EXPECT_TRUE(is[slot] == was[slot] || is[slot].front() == 200);
}

// No stretch of the circle has much more of what moves than any other.
TEST(Level, SpreadsMovesOverTheCircle) {
  for (const uint32_t owners : {1u, 3u}) {
    const SlotState before = Levelled(16, owners, EqualNodes(50));
    SlotNodes grown = before.nodes;
    grown[200] = {.weight = 100, .zone = 0};
    for (const SlotNodes& nodes : {grown, Without(before.nodes, 7), Reweighed(before.nodes, 7, 300)}) {
      const SlotState after = before.With(nodes);
      const auto was = before.Ids();
      const auto is = after.Ids();
      std::vector<double> moved(16);
      for (size_t slot = 0; slot < was.size(); ++slot) moved[slot / 4096] += was[slot].front() != is[slot].front();
      const double expected = static_cast<double>(MovedSlots(before, after)) / 16;
      for (const double here : moved) EXPECT_NEAR(here, expected, expected / 5 + 2) << owners << " owners";
    }
  }
}

TEST(Level, IsWithinAThousandthForAHundredEqualNodes) {
  for (const auto& [id, owned] : Levelled(16, 1, EqualNodes(100)).Owned()) EXPECT_LE(owned, 656u) << "of 655.36";
}

// By eighth of the circle: how many percent of the slots that the node 7 of 21 equal ones owned go to one of their
// members when it is lost.
std::vector<size_t> PercentToMembers(uint32_t zones) {
  const SlotState before = Levelled(16, 3, EqualNodes(21, zones));
  const SlotState after = before.With(Without(before.nodes, 7));
  const auto was = before.Ids();
  const auto is = after.Ids();
  std::vector<size_t> lost(8);
  std::vector<size_t> to_members(8);
  for (size_t slot = 0; slot < was.size(); ++slot) {
    if (was[slot].front() != 7) continue;
    ++lost[slot / 8192];
    if (std::find(was[slot].begin(), was[slot].end(), is[slot].front()) != was[slot].end()) ++to_members[slot / 8192];
  }
  for (size_t i = 0; i < lost.size(); ++i) to_members[i] = to_members[i] * 100 / lost[i];
  return to_members;
}

TEST(Level, ReplacesALostOwnerByItsNextMemberAllRoundTheCircle) {
  EXPECT_THAT(PercentToMembers(1), testing::Each(testing::Ge(85u))) << "the other members have taken their share";
  // Members are of the other two zones, and these have 14 of the 20 nodes that share what was lost.
  EXPECT_THAT(PercentToMembers(3), testing::Each(testing::Ge(55u)));
}

TEST(Level, KeepsAnOwnerThatGivesASlotAwayAsItsMember) {
  const SlotState before = Levelled(16, 2, EqualNodes(10));
  SlotNodes nodes = before.nodes;
  nodes[200] = {.weight = 100, .zone = 0};
  const SlotState after = before.With(nodes);
  const auto was = before.Ids();
  const auto is = after.Ids();
  for (size_t slot = 0; slot < was.size(); ++slot) {
    if (is[slot].front() != was[slot].front()) {
      EXPECT_EQ(is[slot], (std::vector<uint32_t>{200, was[slot].front()}));
    }
  }
}

// So that the slots of an owner that is lost have many different next members, and each takes its share of them.
TEST(Level, PairsEachOwnerWithAllOthers) {
  const SlotState state = Levelled(16, 2, EqualNodes(20));
  std::map<uint32_t, std::map<uint32_t, size_t>> seconds;
  for (const std::vector<uint32_t>& ids : state.Ids()) ++seconds[ids[0]][ids[1]];
  const double even = 65'536.0 / 20 / 19;
  for (const auto& [owner, counts] : seconds) {
    EXPECT_EQ(counts.size(), 19u) << owner;
    for (const auto& [second, count] : counts) EXPECT_NEAR(static_cast<double>(count), even, even * 0.75);
  }
}

// Of all memberships of a node that goes, each is filled once: no chain of others follows. The same for one that comes.
TEST(Level, MovesLittleMoreThanTheMembersOfTheNodeThatChanged) {
  for (const uint32_t owners : {2u, 3u, 5u}) {
    for (const uint32_t zones : {1u, 3u, 5u}) {
      const SlotState before = Levelled(14, owners, EqualNodes(60, zones));
      const SlotState removed = before.With(Without(before.nodes, 7));
      EXPECT_LE(NewMembers(before, removed) * 10, before.Memberships()[7] * 12) << owners << " of " << zones;
      const SlotState back = removed.With(before.nodes);
      EXPECT_LE(NewMembers(removed, back) * 10, back.Memberships()[7] * 12) << owners << " of " << zones;
    }
  }
}

// A heavy node is in every slot and cannot be in more; the others share what is left. With as many nodes as places and
// one, each replacement needs a slot that just one node is missing from: only relays get there.
TEST(Level, LevelsMembersByWayOfOthers) {
  SlotState state = Levelled(12, 3, EqualNodes(4));
  for (const uint32_t weight : {150u, 100u, 700u, 388u, 1u, 65'535u, 90u}) {
    state = state.With(Reweighed(state.nodes, 1, weight));
    const std::vector<SlotMember> members = MembersOf(state.nodes);
    const std::vector<MemberTarget> targets = MemberTargets(4096, SpreadOf(3, members), members);
    for (const auto& [id, memberships] : state.Memberships()) {
      EXPECT_GE(memberships + 8, targets[id].least) << "weight " << weight << ", node " << id;
      EXPECT_LE(memberships, targets[id].most + 8) << "weight " << weight << ", node " << id;
    }
  }
}

}  // namespace
}  // namespace ringd::ring
