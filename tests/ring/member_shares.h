// Of how many slots each node should be a member, found by bisection from the definition in slot_target.h: the oracle
// of what the leveller makes of it, which solves for lambda exactly.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "tests/ring/slot_history.h"

namespace ringd::ring {

inline std::set<uint32_t> WeightedZones(const SlotNodes& nodes) {
  std::set<uint32_t> zones;
  for (const auto& [id, node] : nodes) {
    if (node.weight > 0) zones.insert(node.zone);
  }
  return zones;
}

// How many members a slot has.
inline size_t MembersPerSlot(const SlotState& state) {
  const auto weighted =
      std::count_if(state.nodes.begin(), state.nodes.end(), [](const auto& entry) { return entry.second.weight > 0; });
  return std::min<size_t>(state.table.owners(), static_cast<size_t>(weighted));
}
inline uint64_t MemberCount(const SlotState& state) { return state.table.slot_count() * MembersPerSlot(state); }

// By id, the part of all slots at this lambda.
inline std::map<uint32_t, double> MemberParts(const SlotState& state, double lambda) {
  std::map<uint32_t, double> zone_weights;
  for (const auto& [id, node] : state.nodes) zone_weights[node.zone] += node.weight;
  const bool one_of_each_zone = MembersPerSlot(state) <= WeightedZones(state.nodes).size();
  std::map<uint32_t, double> parts;
  for (const auto& [id, node] : state.nodes) {
    if (node.weight == 0) {
      parts[id] = 0;
    } else if (one_of_each_zone) {
      parts[id] = node.weight * std::min(lambda, 1 / zone_weights[node.zone]);
    } else {
      parts[id] = std::min(1.0, node.weight * std::max(lambda, 1 / zone_weights[node.zone]));
    }
  }
  return parts;
}

// By how many memberships nodes are more than one off their shares, which are rounded down or up.
inline uint64_t OffTargets(const SlotState& state) {
  double low = 0;
  double high = 1;  // where all are in as many slots as they may
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    double sum = 0;
    for (const auto& [id, part] : MemberParts(state, middle)) sum += part;
    (sum < static_cast<double>(MembersPerSlot(state)) ? low : high) = middle;
  }
  constexpr double kError = 1e-6;  // of doubles
  std::map<uint32_t, uint64_t> memberships = state.Memberships();
  double off = 0;
  for (const auto& [id, part] : MemberParts(state, high)) {
    const double share = part * static_cast<double>(state.table.slot_count());
    const auto count = static_cast<double>(memberships.at(id));
    off += std::max({0.0, std::floor(share + kError) - count, count - std::ceil(share - kError)});
  }
  return static_cast<uint64_t>(off);
}

}  // namespace ringd::ring
