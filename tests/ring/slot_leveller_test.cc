// Examples of what a change does to a slot table; the laws are in slot_property_test.cc. Tests later_ranks.cc and
// slot_dealer.cc too, which are its parts.
#include "ring/slot_leveller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ring/error.h"
#include "ring/later_ranks.h"
#include "ring/slot_dealer.h"
#include "ring/slot_order.h"
#include "tests/ring/member_shares.h"
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
  const std::vector<SlotNode> members(3, {.weight = 1, .zone = 0});
  SlotDealer dealer(members, std::vector<uint32_t>{4, 0, 2});
  std::vector<uint32_t> dealt;
  while (!dealer.done()) dealt.push_back(dealer.Deal(SlotList(), ZoneRule::kAny));
  EXPECT_EQ(dealt, (std::vector<uint32_t>{0, 2, 0, 0, 2, 0}));
  EXPECT_EQ(dealer.Deal(SlotList(), ZoneRule::kAny), kNobody);
}

TEST(SlotDealer, PassesOverMembersAndTheirZones) {
  const std::vector<SlotNode> members = {{1, 0}, {1, 0}, {1, 1}};
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

// Two nodes that go, one of each zone, and two that come: a slot's new owner is of the zone that the slot misses.
TEST(Level, TakesNewOwnersFromZonesThatTheSlotMisses) {
  const SlotState before = Levelled(12, 2, EqualNodes(20, 2));
  SlotNodes nodes = Without(Without(before.nodes, 6), 7);
  nodes[50] = {.weight = 100, .zone = 0};
  nodes[51] = {.weight = 100, .zone = 1};
  const SlotState after = before.With(nodes);
  EXPECT_EQ(MovedSlots(before, after), LeastMoves(before, nodes));
  EXPECT_EQ(SlotsBereft(before, after), 0u);
}

TEST(Level, KeepsAMemberThatHasTheDataOfALostOwnerWhileItLevels) {
  const SlotState before = Levelled(10, 2, {{0, {100, 0}}, {1, {100, 1}}, {2, {100, 2}}, {3, {100, 2}}});
  EXPECT_EQ(SlotsBereft(before, before.With(Without(before.nodes, 2))), 0u);
}

// Nodes 8 and 9 give most of what they own while the slots of node 7 are shared out.
TEST(Level, ReplacesLostOwnersByMembersBeforeThoseThatGive) {
  const SlotState before = Levelled(12, 3, EqualNodes(20));
  const SlotState after = before.With(Reweighed(Reweighed(Without(before.nodes, 7), 8, 10), 9, 10));
  const auto was = before.Ids();
  const auto is = after.Ids();
  for (size_t slot = 0; slot < was.size(); ++slot) {
    if (was[slot].front() != 7) continue;
    EXPECT_TRUE(std::find(was[slot].begin(), was[slot].end(), is[slot].front()) != was[slot].end()) << slot;
  }
}

// Who shares a zone with whom counts, not which number the zone has.
TEST(Level, DoesNotDependOnTheNumbersOfZones) {
  for (const uint32_t owners : {1u, 3u}) {
    SlotState state(12, owners);
    SlotState renumbered(12, owners);
    SlotNodes nodes = EqualNodes(30, 5);
    for (const uint32_t id : {30u, 4u, 11u, 30u, 21u}) {  // one comes, and four go
      if (!nodes.contains(id)) {
        nodes[id] = {.weight = 250, .zone = 1};
      } else {
        nodes.erase(id);
      }
      SlotNodes other = nodes;
      for (auto& [other_id, node] : other) node.zone = (node.zone * 3 + 4) % 5;
      state = state.With(nodes);
      renumbered = renumbered.With(other);
      EXPECT_TRUE(state.table == renumbered.table) << owners << " owners, node " << id;
    }
  }
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

// Twenty equal nodes to which a history of single changes led.
SlotState Rolled(uint32_t owners, uint32_t zones) {  // each replaced by another
  SlotState state = Levelled(12, owners, EqualNodes(20, zones));
  for (uint32_t id = 0; id < 20; ++id) {
    SlotNodes nodes = Without(state.nodes, id);
    state = state.With(nodes);
    nodes[100 + id] = {.weight = 100, .zone = id % zones};
    state = state.With(nodes);
  }
  return state;
}
SlotState Grown(uint32_t owners, uint32_t zones) {
  SlotState state(12, owners);
  for (uint32_t count = 1; count <= 20; ++count) state = state.With(EqualNodes(count, zones));
  return state;
}
SlotState Shrunk(uint32_t owners, uint32_t zones) {  // grown to 40, and the first 20 gone
  SlotState state = Grown(owners, zones);
  for (uint32_t count = 21; count <= 40; ++count) state = state.With(EqualNodes(count, zones));
  for (uint32_t id = 0; id < 20; ++id) state = state.With(Without(state.nodes, id));
  return state;
}
SlotState WeighedAnew(uint32_t owners, uint32_t zones) {  // each twice, and all back
  SlotState state = Levelled(12, owners, EqualNodes(20, zones));
  for (uint32_t i = 0; i < 40; ++i) state = state.With(Reweighed(state.nodes, i * 7 % 20, 50 + i * 37 % 100));
  for (uint32_t id = 0; id < 20; ++id) state = state.With(Reweighed(state.nodes, id, 100));
  return state;
}

// When any of its nodes is lost, the 19 others share its slots evenly; how many percent go to members, at the least.
size_t LeastPercentToMembers(const SlotState& state) {
  const auto was = state.Ids();
  size_t least = 100;
  for (const auto& [lost, node] : state.nodes) {
    const auto is = state.With(Without(state.nodes, lost)).Ids();
    std::map<uint32_t, size_t> taken;
    size_t to_members = 0;
    for (size_t slot = 0; slot < was.size(); ++slot) {
      if (was[slot].front() != lost) continue;
      ++taken[is[slot].front()];
      to_members += std::find(was[slot].begin(), was[slot].end(), is[slot].front()) != was[slot].end();
    }
    EXPECT_EQ(taken.size(), 19u) << "node " << lost;
    for (const auto& [taker, count] : taken) EXPECT_LE(count, 205u / 19 + 1) << taker << " of node " << lost;
    least = std::min(least, to_members * 100 / state.Owned().at(lost));
  }
  return least;
}

// The largest part of one node's slots that has the same second, in percent.
size_t MostPercentOfOneSecond(const SlotState& state) {
  std::map<uint32_t, std::map<uint32_t, size_t>> seconds;
  for (const std::vector<uint32_t>& ids : state.Ids()) ++seconds[ids[0]][ids[1]];
  const std::map<uint32_t, uint64_t> owned = state.Owned();
  size_t most = 0;
  for (const auto& [owner, counts] : seconds) {
    for (const auto& [second, count] : counts) most = std::max(most, count * 100 / owned.at(owner));
  }
  return most;
}

// Of the slots that one node owns, the most in one sixteenth of the circle.
size_t MostInASixteenth(const SlotState& state) {
  const auto slots = state.Ids();
  std::map<std::pair<uint32_t, size_t>, size_t> counts;
  for (size_t slot = 0; slot < slots.size(); ++slot) ++counts[{slots[slot].front(), slot / (slots.size() / 16)}];
  size_t most = 0;
  for (const auto& [where, count] : counts) most = std::max(most, count);
  return most;
}

// Bounds are what was measured, and a tenth. Growth from one node is the worst case: what the first nodes shared stays
// in part. With three zones, members are of the other two, which have two thirds of the other nodes.
TEST(Level, StaysSpreadThroughHistories) {
  const struct {
    const char* name;
    SlotState (*make)(uint32_t owners, uint32_t zones);
    uint32_t owners;
    uint32_t zones;
    size_t to_members;
    size_t one_second;
  } cases[] = {
      {"rolled", Rolled, 2, 1, 75, 23},
      {"rolled", Rolled, 3, 3, 60, 18},
      {"grown", Grown, 2, 1, 45, 36},
      {"grown", Grown, 2, 3, 26, 52},
      {"grown", Grown, 3, 1, 60, 48},
      {"shrunk", Shrunk, 2, 1, 75, 20},
      {"shrunk", Shrunk, 3, 3, 60, 17},
      {"weighed anew", WeighedAnew, 2, 1, 75, 12},
      {"weighed anew", WeighedAnew, 3, 3, 60, 18},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(testing::Message() << one.name << ", " << one.owners << " owners, " << one.zones << " zones");
    const SlotState state = one.make(one.owners, one.zones);
    EXPECT_GE(LeastPercentToMembers(state), one.to_members);
    EXPECT_LE(MostPercentOfOneSecond(state), one.one_second);
    EXPECT_LE(MostInASixteenth(state), 30u) << "of 205 slots, 12.8 of 16";
  }
}

// A table is kept, and every replica and client must come to the same. FNV-1a over the places of a history.
TEST(Level, IsTheSameOnEveryMachine) {
  SlotState state(12, 3);
  SlotNodes nodes;
  for (uint32_t id = 0; id < 40; ++id) nodes[id] = {.weight = 1 + id * id * 31 % 1000, .zone = id * id % 5};
  state = state.With(nodes);
  state = state.With(Without(nodes, 11));
  state = state.With(Reweighed(state.nodes, 20, 65'535));
  state = state.With(Reweighed(nodes, 3, 0));
  uint64_t hash = 0xcbf29ce484222325;
  for (uint32_t place : state.table.places()) {
    for (int byte = 0; byte < 4; ++byte, place >>= 8) hash = (hash ^ (place & 0xff)) * 0x100000001b3;
  }
  EXPECT_EQ(hash, 0x562a190827eafaa5u);
}

// Of all memberships of a node that goes, each is filled once: hardly any chain of others follows. The same for one
// that comes. But where nodes cannot be alike, as five places and four zones want more of some zones than of others.
TEST(Level, MovesLittleMoreThanTheMembersOfTheNodeThatChanged) {
  for (const uint32_t owners : {2u, 3u, 5u}) {
    for (const uint32_t zones : {1u, 3u, 4u, 5u}) {
      const size_t most_percent = owners == 5 && zones == 4 ? 175 : 115;
      for (const uint32_t count : {31u, 60u}) {
        const SlotState before = Levelled(12, owners, EqualNodes(count, zones));
        const SlotState removed = before.With(Without(before.nodes, 7));
        EXPECT_LE(NewMembers(before, removed) * 100, before.Memberships()[7] * most_percent)
            << owners << " of " << zones;
        const SlotState back = removed.With(before.nodes);
        EXPECT_LE(NewMembers(removed, back) * 100, back.Memberships()[7] * most_percent) << owners << " of " << zones;
      }
    }
  }
}

// A heavy node is in every slot and cannot be in more; the others share what is left. With as many nodes as places and
// one, each replacement needs a slot that just one node is missing from: only relays get there.
TEST(Level, LevelsMembersByWayOfOthers) {
  SlotState state = Levelled(12, 3, EqualNodes(4));
  for (const uint32_t weight : {150u, 100u, 700u, 388u, 1u, 65'535u, 90u}) {
    state = state.With(Reweighed(state.nodes, 1, weight));
    EXPECT_LE(OffTargets(state), 12u) << "weight " << weight;
  }
}

// Why the table of a state is not levelled once its places were edited, or "".
std::string WhyNot(const SlotState& state, const std::function<void(std::vector<uint32_t>&)>& edit) {
  std::vector<uint32_t> places(state.table.places().begin(), state.table.places().end());
  edit(places);
  const SlotTable edited(state.table.slot_bits(), state.table.owners(), std::move(places));
  const absl::Status status = CheckLevelled(edited, NodePtrsOf(state.nodes));
  if (status.ok()) return "";
  EXPECT_EQ(ReasonOf(status), kInvalidField) << status;
  return std::string(status.message());
}

TEST(CheckLevelled, AsksForExactShares) {
  const SlotState state = Levelled(10, 1, EqualNodes(3));
  const std::map<uint32_t, uint64_t> owned = state.Owned();
  const auto of_count = [&](uint64_t count) {
    return std::find_if(owned.begin(), owned.end(), [&](const auto& each) { return each.second == count; })->first;
  };
  // From one that owns a slot more than another to that one, and the other way.
  const uint32_t more = of_count(342);
  const uint32_t less = of_count(341);
  EXPECT_EQ(WhyNot(state, [](auto&) {}), "");
  EXPECT_EQ(WhyNot(state, [&](auto& places) { *std::find(places.begin(), places.end(), more) = less; }), "");
  EXPECT_THAT(WhyNot(state, [&](auto& places) { *std::find(places.begin(), places.end(), less) = more; }),
              testing::HasSubstr("341 or 342 of 1024 with weight 100 of 300"));
  const SlotState exact = Levelled(10, 1, EqualNodes(2));
  EXPECT_EQ(
      WhyNot(exact, [&](auto& places) { *std::find(places.begin(), places.end(), 1u) = 0; }),
      "the table is not levelled: node \"n100000\" owns 513 slots; it should own 512 of 1024 with weight 100 of 200");
}

TEST(CheckLevelled, AsksForAllMembersThatThereCanBe) {
  const auto first_without_rest = [](auto& places) { places[1] = kNobody; };
  EXPECT_EQ(WhyNot(Levelled(10, 2, EqualNodes(3)), first_without_rest),
            "the table is not levelled: slot 0 has 1 members, not 2");
  EXPECT_EQ(WhyNot(Levelled(10, 2, EqualNodes(1)), first_without_rest), "") << "there is no other node";
  // Nodes 0 and 2 are of one zone, 1 and 3 of the other.
  EXPECT_EQ(WhyNot(Levelled(10, 2, EqualNodes(4, 2)), [](auto& places) { places[1] = (places[0] + 2) % 4; }),
            "the table is not levelled: slot 0 has members from 1 zones, not 2");
}

TEST(CheckLevelled, GivesNodesWithoutWeightNothing) {
  SlotState state = Levelled(10, 2, EqualNodes(3));
  state.nodes = Reweighed(state.nodes, 2, 0);
  EXPECT_THAT(WhyNot(state, [](auto&) {}), testing::HasSubstr("has the member \"n100002\", whose weight is 0"));
  EXPECT_EQ(WhyNot(state.With(state.nodes), [](auto&) {}), "");
  const SlotState nobodys = state.With(EqualNodes(3, 1, 0));
  EXPECT_EQ(WhyNot(nobodys, [](auto&) {}), "");
  const SlotState weighted = [&] {
    SlotState changed = nobodys;
    changed.nodes = EqualNodes(3);
    return changed;
  }();
  EXPECT_THAT(WhyNot(weighted, [](auto&) {}), testing::HasSubstr("slot 0 has 0 members, not 2"));
}

}  // namespace
}  // namespace ringd::ring
