// Laws of the slots placement over random histories of nodes. Seeds are fixed; a failure prints the seed and the step.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <vector>

#include "ring/slot_moves.h"
#include "tests/ring/member_shares.h"
#include "tests/ring/slot_history.h"

namespace ringd::ring {
namespace {

class History {
 public:
  explicit History(uint64_t seed)
      : random_(seed), state_{10 + Below(3), 1 + Below(8)}, zones_(1 + Below(6)), about_(About()) {}

  uint32_t Below(uint64_t bound) { return static_cast<uint32_t>(random_() % bound); }
  const SlotState& state() const { return state_; }

  uint32_t Weight() {
    switch (Below(8)) {
      case 0:
        return 0;
      case 1:
        return 1;
      case 2:
        return 65'535;
      case 3:
        return Below(65'536);
      default:
        return 90 + Below(20);
    }
  }
  SlotNode Node() { return {.weight = Weight(), .zone = Below(zones_)}; }
  uint32_t SomeId(const SlotNodes& nodes) {
    auto node = nodes.begin();
    std::advance(node, Below(nodes.size()));
    return node->first;
  }

  // The nodes after one to five operations, or a rare great change.
  SlotNodes Next() {
    SlotNodes nodes = state_.nodes;
    if (Below(15) == 0) {
      for (auto& [id, member] : nodes) member.weight = Weight();
    } else if (Below(25) == 0) {
      for (auto& [id, member] : nodes) member.weight = 0;
    } else if (Below(25) == 0) {
      nodes.clear();
    } else if (Below(40) == 0) {
      for (int i = 0; i < 2000; ++i) nodes[Below(10'000)] = Node();
    } else if (nodes.size() > 500) {
      while (nodes.size() > about_) nodes.erase(SomeId(nodes));
    }
    for (uint32_t i = 0, n = 1 + Below(5); i < n; ++i) {
      const uint32_t what = Below(6);
      if (Below(2 * about_) >= nodes.size()) {
        nodes[Below(10'000)] = Node();
      } else if (what < 2) {
        nodes.erase(SomeId(nodes));
      } else if (what == 2) {
        nodes[SomeId(nodes)].zone = Below(zones_);
      } else {
        nodes[SomeId(nodes)].weight = Weight();
      }
    }
    return nodes;
  }
  void Move(SlotState next) { state_ = std::move(next); }

 private:
  // Often few. A sum of its own, as the operands of one expression are in no order.
  uint32_t About() {
    const uint32_t scale = Below(3);
    return 1 + scale * Below(30);
  }

  std::mt19937_64 random_;
  SlotState state_;
  uint32_t zones_;
  uint32_t about_;
};

class Slots : public testing::TestWithParam<uint64_t> {
 protected:
  // Calls law(before, after) for each step of a random history.
  template <typename Law>
  void ForEachStep(Law law) {
    History history(GetParam());
    for (int step = 0; step < 40; ++step) {
      SCOPED_TRACE(testing::Message() << "seed " << GetParam() << " step " << step << " nodes "
                                      << history.state().nodes.size());
      const SlotState before = history.state();
      const SlotNodes nodes = history.Next();
      const SlotState after = before.With(nodes);
      law(before, after);
      if (HasFailure()) return;
      history.Move(after);
    }
  }
};

uint64_t TotalWeight(const SlotNodes& nodes) {
  uint64_t total = 0;
  for (const auto& [id, member] : nodes) total += member.weight;
  return total;
}

TEST_P(Slots, SharesAreExactRoundedDownOrUp) {
  ForEachStep([](const SlotState&, const SlotState& after) {
    const uint64_t total = TotalWeight(after.nodes);
    const uint64_t slots = after.table.slot_count();
    uint64_t sum = 0;
    for (const auto& [id, owned] : after.Owned()) {
      const uint64_t weight = after.nodes.at(id).weight;
      if (total > 0) {
        ASSERT_LT(owned * total, slots * weight + total) << id;
        ASSERT_LT(slots * weight, owned * total + total) << id;
      }
      sum += owned;
    }
    ASSERT_EQ(sum, total > 0 ? slots : 0);
    absl::uint128 arcs = 0;
    for (const absl::uint128 arc : SlotArcs(after.table, after.nodes.size())) arcs += arc;
    ASSERT_EQ(arcs, absl::MakeUint128(total > 0 ? 1 : 0, 0));
  });
}

TEST_P(Slots, NoMoreSlotsMoveThanMust) {
  ForEachStep([](const SlotState& before, const SlotState& after) {
    ASSERT_EQ(MovedSlots(before, after), LeastMoves(before, after.nodes));
  });
}

// What a change left off its targets, the next call may bring nearer: see Trade in later_ranks.h.
TEST_P(Slots, NothingChangedChangesNothingOfALevelTable) {
  ForEachStep([](const SlotState&, const SlotState& after) {
    const SlotState again = after.With(after.nodes);
    if (after.table.owners() == 1 || OffTargets(after) == 0) {
      ASSERT_TRUE(again.table == after.table);
    } else {
      ASSERT_EQ(MovedSlots(after, again), 0u);
      ASSERT_LE(OffTargets(again), OffTargets(after));
    }
  });
}

TEST_P(Slots, TheSameChangeGivesTheSameTable) {
  ForEachStep([](const SlotState& before, const SlotState& after) {
    ASSERT_TRUE(before.With(after.nodes).table == after.table);
  });
}

TEST_P(Slots, MembersAreDistinctWeightedAndFromAsManyZonesAsThereAre) {
  ForEachStep([](const SlotState&, const SlotState& after) {
    ASSERT_TRUE(
        CheckPlaces(after.table.slot_bits(), after.table.owners(), after.table.places(), after.nodes.size()).ok());
    std::set<uint32_t> zones;
    size_t weighted = 0;
    for (const auto& [id, member] : after.nodes) {
      if (member.weight == 0) continue;
      ++weighted;
      zones.insert(member.zone);
    }
    const size_t wanted = std::min<size_t>(weighted, after.table.owners());
    for (const std::vector<uint32_t>& ids : after.Ids()) {
      ASSERT_EQ(ids.size(), wanted);
      std::set<uint32_t> met;
      for (const uint32_t id : ids) {
        met.insert(after.nodes.at(id).zone);
        ASSERT_GT(after.nodes.at(id).weight, 0u);
      }
      ASSERT_EQ(met.size(), std::min(wanted, zones.size()));
    }
  });
}

// So every ring can be imported from what it is.
TEST_P(Slots, EveryTableOfAHistoryIsLevelled) {
  ForEachStep([](const SlotState&, const SlotState& after) {
    const absl::Status levelled = CheckLevelled(after.table, NodePtrsOf(after.nodes));
    ASSERT_TRUE(levelled.ok()) << levelled;
  });
}

// A member that a slot's new owner was preferred to took all that it needed from slots that it was a member of: it had
// no room for this one.
TEST_P(Slots, ALostOwnersPlaceGoesToTheNextMemberWhereItsQuotaHasRoom) {
  ForEachStep([](const SlotState& before, const SlotState& after) {
    const auto was = before.Ids();
    const auto is = after.Ids();
    std::set<uint32_t> took_elsewhere;
    for (size_t slot = 0; slot < was.size(); ++slot) {
      if (is[slot].empty()) continue;
      const uint32_t owner = is[slot].front();
      if (std::find(was[slot].begin(), was[slot].end(), owner) == was[slot].end()) took_elsewhere.insert(owner);
    }
    for (size_t slot = 0; slot < was.size(); ++slot) {
      if (is[slot].empty()) continue;
      const auto owner = std::find(was[slot].begin(), was[slot].end(), is[slot].front());
      for (auto passed = was[slot].begin(); passed != owner; ++passed) {
        ASSERT_FALSE(took_elsewhere.contains(*passed)) << "node " << *passed << ", slot " << slot;
      }
    }
  });
}

// Where places do not suffice: a slot has but one member, or it has one of each zone and the new owner, the one that
// quotas left, is of the zone of all that have the data.
TEST_P(Slots, ASlotWhoseOwnerIsLostKeepsAMemberWhereItHadOne) {
  ForEachStep([](const SlotState& before, const SlotState& after) {
    const size_t zones = WeightedZones(after.nodes).size();
    const auto was = before.Ids();
    const auto is = after.Ids();
    for (size_t slot = 0; slot < was.size(); ++slot) {
      const std::vector<uint32_t> survivors = Survivors(was[slot], after.nodes);
      if (survivors.empty() || survivors.front() == was[slot].front()) continue;
      if (!IsBereft(is[slot], survivors) || is[slot].size() == 1) continue;
      ASSERT_LE(is[slot].size(), zones) << "slot " << slot;
      const uint32_t zone = after.nodes.at(is[slot].front()).zone;
      for (const uint32_t id : survivors)
        ASSERT_EQ(after.nodes.at(id).zone, zone) << "node " << id << ", slot " << slot;
    }
  });
}

// But for slots whose lost owner was followed by a node from outside: each keeps a second that has the data.
TEST_P(Slots, MembersAreLevel) {
  ForEachStep([](const SlotState& before, const SlotState& after) {
    if (after.table.owners() == 1) return;
    const auto was = before.Ids();
    const auto is = after.Ids();
    uint64_t kept = 0;
    for (size_t slot = 0; slot < was.size(); ++slot) {
      const std::vector<uint32_t> survivors = Survivors(was[slot], after.nodes);
      if (survivors.empty() || survivors.front() == was[slot].front()) continue;
      if (std::find(survivors.begin(), survivors.end(), is[slot].front()) == survivors.end()) ++kept;
    }
    // One in twenty; most are within a thousandth.
    ASSERT_LE(OffTargets(after) * 20, MemberCount(after) + 40 * kept) << "memberships off their targets";
  });
}

TEST_P(Slots, MovesLeadFromTableToTable) {
  ForEachStep([](const SlotState& before, const SlotState& after) {
    const SlotMoves moves = MovesBetween(before.table, NodePtrsOf(before.nodes), after.table, NodePtrsOf(after.nodes));
    const absl::StatusOr<SlotTable> applied =
        ApplyMoves(before.table, NodePtrsOf(before.nodes), NodePtrsOf(after.nodes), moves);
    ASSERT_TRUE(applied.ok()) << applied.status();
    ASSERT_TRUE(*applied == after.table);
  });
}

INSTANTIATE_TEST_SUITE_P(Seeds, Slots, testing::Range<uint64_t>(1, 21));

}  // namespace
}  // namespace ringd::ring
