// The hashed placement: virtual nodes on a circle of 2^64 positions. Its settings, and the sorted table of all points.
//
// Nodes are told by their index in order of id, so that order by index is order by id.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "ring/hash.h"

namespace ringd::ring {

// Numbers are those of ringd.v1.PointMatch.
enum class PointMatch : uint32_t {
  kAtOrAfter = 1,
  kStrictlyAfter = 2,
};

// Numbers are those of ringd.v1.TieRule.
enum class TieRule : uint32_t {
  kNodeId = 1,
  kLaterJoin = 2,
};

// INVALID_ARGUMENT, NOT_SERVED_YET, for a number that this build does not know.
absl::Status CheckRules(PointMatch match, TieRule tie_rule);

inline constexpr std::string_view kDefaultLabel = "{key}#{index}";
inline constexpr uint32_t kMaxPointsPerWeight = 65'536;

struct HashedSettings {
  HashFunction hash = HashFunction::kXxh3_64;
  std::string label = std::string(kDefaultLabel);
  uint32_t points_per_weight = 2;
  PointMatch match = PointMatch::kAtOrAfter;
  TieRule tie_rule = TieRule::kNodeId;
  std::string hash_tag;

  bool operator==(const HashedSettings&) const = default;
};

// INVALID_ARGUMENT: NOT_SERVED_YET for a number that this build does not know, INVALID_FIELD for what is wrong: a label
// that CheckLabel refuses, or one without {index} where a weight has several points, points_per_weight out of
// 1..65,536, a hash_tag that CheckHashTag refuses.
absl::Status CheckHashed(const HashedSettings& settings);

// One virtual node. Its position is the last that belongs to it: where a key lies that is just not beyond it. In memory
// exactly as in the checksum: position (8 bytes), node (4 bytes), both little-endian.
class Point {
 public:
  Point() = default;  // not initialised, so that big arrays need not be written twice
  Point(uint64_t position, uint32_t node) : node_(node) { std::memcpy(position_.data(), &position, sizeof(position)); }

  uint64_t position() const {
    uint64_t position;
    std::memcpy(&position, position_.data(), sizeof(position));
    return position;
  }
  uint32_t node() const { return node_; }

  friend bool operator==(const Point&, const Point&) = default;
  // By position, then node. Two points of one node at one position cannot be told apart, so their index is not needed.
  friend bool operator<(const Point& a, const Point& b) {
    return a.position() != b.position() ? a.position() < b.position() : a.node() < b.node();
  }

 private:
  std::array<uint32_t, 2> position_;  // two halves: an uint64_t would round the size up to 16
  uint32_t node_;
};
static_assert(sizeof(Point) == 12);

// PointTable: all points of a ring in order of (position, node), immutable. Points that share a position are all kept.
// Where nodes have ranks, points that share a position are in order of their nodes' ranks.
//
// Threads: const members from any number of threads. Memory: 12 bytes a point, and at most 4 for the index.
class PointTable {
 public:
  // In Merge: the node is gone.
  static constexpr uint32_t kGone = UINT32_MAX;
  // Indices of points have 32 bits.
  static constexpr uint64_t kMaxPoints = UINT32_MAX;

  PointTable() = default;
  // Takes points in any order. REQUIRES points.size() <= kMaxPoints. Cost: linear for positions that are spread as
  // hashes are, n log n at worst.
  // `ranks` by node; empty = none.
  explicit PointTable(std::span<const Point> points, std::span<const uint64_t> ranks = {});

  // Of a table without ranks: the one that results when the node of index i gets the index new_index[i], or loses its
  // points where that is kGone, and the points `added` come in. REQUIRES new_index to rise (kGone left out), to cover
  // every node here, and the result to hold at most kMaxPoints. Cost: linear, and a sort of `added` alone.
  PointTable Merge(std::span<const uint32_t> new_index, std::vector<Point> added) const;

  size_t size() const { return size_; }
  std::span<const Point> points() const { return {points_.get(), size_}; }

  // The node of the first point at or after a position; beyond the last point, of the first. REQUIRES size() > 0.
  uint32_t Owner(uint64_t position) const { return points_[LowerBound(position)].node(); }
  // The index of that point. REQUIRES size() > 0.
  size_t PointAt(uint64_t position) const {
    const size_t index = LowerBound(position);
    return index < size_ ? index : 0;
  }
  // The index of the first point at or after a position; beyond the last point, size(). REQUIRES size() > 0.
  size_t FirstAtOrAfter(uint64_t position) const { return LowerBound(position); }
  // The position of the last point before a position; before the first point, of the last. REQUIRES size() > 0.
  uint64_t PositionBefore(uint64_t position) const {
    const size_t index = LowerBound(position);
    return points_[(index > 0 ? index : size_) - 1].position();
  }

 private:
  // After the last point stand copies of the first one's node at the top of the circle: they end every scan, and the
  // first of them makes the wrap.
  static constexpr size_t kSentinels = 4;

  explicit PointTable(size_t size);
  void SortShared(std::span<const uint64_t> ranks);
  void SetSentinels();
  // Turns the number of points in each bucket into starts.
  void SumStarts();
  size_t Bucket(uint64_t position) const { return position >> shift_; }

  // The index of the first point at or after a position, or size().
  size_t LowerBound(uint64_t position) const {
    // Buckets hold one to two points on average, so four comparisons without a branch nearly always do; a loop that
    // stops at the right point would be mispredicted every other time. They are written out: g++ -O2 keeps a loop.
    const size_t start = starts_[Bucket(position)];
    const auto is_before = [point = &points_[start], position](size_t i) -> size_t {
      return point[i].position() < position;
    };
    static_assert(kSentinels == 4);
    const size_t before = is_before(0) + is_before(1) + is_before(2) + is_before(3);
    return before < kSentinels ? start + before : LowerBoundInLongBucket(position);
  }
  size_t LowerBoundInLongBucket(uint64_t position) const;

  size_t size_ = 0;
  unsigned shift_ = 0;  // a position's bucket is its bits from here up
  std::unique_ptr<Point[]> points_;
  std::vector<uint32_t> starts_;  // by bucket: the first point in it or in a later one
};

// The part of the circle that each of `node_count` nodes owns: the sum of its points' distances to the points before
// them. The parts sum to 2^64 exactly, or to 0 in an empty table.
std::vector<absl::uint128> Arcs(const PointTable& table, size_t node_count);

// Those of a table that `before` became when points came in at these positions: `arcs` are those of before, and the
// node of index i has the index new_index[i] now. Cost: linear in the nodes, and a lookup a position. REQUIRES that no
// point has gone, and new_index to have all nodes of before.
std::vector<absl::uint128> ArcsAfterAdding(const PointTable& before, std::span<const absl::uint128> arcs,
                                           std::span<const uint32_t> new_index, std::vector<uint64_t> positions,
                                           const PointTable& table, size_t node_count);

}  // namespace ringd::ring
