// SlotMoves: what a change moved in a slot table, as it is streamed and stored. Plain values and pure functions, for
// any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "ring/slot_table.h"

namespace ringd::ring {

// Slots whose places changed, in order, as runs of slots that had the same places and have the same places.
// Nodes before are told by their index before the change, nodes after by that after it.
struct SlotMoves {
  struct Run {
    uint32_t first = 0;
    uint32_t last = 0;  // included
    bool operator==(const Run&) const = default;
  };

  uint32_t owners = 1;  // places a slot has
  std::vector<Run> runs;
  std::vector<uint32_t> before;  // `owners` places for each run
  std::vector<uint32_t> after;

  std::span<const uint32_t> BeforeOf(size_t run) const { return PlacesOf(before, run); }
  std::span<const uint32_t> AfterOf(size_t run) const { return PlacesOf(after, run); }

  bool operator==(const SlotMoves&) const = default;

 private:
  std::span<const uint32_t> PlacesOf(std::span<const uint32_t> places, size_t run) const {
    return places.subspan(run * owners, owners);
  }
};

// What moved between two tables of one shape. `new_index` as in Level: a slot whose nodes only have other indices did
// not move.
SlotMoves MovesBetween(const SlotTable& before, std::span<const uint32_t> new_index, const SlotTable& after);

// The table over `node_count` nodes that the moves make of `before`. Reads no SlotMoves::before.
// INTERNAL: these are not moves of this table: another number of owners, runs out of order or beyond its end, a slot of
// a node that is gone and no run for it, or what CheckPlaces refuses.
absl::StatusOr<SlotTable> ApplyMoves(const SlotTable& before, std::span<const uint32_t> new_index, size_t node_count,
                                     const SlotMoves& moves);

}  // namespace ringd::ring
