// What a node of a ring asks of its copy, so as to move its own data: which ranges of the circle it owns, and which
// ones a change gave it or took from it. Pure functions, for any thread; they neither call the directory nor wait.
//
// A range is in values of the ring's hash function, as in the directory's ListRanges and DiffVersions, whatever the
// placement: in a ring of slots it ends where a slot does, in redis-cluster values are slots, and in a ring of
// PointsPlacement they are the positions that callers bring. HashOf tells the value of a key. A range over the end of
// the circle is told as two. What owns is the first owner alone.
//
// Performance: all but HashOf walk over the ring's points or slots, microseconds to milliseconds: for after a change,
// not for each request.
//
// Example, of a node that has taken part up to `before`:
//   std::shared_ptr<const ringd::RingCopy> after = ring->Copy();
//   auto moves = ringd::GainedAndLost(*before, *after, "n1");
//   if (!moves.ok()) return StartOver(ringd::OwnedRanges(*after, "n1"));
//   for (const ringd::MovedRange& range : moves->gained) Fetch(range.first, range.last, range.from);
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ringd/local_ring.h"
#include "ringd/types.h"

namespace ringd {

// A part of the circle.
struct KeyRange {
  uint64_t first = 0;
  uint64_t last = 0;  // included

  bool operator==(const KeyRange&) const = default;
};

// Where a key lies: the value that ranges are told in, and Lookup's `hash`. Nothing for a key that the ring cannot
// place (see RingCopy::Owner).
std::optional<uint64_t> HashOf(const RingCopy& copy, std::string_view key);

// The ranges that a node owns, in order, each as long as it can be. None for a node that the ring does not have, or
// whose weight is 0.
// Cost: linear in points or slots of the ring; 16 bytes a range, of which there is at most one more than the node has
// points.
std::vector<KeyRange> OwnedRanges(const RingCopy& copy, std::string_view node_id);

// Calls `visit` with each range whose owner differs between two copies of one ring, in order, each as long as it can
// be. `before` may be the later one: then it tells the way back.
//
// A range at a time, not all in one list: when a large ring is set up anew there may be millions of them, which a
// node does not need at once. The value that is visited is good for the call alone.
// FAILED_PRECONDITION, and nothing is visited, where the copies have different placements: the ring was deleted and
// made anew as another one, values of which say nothing of those before. Cost: n log n in points of the nodes that
// differ, a walk over all points or slots where many do; 8 bytes of memory a point.
absl::Status ForEachMovedRange(const RingCopy& before, const RingCopy& after,
                               const std::function<void(const MovedRange&)>& visit);

// What one node got and gave between two copies, each in order of position.
struct NodeMoves {
  std::vector<MovedRange> gained;  // its `to` is the node, and `from` who has the data, if anybody
  std::vector<MovedRange> lost;    // its `from` is the node, and `to` who takes the data over, if anybody

  bool operator==(const NodeMoves&) const = default;
};

// Those of ForEachMovedRange that are from or to the node; errors and cost are the same. A node may be in one copy, in
// both, or in none.
absl::StatusOr<NodeMoves> GainedAndLost(const RingCopy& before, const RingCopy& after, std::string_view node_id);

}  // namespace ringd
