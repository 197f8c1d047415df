#pragma once

#include <string>
#include <vector>

#include "client/ringctl/options.h"
#include "ringd/v1/directory.pb.h"

namespace ringd::ctl {

// What would be if nodes of a ring were lost. Pure functions.

// LostNodes are the nodes that `options` name, of those of the ring: those of its zone, or the ids as they are.
std::vector<std::string> LostNodes(const v1::GetRingResponse& ring, const SimulateOptions& options);

// Load is what a node that is left owns, and what it would own.
struct Load {
  std::string id;
  double share = 0;
  double share_then = 0;
  double ratio = 0;  // share_then / share; infinite where it owns nothing now

  bool operator==(const Load&) const = default;
};

// LoadsThen are those of all nodes that would own something, the one that would grow most first. `plan` is the ring
// without the nodes that are lost.
std::vector<Load> LoadsThen(const v1::GetRingResponse& ring, const v1::Plan& plan);

}  // namespace ringd::ctl
