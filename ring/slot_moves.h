// SlotMoves: what a change moved in a slot table, as it is streamed and stored. Plain values and pure functions, for
// any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ring/node.h"
#include "ring/slot_table.h"

namespace ringd::ring {

// Slots whose places changed, in order, as runs of slots that had the same places and have the same places. A slot
// whose nodes only have other indices did not move.
struct SlotMoves {
  struct Run {
    uint32_t first = 0;
    uint32_t last = 0;  // included
    bool operator==(const Run&) const = default;
  };

  uint32_t owners = 1;             // places a slot has; the rest of those in the table are nobody's
  std::vector<std::string> nodes;  // ids of those that had or have one of the slots, in order
  std::vector<Run> runs;
  // `owners` places for each run: indices of `nodes`, or SlotTable::kNobody.
  std::vector<uint32_t> before;
  std::vector<uint32_t> after;

  std::span<const uint32_t> BeforeOf(size_t run) const { return PlacesOf(before, run); }
  std::span<const uint32_t> AfterOf(size_t run) const { return PlacesOf(after, run); }

  bool operator==(const SlotMoves&) const = default;

 private:
  std::span<const uint32_t> PlacesOf(std::span<const uint32_t> places, size_t run) const {
    return places.subspan(run * owners, owners);
  }
};

// Whether the moves can be those of a table of this shape: the text of the error says what is wrong.
// INTERNAL: more owners than the table has, lists of other lengths, runs out of order or beyond the end, or a place
// that is none of `nodes`.
absl::Status CheckMoves(uint32_t slot_bits, uint32_t owners, const SlotMoves& moves);

// What moved between two tables of one shape, each with its nodes in order of id. Cost: linear in slots.
SlotMoves MovesBetween(const SlotTable& before, std::span<const NodePtr> nodes_before, const SlotTable& after,
                       std::span<const NodePtr> nodes_after);

// The table over `nodes_after` that the moves make of `before`. Reads no SlotMoves::before.
// INTERNAL: these are not moves of this table: what CheckMoves and CheckPlaces refuse, a node that is not there after,
// or a slot of a node that is gone and no run for it.
absl::StatusOr<SlotTable> ApplyMoves(const SlotTable& before, std::span<const NodePtr> nodes_before,
                                     std::span<const NodePtr> nodes_after, const SlotMoves& moves);

// SlotRewind: undoes changes of a table, the newest first, and tells what leads from the table to where it got.
//
// A value for one thread.
class SlotRewind {
 public:
  SlotRewind(const SlotTable& now, std::span<const NodePtr> nodes);

  // REQUIRES the change before the one that was undone last. INTERNAL: these are no moves of such a table.
  absl::Status Undo(const SlotMoves& change);
  SlotMoves Moves() const;

 private:
  uint32_t NumberOf(const std::string& id);

  const uint32_t slot_bits_;
  const uint32_t owners_;
  std::vector<std::string> ids_;  // by number
  std::unordered_map<std::string, uint32_t> numbers_;
  std::vector<uint32_t> now_;  // places by number
  std::vector<uint32_t> then_;
};

}  // namespace ringd::ring
