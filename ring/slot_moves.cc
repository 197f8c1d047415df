#include "ring/slot_moves.h"

#include <algorithm>
#include <string>
#include <utility>

namespace ringd::ring {
namespace {

uint32_t Renumbered(uint32_t node, std::span<const uint32_t> new_index) {
  return node == SlotTable::kNobody ? SlotTable::kNobody : new_index[node];
}

// A place whose node is gone is nobody's by its new index, and so is one that nobody had; only the first moved.
bool IsSame(uint32_t before, std::span<const uint32_t> new_index, uint32_t after) {
  if (after == SlotTable::kNobody) return before == SlotTable::kNobody;
  return Renumbered(before, new_index) == after;
}

void Append(std::vector<uint32_t>& places, std::span<const uint32_t> more) {
  places.insert(places.end(), more.begin(), more.end());
}

absl::Status CheckRuns(const SlotTable& before, const SlotMoves& moves) {
  if (moves.owners != before.owners() || moves.after.size() != moves.runs.size() * moves.owners) {
    return absl::InternalError("slot moves of " + std::to_string(moves.owners) + " owners with " +
                               std::to_string(moves.after.size()) + " places for " + std::to_string(moves.runs.size()) +
                               " runs, in a table of " + std::to_string(before.owners()) + " owners");
  }
  uint64_t next = 0;
  for (const SlotMoves::Run& run : moves.runs) {
    if (run.first < next || run.last < run.first || run.last >= before.slot_count()) {
      return absl::InternalError("slots " + std::to_string(run.first) + ".." + std::to_string(run.last) +
                                 " are out of order, or out of 0.." + std::to_string(before.slot_count() - 1));
    }
    next = uint64_t{run.last} + 1;
  }
  return absl::OkStatus();
}

}  // namespace

SlotMoves MovesBetween(const SlotTable& before, std::span<const uint32_t> new_index, const SlotTable& after) {
  SlotMoves moves;
  moves.owners = before.owners();
  const auto is_same = [&](uint32_t old, uint32_t now) { return IsSame(old, new_index, now); };
  for (uint32_t slot = 0; slot < before.slot_count(); ++slot) {
    const std::span<const uint32_t> was = before.OwnersOf(slot);
    const std::span<const uint32_t> is = after.OwnersOf(slot);
    if (std::equal(was.begin(), was.end(), is.begin(), is_same)) continue;
    if (!moves.runs.empty() && moves.runs.back().last + 1 == slot) {
      const size_t last = moves.runs.size() - 1;
      if (std::ranges::equal(moves.BeforeOf(last), was) && std::ranges::equal(moves.AfterOf(last), is)) {
        moves.runs.back().last = slot;
        continue;
      }
    }
    moves.runs.push_back({.first = slot, .last = slot});
    Append(moves.before, was);
    Append(moves.after, is);
  }
  return moves;
}

absl::StatusOr<SlotTable> ApplyMoves(const SlotTable& before, std::span<const uint32_t> new_index, size_t node_count,
                                     const SlotMoves& moves) {
  if (absl::Status runs = CheckRuns(before, moves); !runs.ok()) return runs;
  std::vector<uint32_t> places(before.places().begin(), before.places().end());
  const auto renumber = [&](size_t first, size_t end) {
    for (size_t place = first * moves.owners; place < end * moves.owners; ++place) {
      const uint32_t now = Renumbered(places[place], new_index);
      if (now == SlotTable::kNobody && places[place] != now) return false;
      places[place] = now;
    }
    return true;
  };
  size_t slot = 0;
  for (size_t i = 0; i <= moves.runs.size(); ++i) {
    const bool at_end = i == moves.runs.size();
    if (!renumber(slot, at_end ? before.slot_count() : moves.runs[i].first)) {
      return absl::InternalError("slots of a node that is gone did not move");
    }
    if (at_end) break;
    for (slot = moves.runs[i].first; slot <= moves.runs[i].last; ++slot) {
      std::ranges::copy(moves.AfterOf(i), places.begin() + static_cast<std::ptrdiff_t>(slot * moves.owners));
    }
  }
  if (absl::Status check = CheckPlaces(before.slot_bits(), before.owners(), places, node_count); !check.ok()) {
    return check;
  }
  return SlotTable(before.slot_bits(), before.owners(), std::move(places));
}

}  // namespace ringd::ring
