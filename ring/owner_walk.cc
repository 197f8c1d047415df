#include "ring/owner_walk.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace ringd::ring {
namespace {

constexpr size_t kShortWalk = 4'096;

}  // namespace

ZoneSpread::ZoneSpread(std::span<const NodePtr> nodes, const std::vector<bool>& have_points) {
  std::unordered_map<std::string_view, uint32_t> numbers;
  std::vector<size_t> owners;  // by zone number
  zones_.reserve(nodes.size());
  for (size_t i = 0; i < nodes.size(); ++i) {
    const uint32_t zone = numbers.try_emplace(nodes[i]->zone, static_cast<uint32_t>(numbers.size())).first->second;
    owners.resize(numbers.size());
    zones_.push_back(zone);
    if (!have_points[i]) continue;
    if (owners[zone] < kMaxOwners) ++zones_over_[owners[zone]];
    ++owners[zone];
    ++owners_;
  }
}

size_t ZoneSpread::Owners(const PointTable& points, uint64_t position, std::span<uint32_t> out) const {
  const size_t wanted = std::min(out.size(), owners_);
  if (wanted == 0) return 0;

  // The rank of a node is the number of nodes of its zone that the walk met before it; owners are in order of (rank,
  // walk). All nodes of the ranks below `full` find a place, and of that rank the first in the walk. So the place of
  // an owner is known when the walk meets it: next_place[rank].
  std::array<size_t, kMaxOwners + 1> next_place;
  size_t full = 0;
  next_place[0] = 0;
  while (next_place[full] < wanted && next_place[full] + zones_over_[full] <= wanted) {
    next_place[full + 1] = next_place[full] + zones_over_[full];
    ++full;
  }

  std::array<uint32_t, kMaxOwners> found_nodes;
  std::array<uint32_t, kMaxOwners> found_zones;
  const std::span<const Point> circle = points.points();
  size_t at = points.PointAt(position);
  size_t passed = 0;
  std::vector<bool> met;  // by node; of a long walk alone
  for (size_t found = 0; found < wanted; at = at + 1 < circle.size() ? at + 1 : 0) {
    const uint32_t node = circle[at].node();
    if (++passed > kShortWalk) {
      // Where few points belong to nodes that are wanted, a node's other points come by the thousand. What was not
      // taken once is not taken later: ranks and places only grow.
      if (met.empty()) {
        met.resize(zones_.size());
        for (size_t i = 0; i < found; ++i) met[found_nodes[i]] = true;
      }
      if (met[node]) continue;
      met[node] = true;
    } else if (std::count(found_nodes.begin(), found_nodes.begin() + found, node) != 0) {
      continue;
    }
    const uint32_t zone = zones_[node];
    const auto rank = static_cast<size_t>(std::count(found_zones.begin(), found_zones.begin() + found, zone));
    if (rank > full || next_place[rank] == wanted) continue;
    out[next_place[rank]++] = node;
    found_nodes[found] = node;
    found_zones[found] = zone;
    ++found;
  }
  return wanted;
}

}  // namespace ringd::ring
