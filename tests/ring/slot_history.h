// The vocabulary of the tests of slots: a table with its nodes by id, and what is counted of it by brute force, which
// shares no code with the leveller.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ring/node.h"
#include "ring/slot_leveller.h"
#include "ring/slot_table.h"

namespace ringd::ring {

using SlotNodes = std::map<uint32_t, SlotNode>;  // by id

// `count` nodes of ids 0, 1, ... and one weight, in zones 0, 1, ..., zones - 1, 0, ...
inline SlotNodes EqualNodes(uint32_t count, uint32_t zones = 1, uint32_t weight = 100) {
  SlotNodes nodes;
  for (uint32_t id = 0; id < count; ++id) nodes[id] = {.weight = weight, .zone = id % zones};
  return nodes;
}

inline std::vector<SlotNode> MembersOf(const SlotNodes& nodes) {
  std::vector<SlotNode> members;
  for (const auto& [id, member] : nodes) members.push_back(member);
  return members;
}

// The same as nodes of a ring, in the same order.
inline std::vector<NodePtr> NodePtrsOf(const SlotNodes& nodes) {
  constexpr uint32_t kAllOfOneLength = 100'000;
  std::vector<NodePtr> result;
  for (const auto& [id, member] : nodes) {
    Node node;
    node.id = "n" + std::to_string(kAllOfOneLength + id);
    node.weight = member.weight;
    node.zone = std::to_string(member.zone);
    result.push_back(std::make_shared<const Node>(std::move(node)));
  }
  return result;
}

// By index before, the index after.
inline std::vector<uint32_t> NewIndex(const SlotNodes& before, const SlotNodes& after) {
  std::vector<uint32_t> new_index;
  for (const auto& [id, member] : before) {
    const auto found = after.find(id);
    new_index.push_back(found == after.end() ? SlotTable::kNobody
                                             : static_cast<uint32_t>(std::distance(after.begin(), found)));
  }
  return new_index;
}

// By slot, the ids of its members in order of rank.
inline std::vector<std::vector<uint32_t>> IdsOf(const SlotTable& table, const SlotNodes& nodes) {
  std::vector<uint32_t> ids;
  for (const auto& [id, member] : nodes) ids.push_back(id);
  std::vector<std::vector<uint32_t>> slots(table.slot_count());
  for (size_t slot = 0; slot < slots.size(); ++slot) {
    for (const uint32_t node : table.PlacesOf(slot)) {
      if (node != SlotTable::kNobody) slots[slot].push_back(ids.at(node));
    }
  }
  return slots;
}

struct SlotState {
  explicit SlotState(uint32_t slot_bits, uint32_t owners) : table(slot_bits, owners) {}

  SlotState With(const SlotNodes& changed) const {
    SlotState next = *this;
    next.table = Level(table, NewIndex(nodes, changed), MembersOf(changed));
    next.nodes = changed;
    return next;
  }
  std::vector<std::vector<uint32_t>> Ids() const { return IdsOf(table, nodes); }
  // By id, how many slots a node owns.
  std::map<uint32_t, uint64_t> Owned() const {
    std::map<uint32_t, uint64_t> owned;
    for (const auto& [id, member] : nodes) owned[id] = 0;
    for (const std::vector<uint32_t>& ids : Ids()) {
      if (!ids.empty()) ++owned.at(ids.front());
    }
    return owned;
  }
  // By id, of how many slots a node is a member.
  std::map<uint32_t, uint64_t> Memberships() const {
    std::map<uint32_t, uint64_t> memberships;
    for (const auto& [id, member] : nodes) memberships[id] = 0;
    for (const std::vector<uint32_t>& ids : Ids()) {
      for (const uint32_t id : ids) ++memberships.at(id);
    }
    return memberships;
  }

  SlotNodes nodes;
  SlotTable table;
};

inline SlotState Levelled(uint32_t slot_bits, uint32_t owners, const SlotNodes& nodes) {
  return SlotState(slot_bits, owners).With(nodes);
}

// Slots whose owner is another one.
inline uint64_t MovedSlots(const SlotState& before, const SlotState& after) {
  const auto was = before.Ids();
  const auto is = after.Ids();
  uint64_t moved = 0;
  for (size_t slot = 0; slot < was.size(); ++slot) {
    const auto owner = [](const std::vector<uint32_t>& ids) { return ids.empty() ? -1 : int64_t{ids.front()}; };
    if (owner(was[slot]) != owner(is[slot])) ++moved;
  }
  return moved;
}

// Members of slots that were not members of them before.
inline uint64_t NewMembers(const SlotState& before, const SlotState& after) {
  const auto was = before.Ids();
  const auto is = after.Ids();
  uint64_t gained = 0;
  for (size_t slot = 0; slot < was.size(); ++slot) {
    for (const uint32_t id : is[slot]) {
      if (std::find(was[slot].begin(), was[slot].end(), id) == was[slot].end()) ++gained;
    }
  }
  return gained;
}

// The members that a slot had before and that are there now, with weight: they have its data.
inline std::vector<uint32_t> Survivors(const std::vector<uint32_t>& was, const SlotNodes& nodes) {
  std::vector<uint32_t> survivors;
  for (const uint32_t id : was) {
    const auto node = nodes.find(id);
    if (node != nodes.end() && node->second.weight > 0) survivors.push_back(id);
  }
  return survivors;
}

// Whether none of these survivors is a member now.
inline bool IsBereft(const std::vector<uint32_t>& is, const std::vector<uint32_t>& survivors) {
  return std::none_of(survivors.begin(), survivors.end(),
                      [&](uint32_t id) { return std::find(is.begin(), is.end(), id) != is.end(); });
}

// Slots that changed owner and have no member left that has the data, though there are nodes that have it.
inline uint64_t SlotsBereft(const SlotState& before, const SlotState& after) {
  const auto was = before.Ids();
  const auto is = after.Ids();
  uint64_t bereft = 0;
  for (size_t slot = 0; slot < was.size(); ++slot) {
    const std::vector<uint32_t> survivors = Survivors(was[slot], after.nodes);
    if (survivors.empty() || was[slot].front() == is[slot].front()) continue;
    if (IsBereft(is[slot], survivors)) ++bereft;
  }
  return bereft;
}

// The least number of slots that must change owner: the larger of what nodes have to give and what they have to take.
inline uint64_t LeastMoves(const SlotState& before, const SlotNodes& after) {
  const uint64_t slots = before.table.slot_count();
  uint64_t total = 0;
  for (const auto& [id, member] : after) total += member.weight;
  std::map<uint32_t, uint64_t> held = before.Owned();
  uint64_t losses = 0;
  uint64_t gains = 0;
  uint64_t owned = 0;
  for (const auto& [id, count] : held) {
    owned += count;
    if (!after.contains(id)) losses += count;
  }
  if (total > 0) losses += slots - owned;  // nobody's
  for (const auto& [id, member] : after) {
    const uint64_t has = held.contains(id) ? held[id] : 0;
    const uint64_t floor = total == 0 ? 0 : slots * member.weight / total;
    const uint64_t ceil = total == 0 ? 0 : (slots * member.weight + total - 1) / total;
    losses += has > ceil ? has - ceil : 0;
    gains += has < floor ? floor - has : 0;
  }
  return std::max(losses, gains);
}

}  // namespace ringd::ring
