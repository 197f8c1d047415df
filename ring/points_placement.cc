#include "ring/points_placement.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <string>

#include "ring/error.h"

namespace ringd::ring {

absl::Status CheckPointsPlacement(const PointsSettings& settings) {
  const uint64_t last = settings.last_position;
  // Else the circle of 2^64 positions that it is laid on would leave a part over that shows in shares.
  const bool shares_are_exact = last <= UINT32_MAX || std::has_single_bit(last + 1) || last == UINT64_MAX;
  if (last < 1 || !shares_are_exact) {
    return InvalidField("last_position is " + std::to_string(last) +
                        ", it must be 1..4294967295, or one less than a power of two");
  }
  return CheckRules(settings.match, settings.tie_rule);
}

absl::Status CheckNodePoints(const PointsSettings& settings, const Node& node) {
  const auto wrong = [&](uint64_t point, const std::string& what) {
    return InvalidField("point " + std::to_string(point) + " of node " + Quote(node.id) + " " + what);
  };
  const auto at = std::adjacent_find(node.points.begin(), node.points.end(), std::greater_equal<>());
  if (at != node.points.end()) return wrong(at[1], at[0] == at[1] ? "comes twice" : "is out of order");
  if (!node.points.empty() && node.points.back() > settings.last_position) {
    return wrong(node.points.back(), "is beyond the circle's last position, " + std::to_string(settings.last_position));
  }
  return absl::OkStatus();
}

}  // namespace ringd::ring
