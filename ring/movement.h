// What moves between two rings: exact parts of the circle, never sampled. Pure functions, for any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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

// What moves from one ring to another, a range at a time, for those who cannot take all at once.
//
// Threads: one. Holds on to both rings, so that the nodes of its ranges live as long.
class MovedRanges {
 public:
  // Both rings must have the same settings of placement.
  // Cost: n log n in points of nodes that differ; where many do, or none stands alone, linear in all. So are 8 bytes of
  // memory a point.
  MovedRanges(Ring before, Ring after);

  // The next range in order of position, as long as it can be; one over the end of the circle comes as two. Nothing:
  // that was all.
  std::optional<MovedRange> Next();

 private:
  // The next one that is not joined yet with those that touch it.
  std::optional<MovedRange> NextPiece();

  const Ring before_;
  const Ring after_;
  const std::vector<uint64_t> ends_;  // where ranges end that may move, in order
  size_t at_ = 0;                     // in ends_
  std::optional<MovedRange> beyond_last_point_;
  std::optional<MovedRange> piece_;  // was read, and did not go with the range before it
};

// Calls `visit` with all of MovedRanges.
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

// See MovedRanges for what is asked of the rings, and the cost.
Movement Compare(const Ring& before, const Ring& after);

}  // namespace ringd::ring
