#include "ring/movement.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/numeric/int128.h"
#include "ring/slot_moves.h"
#include "ring/slot_table.h"

namespace ringd::ring {
namespace {

constexpr size_t kManyNodes = 100;

double ShareOf(absl::uint128 arc) { return std::ldexp(static_cast<double>(arc), -64); }

// Calls `visit` with each node that is not the same in both rings, as it was and as it is; null where it is not there.
void ForEachChangedNode(const Ring& before, const Ring& after,
                        absl::FunctionRef<void(const Node* old, const Node* now)> visit) {
  const bool joins_matter = NodeOrderOf(before.settings().placement) != NodeOrder::kById;
  const auto have_same_points = [&](const Node& a, const Node& b) {
    return a.hash_key == b.hash_key && a.weight == b.weight && a.points == b.points &&
           (!joins_matter || a.join_number == b.join_number);
  };
  const std::vector<NodePtr>& old = before.table()->nodes;
  const std::vector<NodePtr>& now = after.table()->nodes;
  for (size_t i = 0, j = 0; i < old.size() || j < now.size();) {
    const bool gone = j == now.size() || (i < old.size() && old[i]->id < now[j]->id);
    const bool added = i == old.size() || (j < now.size() && now[j]->id < old[i]->id);
    if (gone || added || (old[i] != now[j] && !have_same_points(*old[i], *now[j]))) {
      visit(added ? nullptr : old[i].get(), gone ? nullptr : now[j].get());
    }
    i += added ? 0 : 1;
    j += gone ? 0 : 1;
  }
}

// The positions of all points of both rings, in order.
std::vector<uint64_t> AllPositions(const Ring& before, const Ring& after) {
  std::vector<uint64_t> positions;
  positions.reserve(before.point_count() + after.point_count());
  const std::span<const Point> a = before.points().points();
  const std::span<const Point> b = after.points().points();
  for (size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    const bool first = j == b.size() || (i < a.size() && a[i].position() < b[j].position());
    positions.push_back(first ? a[i++].position() : b[j++].position());
  }
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  return positions;
}

std::vector<uint64_t> SlotEnds(const SlotTable& table) {
  std::vector<uint64_t> ends(table.slot_count());
  for (size_t slot = 0; slot < ends.size(); ++slot) ends[slot] = table.LastOf(slot);
  return ends;
}

// Where the ranges end that may move, in order.
std::vector<uint64_t> ChangedPositions(const Ring& before, const Ring& after) {
  if (before.slots() != nullptr)
    return before.slots() == after.slots() ? std::vector<uint64_t>() : SlotEnds(*before.slots());
  if (&before.points() == &after.points()) return {};
  const Placement& placement = before.settings().placement;
  if (!PointsStandAlone(placement)) return AllPositions(before, after);
  size_t changed = 0;
  ForEachChangedNode(before, after, [&](const Node*, const Node*) { ++changed; });
  // To look at every point is less work then than to make so many anew.
  if (changed > kManyNodes && changed > (before.node_count() + after.node_count()) / 16) {
    return AllPositions(before, after);
  }
  std::vector<Point> points;
  ForEachChangedNode(before, after, [&](const Node* old, const Node* now) {
    if (old != nullptr) AppendPointsOf(placement, *old, 0, points);
    if (now != nullptr) AppendPointsOf(placement, *now, 0, points);
  });
  std::vector<uint64_t> positions;
  positions.reserve(points.size());
  for (const Point& point : points) positions.push_back(point.position());
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  return positions;
}

const Node* OwnerOf(const Ring& ring, uint64_t position) {
  return ring.HasOwners() ? &ring.node(ring.Owner(position)) : nullptr;
}

// The last point of either ring before a position; where there is none, the last point of all, which is not below it.
uint64_t PointBefore(const Ring& before, const Ring& after, uint64_t position) {
  if (!before.HasOwners()) return after.points().PositionBefore(position);
  if (!after.HasOwners()) return before.points().PositionBefore(position);
  const uint64_t a = before.points().PositionBefore(position);
  const uint64_t b = after.points().PositionBefore(position);
  return (a < position) == (b < position) ? std::max(a, b) : std::min(a, b);
}

double NewMembersShare(const Ring& before, const Ring& after) {
  if (before.slots() == nullptr || before.slots()->owners() == 1 || !before.HasOwners()) return 0;
  const SlotMoves moves = MovesBetween(*before.slots(), before.table()->nodes, *after.slots(), after.table()->nodes);
  uint64_t members = 0;
  for (size_t run = 0; run < moves.runs.size(); ++run) {
    const std::span<const uint32_t> was = moves.BeforeOf(run);
    const auto is_new = [&](uint32_t node) {
      return node != SlotTable::kNobody && std::find(was.begin(), was.end(), node) == was.end();
    };
    const std::span<const uint32_t> is = moves.AfterOf(run);
    const auto slots = uint64_t{moves.runs[run].last} - moves.runs[run].first + 1;
    members += slots * static_cast<uint64_t>(std::count_if(is.begin(), is.end(), is_new));
  }
  return static_cast<double>(members) / static_cast<double>(before.slots()->slot_count());
}

}  // namespace

MovedRanges::MovedRanges(Ring before, Ring after)
    : before_(std::move(before)), after_(std::move(after)), ends_(ChangedPositions(before_, after_)) {}

std::optional<MovedRange> MovedRanges::NextPiece() {
  while (at_ < ends_.size()) {
    const uint64_t end = ends_[at_++];
    const Node* from = OwnerOf(before_, end);
    const Node* to = OwnerOf(after_, end);
    if (from == to || (from != nullptr && to != nullptr && from->id == to->id)) continue;
    if (before_.slots() != nullptr) {
      const SlotTable& table = *before_.slots();
      return MovedRange{.first = table.FirstOf(table.SlotOf(end)), .last = end, .from = from, .to = to};
    }
    const uint64_t previous = PointBefore(before_, after_, end);
    const bool over_the_end = previous >= end;
    if (over_the_end && previous != UINT64_MAX) {
      beyond_last_point_ = {.first = previous + 1, .last = UINT64_MAX, .from = from, .to = to};
    }
    return MovedRange{.first = over_the_end ? 0 : previous + 1, .last = end, .from = from, .to = to};
  }
  return std::exchange(beyond_last_point_, std::nullopt);
}

std::optional<MovedRange> MovedRanges::Next() {
  std::optional<MovedRange> range = piece_ ? std::exchange(piece_, std::nullopt) : NextPiece();
  if (!range) return std::nullopt;
  while ((piece_ = NextPiece())) {
    if (range->last + 1 != piece_->first || range->from != piece_->from || range->to != piece_->to) break;
    range->last = piece_->last;
  }
  return range;
}

void ForEachMovedRange(const Ring& before, const Ring& after, absl::FunctionRef<void(const MovedRange&)> visit) {
  MovedRanges ranges(before, after);
  while (const std::optional<MovedRange> range = ranges.Next()) visit(*range);
}

Movement Compare(const Ring& before, const Ring& after) {
  using Pairs = absl::flat_hash_map<std::pair<const Node*, const Node*>, absl::uint128>;
  Pairs arcs;
  // From nobody, or to nobody, is what the nodes of the other ring own.
  const auto take_all = [&arcs](const NodeTable& table, auto pair_of) {
    for (size_t i = 0; i < table.nodes.size(); ++i) {
      if (table.arcs[i] != 0) arcs[pair_of(table.nodes[i].get())] = table.arcs[i];
    }
  };
  const Node* const nobody = nullptr;
  if (!before.HasOwners()) {
    take_all(*after.table(), [=](const Node* node) { return std::pair(nobody, node); });
  } else if (!after.HasOwners()) {
    take_all(*before.table(), [=](const Node* node) { return std::pair(node, nobody); });
  } else {
    ForEachMovedRange(before, after, [&](const MovedRange& range) {
      arcs[{range.from, range.to}] += absl::uint128(range.last) - range.first + 1;
    });
  }

  struct Pair {
    absl::uint128 arc;
    const Node* from;
    const Node* to;
  };
  std::vector<Pair> pairs;
  absl::uint128 moved = 0;
  for (const auto& [nodes, arc] : arcs) {
    pairs.push_back({arc, nodes.first, nodes.second});
    if (nodes.first != nullptr && nodes.second != nullptr) moved += arc;
  }
  const auto id = [](const Node* node) { return node == nullptr ? std::string_view() : std::string_view(node->id); };
  std::sort(pairs.begin(), pairs.end(), [&](const Pair& a, const Pair& b) {
    return std::tuple(b.arc, id(a.from), id(a.to)) < std::tuple(a.arc, id(b.from), id(b.to));
  });

  Movement movement{.moved_share = ShareOf(moved),
                    .new_members_share = NewMembersShare(before, after),
                    .balance_before = before.table()->BalanceOfNodes(),
                    .balance_after = after.table()->BalanceOfNodes()};
  const size_t shown = std::min(pairs.size(), Movement::kMaxPairs);
  for (const Pair& pair : std::span(pairs).first(shown)) {
    movement.pairs.push_back({std::string(id(pair.from)), std::string(id(pair.to)), ShareOf(pair.arc)});
  }
  absl::uint128 others = 0;
  for (const Pair& pair : std::span(pairs).subspan(shown)) others += pair.arc;
  movement.other_pairs_share = ShareOf(others);
  return movement;
}

}  // namespace ringd::ring
