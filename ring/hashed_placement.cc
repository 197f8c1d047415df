#include "ring/hashed_placement.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "ring/error.h"
#include "ring/label.h"

namespace ringd::ring {
namespace {

template <typename Enum>
std::string NumberOf(Enum value) {
  return std::to_string(static_cast<uint32_t>(value));
}

}  // namespace

absl::Status CheckRules(PointMatch match, TieRule tie_rule) {
  if (match != PointMatch::kAtOrAfter && match != PointMatch::kStrictlyAfter) {
    return NotServedYet("point match " + NumberOf(match));
  }
  if (tie_rule != TieRule::kNodeId && tie_rule != TieRule::kLaterJoin) {
    return NotServedYet("tie rule " + NumberOf(tie_rule));
  }
  return absl::OkStatus();
}

absl::Status CheckHashed(const HashedSettings& settings) {
  if (settings.points_per_weight < 1 || settings.points_per_weight > kMaxPointsPerWeight) {
    return InvalidField("points_per_weight " + std::to_string(settings.points_per_weight) + " is out of 1.." +
                        std::to_string(kMaxPointsPerWeight));
  }
  if (!IsKnown(settings.hash)) return NotServedYet("hash function " + NumberOf(settings.hash));
  if (absl::Status known = CheckRules(settings.match, settings.tie_rule); !known.ok()) return known;
  if (absl::Status label = CheckLabel(settings.label); !label.ok()) return label;
  if (settings.points_per_weight > 1 && !LabelTemplate(settings.label).has_index()) {
    return InvalidField("label " + Quote(settings.label) +
                        " without {index} gives all points of a node one position; " + "points_per_weight must be 1");
  }
  return CheckHashTag(settings.hash_tag);
}

PointTable::PointTable(size_t size) : size_(size), points_(std::make_unique_for_overwrite<Point[]>(size + kSentinels)) {
  const size_t buckets = std::bit_floor(std::max<size_t>(size, 2));
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(buckets));
  starts_.resize(buckets);
}

PointTable::PointTable(std::span<const Point> points, std::span<const uint64_t> ranks) : PointTable(points.size()) {
  // A counting sort by bucket, which leaves the index behind, then a sort inside each bucket.
  for (const Point& point : points) ++starts_[Bucket(point.position())];
  SumStarts();
  for (const Point& point : points) points_[starts_[Bucket(point.position())]++] = point;
  std::copy_backward(starts_.begin(), starts_.end() - 1, starts_.end());
  starts_.front() = 0;
  for (size_t bucket = 0; bucket < starts_.size(); ++bucket) {
    const size_t next = bucket + 1 < starts_.size() ? starts_[bucket + 1] : size_;
    if (next - starts_[bucket] > 1) std::sort(&points_[starts_[bucket]], &points_[next]);
  }
  if (!ranks.empty()) SortShared(ranks);
  SetSentinels();
}

void PointTable::SortShared(std::span<const uint64_t> ranks) {
  const auto by_rank = [&](const Point& a, const Point& b) { return ranks[a.node()] < ranks[b.node()]; };
  for (size_t first = 0, end = 0; first < size_; first = end) {
    end = first + 1;
    while (end < size_ && points_[end].position() == points_[first].position()) ++end;
    if (end - first > 1) std::sort(&points_[first], &points_[end], by_rank);
  }
}

PointTable PointTable::Merge(std::span<const uint32_t> new_index, std::vector<Point> added) const {
  size_t kept = size_;
  if (std::find(new_index.begin(), new_index.end(), kGone) != new_index.end()) {
    kept = static_cast<size_t>(std::count_if(points().begin(), points().end(),
                                             [&](const Point& point) { return new_index[point.node()] != kGone; }));
  }
  std::sort(added.begin(), added.end());

  PointTable merged(kept + added.size());
  Point* out = merged.points_.get();
  const auto put = [&](uint64_t position, uint32_t node) {
    // Without a branch. A point of a gone node is overwritten by the next one; behind the last there are sentinels.
    *out = Point(position, node);
    out += node != kGone;
    merged.starts_[merged.Bucket(position)] += node != kGone;
  };
  auto old = points().begin();
  const auto end = points().end();
  for (const Point& point : added) {
    for (; old != end && old->position() < point.position(); ++old) put(old->position(), new_index[old->node()]);
    for (; old != end && old->position() == point.position(); ++old) {
      const uint32_t node = new_index[old->node()];
      if (node != kGone && node > point.node()) break;
      put(old->position(), node);
    }
    put(point.position(), point.node());
  }
  for (; old != end; ++old) put(old->position(), new_index[old->node()]);
  merged.SumStarts();
  merged.SetSentinels();
  return merged;
}

void PointTable::SumStarts() {
  uint32_t sum = 0;
  for (uint32_t& start : starts_) sum += std::exchange(start, sum);
}

void PointTable::SetSentinels() {
  const uint32_t first_node = size_ > 0 ? points_[0].node() : 0;
  std::fill_n(&points_[size_], kSentinels, Point(UINT64_MAX, first_node));
}

size_t PointTable::LowerBoundInLongBucket(uint64_t position) const {
  const size_t bucket = Bucket(position);
  const Point* begin = &points_[starts_[bucket]];
  const Point* end = &points_[bucket + 1 < starts_.size() ? starts_[bucket + 1] : size_];
  const Point* found =
      std::lower_bound(begin, end, position, [](const Point& point, uint64_t p) { return point.position() < p; });
  return static_cast<size_t>(found - points_.get());
}

std::vector<absl::uint128> Arcs(const PointTable& table, size_t node_count) {
  const std::span<const Point> points = table.points();
  if (points.empty()) return std::vector<absl::uint128>(node_count);
  // Modulo 2^64 first, which is half the memory to add to. Only the whole circle is lost by that: it leaves every sum
  // 0.
  std::vector<uint64_t> sums(node_count);
  uint64_t previous = points.back().position();
  for (const Point& point : points) {
    sums[point.node()] += point.position() - previous;
    previous = point.position();
  }
  std::vector<absl::uint128> arcs(sums.begin(), sums.end());
  const bool whole = std::all_of(sums.begin(), sums.end(), [](uint64_t sum) { return sum == 0; });
  if (whole) arcs[points.front().node()] = absl::MakeUint128(1, 0);
  return arcs;
}

std::vector<absl::uint128> ArcsAfterAdding(const PointTable& before, std::span<const absl::uint128> arcs,
                                           std::span<const uint32_t> new_index, std::vector<uint64_t> positions,
                                           const PointTable& table, size_t node_count) {
  if (before.size() == 0) return Arcs(table, node_count);
  std::vector<absl::uint128> after(node_count);
  for (size_t i = 0; i < arcs.size(); ++i) after[new_index[i]] = arcs[i];
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  for (const uint64_t position : positions) {
    const uint32_t from = new_index[before.Owner(position)];
    const uint32_t to = table.Owner(position);
    if (from == to) continue;
    const uint64_t part = position - table.PositionBefore(position);
    // All points at one position: the part is the whole circle.
    const absl::uint128 arc = part == 0 ? absl::MakeUint128(1, 0) : absl::uint128(part);
    after[from] -= arc;
    after[to] += arc;
  }
  return after;
}

}  // namespace ringd::ring
