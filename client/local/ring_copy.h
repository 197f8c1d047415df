// How a RingCopy is made of a ring.
#pragma once

#include <memory>
#include <vector>

#include "client/local/watch_machine.h"
#include "ringd/local_ring.h"

namespace ringd {

struct RingCopy::Parts {
  HeldRingPtr held;
  // In order of id, as the ring's.
  std::vector<std::shared_ptr<const Node>> nodes;
};

// A copy of `held`. It shares with `before`, which may be null, the nodes that are the same in both.
std::shared_ptr<const RingCopy> MakeCopy(HeldRingPtr held, const RingCopy* before);

}  // namespace ringd
