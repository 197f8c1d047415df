// What moves between two rings: exact parts of the circle, never sampled. Pure functions, for any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "ring/node.h"
#include "ring/ring.h"

namespace ringd::ring {

// A part of the circle whose first owner differs. The nodes are those of the two rings, and live as long.
struct MovedRange {
  uint64_t first = 0;
  uint64_t last = 0;           // included
  const Node* from = nullptr;  // null = nobody
  const Node* to = nullptr;    // null = nobody
};

// Calls `visit` with what moves from `before` to `after`, in order of position, each range as long as it can be. One
// over the end of the circle comes as two. Both rings must have the same settings of placement.
// Cost: linear in nodes, n log n in points of those that differ; where many do, or none stands alone, linear in all.
void ForEachMovedRange(const Ring& before, const Ring& after, absl::FunctionRef<void(const MovedRange&)> visit);

// What one node gave to another; an empty id is nobody's.
struct MovedPair {
  std::string from;
  std::string to;
  double share = 0;  // of the circle, 0..1

  bool operator==(const MovedPair&) const = default;
};

// Shares are summed exactly, and rounded once.
struct Movement {
  static constexpr size_t kMaxPairs = 1'000;

  double moved_share = 0;        // from one node to another; what nobody had or nobody has is not in it
  std::vector<MovedPair> pairs;  // the largest first
  double other_pairs_share = 0;  // of the pairs beyond kMaxPairs
  // Where slots keep several owners: what came to nodes that were not among its owners before, each node counted.
  double new_members_share = 0;
  Balance balance_before;
  Balance balance_after;

  bool operator==(const Movement&) const = default;
};

// See ForEachMovedRange for what is asked of the rings, and the cost.
Movement Compare(const Ring& before, const Ring& after);

}  // namespace ringd::ring
