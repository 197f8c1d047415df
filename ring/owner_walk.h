// ZoneSpread: the ordered owners of a position, spread over zones.
//
// Threads: const members from any number of threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ring/hashed_placement.h"
#include "ring/node.h"

namespace ringd::ring {

// How many owners may be asked for.
inline constexpr size_t kMaxOwners = 64;

class ZoneSpread {
 public:
  ZoneSpread() = default;
  // REQUIRES nodes in order of id, and for each whether it has a point. Keeps nothing of them but their zones, as
  // numbers.
  ZoneSpread(std::span<const NodePtr> nodes, const std::vector<bool>& have_points);

  // How many nodes have a point, and so can be owners.
  size_t owners() const { return owners_; }

  // See Ring::Owners. REQUIRES `points` to be those of the nodes that this was made of. Cost: a walk round the circle
  // until enough owners are found, so it can be long where few points belong to nodes of a zone that is still owed a
  // place: a nanosecond or two a point. No allocation on the first 4,096 points.
  size_t Owners(const PointTable& points, uint64_t position, std::span<uint32_t> out) const;

 private:
  std::vector<uint32_t> zones_;  // number of the zone, by node
  // [r]: how many zones have more than r nodes with a point, which is how many owners have r owners of their own
  // zone before them when all nodes are asked for.
  std::array<uint32_t, kMaxOwners> zones_over_{};
  size_t owners_ = 0;
};

}  // namespace ringd::ring
