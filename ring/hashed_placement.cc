#include "ring/hashed_placement.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "ring/error.h"

namespace ringd::ring {
namespace {

absl::Status NotServedYet(const std::string& what) {
  return Error(absl::StatusCode::kInvalidArgument, kNotServedYet, what + " is not served yet");
}

template <typename Enum>
std::string NumberOf(Enum value) {
  return std::to_string(static_cast<uint32_t>(value));
}

}  // namespace

absl::Status CheckServed(const HashedSettings& settings) {
  if (settings.points_per_weight < 1 || settings.points_per_weight > kMaxPointsPerWeight) {
    return Error(absl::StatusCode::kInvalidArgument, kInvalidField,
                 "points_per_weight " + std::to_string(settings.points_per_weight) + " is out of 1.." +
                     std::to_string(kMaxPointsPerWeight));
  }
  if (settings.hash != HashFunction::kXxh3_64) return NotServedYet("hash function " + NumberOf(settings.hash));
  if (settings.label != kDefaultLabel) return NotServedYet("label " + Quote(settings.label));
  if (settings.match != PointMatch::kAtOrAfter) return NotServedYet("point match " + NumberOf(settings.match));
  if (settings.tie_rule != TieRule::kNodeId) return NotServedYet("tie rule " + NumberOf(settings.tie_rule));
  if (!settings.hash_tag.empty()) return NotServedYet("hash_tag " + Quote(settings.hash_tag));
  return absl::OkStatus();
}

PointTable::PointTable(size_t size) : size_(size), points_(std::make_unique_for_overwrite<Point[]>(size + kSentinels)) {
  const size_t buckets = std::bit_floor(std::max<size_t>(size, 2));
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(buckets));
  starts_.resize(buckets);
}

PointTable::PointTable(std::span<const Point> points) : PointTable(points.size()) {
  // A counting sort by bucket, which leaves the index behind, then a sort inside each bucket.
  for (const Point& point : points) ++starts_[Bucket(point.position())];
  uint32_t end = 0;
  for (uint32_t& start : starts_) start = end += start;
  for (const Point& point : points) points_[--starts_[Bucket(point.position())]] = point;
  for (size_t bucket = 0; bucket < starts_.size(); ++bucket) {
    const size_t next = bucket + 1 < starts_.size() ? starts_[bucket + 1] : size_;
    if (next - starts_[bucket] > 1) std::sort(&points_[starts_[bucket]], &points_[next]);
  }
  SetSentinels();
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
  auto next_added = added.begin();
  for (const Point& old : points()) {
    const uint32_t node = new_index[old.node()];
    if (node == kGone) continue;
    const Point point(old.position(), node);
    while (next_added != added.end() && *next_added < point) *out++ = *next_added++;
    *out++ = point;
  }
  std::copy(next_added, added.end(), out);
  merged.IndexSortedPoints();
  merged.SetSentinels();
  return merged;
}

void PointTable::SetSentinels() {
  const uint32_t first_node = size_ > 0 ? points_[0].node() : 0;
  std::fill_n(&points_[size_], kSentinels, Point(UINT64_MAX, first_node));
}

void PointTable::IndexSortedPoints() {
  size_t bucket = 0;
  for (size_t i = 0; i < size_; ++i) {
    for (const size_t last = Bucket(points_[i].position()); bucket <= last; ++bucket) {
      starts_[bucket] = static_cast<uint32_t>(i);
    }
  }
  std::fill(starts_.begin() + static_cast<std::ptrdiff_t>(bucket), starts_.end(), static_cast<uint32_t>(size_));
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
  std::vector<absl::uint128> arcs(node_count);
  const std::span<const Point> points = table.points();
  if (points.empty()) return arcs;
  uint64_t previous = points.front().position();
  for (const Point& point : points) {
    arcs[point.node()] += point.position() - previous;
    previous = point.position();
  }
  // The first point closes the circle. When all points share one position, that is the whole of it.
  const uint64_t closing = points.front().position() - previous;
  arcs[points.front().node()] += closing != 0 ? absl::uint128(closing) : absl::MakeUint128(1, 0);
  return arcs;
}

}  // namespace ringd::ring
