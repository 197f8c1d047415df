// The points placement: nodes have points of their own, as another program has placed them on a circle of its own. Its
// settings, and what it asks of a node. Pure functions, any thread.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "ring/hashed_placement.h"
#include "ring/node.h"

namespace ringd::ring {

struct PointsSettings {
  uint64_t last_position = UINT64_MAX;  // positions of points and lookups are 0..last_position
  PointMatch match = PointMatch::kAtOrAfter;
  TieRule tie_rule = TieRule::kNodeId;

  bool operator==(const PointsSettings&) const = default;
};

// INVALID_ARGUMENT: NOT_SERVED_YET for a number that this build does not know, INVALID_FIELD for a last position of 0,
// or one above 2^32 - 1 that is not one less than a power of two.
absl::Status CheckPointsPlacement(const PointsSettings& settings);

// INVALID_ARGUMENT for points out of order, one that comes twice or lies beyond the circle. Cost: linear in the points.
absl::Status CheckNodePoints(const PointsSettings& settings, const Node& node);

}  // namespace ringd::ring
