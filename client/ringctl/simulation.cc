#include "client/ringctl/simulation.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>

namespace ringd::ctl {

std::vector<std::string> LostNodes(const v1::GetRingResponse& ring, const SimulateOptions& options) {
  if (options.zone.empty()) return options.nodes;
  std::vector<std::string> ids;
  for (const v1::Node& node : ring.nodes()) {
    if (node.zone() == options.zone) ids.push_back(node.id());
  }
  return ids;
}

std::vector<Load> LoadsThen(const v1::GetRingResponse& ring, const v1::Plan& plan) {
  std::map<std::string_view, double> shares;
  for (const v1::Node& node : ring.nodes()) shares[node.id()] = node.share();
  std::vector<Load> loads;
  for (const v1::Node& node : plan.nodes()) {
    if (node.share() <= 0) continue;
    const double share = shares[node.id()];
    const double ratio = share > 0 ? node.share() / share : std::numeric_limits<double>::infinity();
    loads.push_back({.id = node.id(), .share = share, .share_then = node.share(), .ratio = ratio});
  }
  std::stable_sort(loads.begin(), loads.end(), [](const Load& a, const Load& b) { return a.ratio > b.ratio; });
  return loads;
}

}  // namespace ringd::ctl
