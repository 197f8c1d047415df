// The ranges of the circle that nodes own. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ring/ring.h"

namespace ringd::ring {

struct Range {
  uint64_t first = 0;
  uint64_t last = 0;  // included

  bool operator==(const Range&) const = default;
};

// The ranges that a node owns, in order of position, each as long as it can be, and one over the end of the circle as
// two: those that end at `from` or behind it, `max` at most. Cost: a walk over the points or slots until there are
// enough.
std::vector<Range> RangesOf(const Ring& ring, size_t node, uint64_t from, size_t max);

}  // namespace ringd::ring
