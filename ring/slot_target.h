// How many slots each node should own, and of how many it should be a member. Integers alone: the same on every
// machine. Pure functions, for any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ring/node.h"

namespace ringd::ring {

// A node as far as its slots depend on it.
struct SlotNode {
  uint32_t weight = 0;
  // Nodes of one zone have one number, and those without a zone share one too. Numbers count from 0, so the largest is
  // small. Which number a zone has does not matter, only who shares it.
  uint32_t zone = 0;
};

// Nodes of a ring as what they are to its slots, in the same order.
std::vector<SlotNode> MembersOf(std::span<const NodePtr> nodes);

// What the members of each slot have in common.
struct SlotSpread {
  size_t members = 0;  // how many a slot has: `owners`, or all nodes of weight > 0 where they are fewer
  size_t zones = 0;    // from how many zones they come: one each, or all zones with a node of weight > 0
};
SlotSpread SpreadOf(size_t owners, std::span<const SlotNode> members);

// How many slots each node owns: its exact weighted share, rounded down or up. They sum to `slots`, or to 0 where no
// node has weight. `held` is how many each owns now; who is rounded up is chosen so that the fewest slots change owner,
// then by the larger remainder, then by index.
std::vector<uint32_t> OwnerQuotas(size_t slots, std::span<const SlotNode> members, std::span<const uint32_t> held);

// Of how many slots a node should be a member (its own among them): an exact share, rounded down and up.
struct MemberTarget {
  uint32_t least = 0;
  uint32_t most = 0;
};

// Shares are in proportion to weight as far as the spread allows. With zones enough for all members of a slot (no two
// from one zone) a node of weight w in a zone of weight W has slots * w * min(lambda, 1 / W); otherwise (no zone
// missing in a slot) slots * min(1, w * max(lambda, 1 / W)). Lambda is what makes the shares sum to slots *
// spread.members. REQUIRES the spread to be that of `members`. Cost: a sort of the nodes.
std::vector<MemberTarget> MemberTargets(size_t slots, const SlotSpread& spread, std::span<const SlotNode> members);

}  // namespace ringd::ring
