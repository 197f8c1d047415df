#include "ring/ranges.h"

#include <span>

#include "ring/slot_table.h"

namespace ringd::ring {

namespace {

std::vector<Range> SlotRangesOf(const SlotTable& table, size_t node, uint64_t from, size_t max) {
  std::vector<Range> ranges;
  const auto owns = [&](size_t slot) { return table.PlacesOf(slot).front() == node; };
  size_t slot = table.SlotOf(from);
  while (slot > 0 && owns(slot) && owns(slot - 1)) --slot;
  for (; slot < table.slot_count(); ++slot) {
    if (!owns(slot)) continue;
    if (!ranges.empty() && ranges.back().last + 1 == table.FirstOf(slot)) {
      ranges.back().last = table.LastOf(slot);
    } else if (ranges.size() < max) {
      ranges.push_back({table.FirstOf(slot), table.LastOf(slot)});
    } else {
      break;
    }
  }
  return ranges;
}

}  // namespace

std::vector<Range> RangesOf(const Ring& ring, size_t node, uint64_t from, size_t max) {
  if (ring.slots() != nullptr) return SlotRangesOf(*ring.slots(), node, from, max);
  const std::span<const Point> points = ring.points().points();
  std::vector<Range> ranges;
  if (points.empty()) return ranges;
  // Whether it is of use to look on: a range may still grow when there are enough.
  const auto put = [&](uint64_t first, uint64_t last) {
    if (!ranges.empty() && ranges.back().last + 1 == first) {
      ranges.back().last = last;
    } else if (ranges.size() < max) {
      ranges.push_back({first, last});
    } else {
      return false;
    }
    return true;
  };
  size_t start = ring.points().FirstAtOrAfter(from);
  // A position in the middle of a range of this node's finds the beginning of it. Of points that share a position, the
  // first is the one that owns.
  while (start > 0 && ring.Owner(from) == node) {
    size_t previous = start - 1;
    while (previous > 0 && points[previous - 1].position() == points[previous].position()) --previous;
    if (points[previous].node() != node) break;
    start = previous;
  }
  uint64_t next = start == 0 ? 0 : points[start - 1].position() + 1;
  for (size_t i = start; i < points.size(); ++i) {
    const bool shared = i > 0 && points[i - 1].position() == points[i].position();
    if (!shared && points[i].node() == node && !put(next, points[i].position())) return ranges;
    next = points[i].position() + 1;
  }
  if (points.back().position() != UINT64_MAX && points.front().node() == node) put(next, UINT64_MAX);
  return ranges;
}

}  // namespace ringd::ring
