// What a change moves: ranges, pairs and shares of small rings, told by hand.
#include "ring/movement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "tests/ring/ring_builder.h"

namespace ringd::ring {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Moved {
  uint64_t first;
  uint64_t last;
  std::string from;
  std::string to;

  bool operator==(const Moved&) const = default;
};

std::vector<Moved> RangesOf(const Ring& before, const Ring& after) {
  std::vector<Moved> ranges;
  ForEachMovedRange(before, after, [&](const MovedRange& range) {
    ranges.push_back({range.first, range.last, range.from == nullptr ? "" : range.from->id,
                      range.to == nullptr ? "" : range.to->id});
  });
  return ranges;
}

// The one point of a node in a ring of one point a node.
uint64_t PointOf(const std::string& id) { return HashKey(id + "#0"); }

TEST(Movement, NothingMovesWhereNothingChanged) {
  const Ring ring = RingOf(1, {"a", "b"});
  EXPECT_THAT(RangesOf(ring, ring), IsEmpty());
  EXPECT_THAT(RangesOf(RingOf(1, {}), RingOf(1, {})), IsEmpty());
  EXPECT_THAT(RangesOf(ring, With(ring, {UpdateNode{.id = "a", .address = "elsewhere"}})), IsEmpty());
  EXPECT_EQ(Compare(ring, ring).moved_share, 0);
  EXPECT_THAT(Compare(ring, ring).pairs, IsEmpty());
}

TEST(Movement, TheFirstNodeTakesAllFromNobody) {
  const Ring empty = RingOf(1, {});
  const Ring one = RingOf(1, {"a"});
  const uint64_t point = PointOf("a");
  // One range over the end of the circle comes as two that touch: they are one again, the whole of it.
  EXPECT_THAT(RangesOf(empty, one), ElementsAre(Moved{0, UINT64_MAX, "", "a"}));
  EXPECT_THAT(RangesOf(one, empty), ElementsAre(Moved{0, UINT64_MAX, "a", ""}));
  EXPECT_EQ(one.Owner(point), one.Owner(point + 1));
  const Movement movement = Compare(empty, one);
  EXPECT_EQ(movement.moved_share, 0);
  EXPECT_THAT(movement.pairs, ElementsAre(MovedPair{"", "a", 1}));
  EXPECT_EQ(movement.balance_before, Balance());
  EXPECT_EQ(movement.balance_after, (Balance{1, 1}));
}

TEST(Movement, ANewPointTakesTheArcBeforeIt) {
  // By position: b, a, c.
  std::vector<std::string> ids = {"a", "b", "c"};
  std::sort(ids.begin(), ids.end(), [](const auto& x, const auto& y) { return PointOf(x) < PointOf(y); });
  const std::string &first = ids[0], &second = ids[1], &third = ids[2];
  EXPECT_THAT(RangesOf(RingOf(1, {first, third}), RingOf(1, {first, second, third})),
              ElementsAre(Moved{PointOf(first) + 1, PointOf(second), third, second}));
  EXPECT_THAT(RangesOf(RingOf(1, {first, second}), RingOf(1, {first, second, third})),
              ElementsAre(Moved{PointOf(second) + 1, PointOf(third), first, third}));
  EXPECT_THAT(
      RangesOf(RingOf(1, {second, third}), RingOf(1, {first, second, third})),
      ElementsAre(Moved{0, PointOf(first), second, first}, Moved{PointOf(third) + 1, UINT64_MAX, second, first}));
}

TEST(Movement, RangesCanBeReadInPiecesAndHoldOnToTheirRings) {
  // The rings have gone when they are read.
  MovedRanges ranges(RingOf(8, {"a", "b"}), RingOf(8, {"a", "b", "c"}));
  absl::uint128 moved = 0;
  uint64_t last = 0;
  while (const std::optional<MovedRange> range = ranges.Next()) {
    EXPECT_TRUE(range->first > last || last == 0) << range->first;
    EXPECT_EQ(range->to->id, "c");
    EXPECT_NE(range->from->id, "c");
    moved += absl::uint128(range->last) - range->first + 1;
    last = range->last;
  }
  const Ring after = RingOf(8, {"a", "b", "c"});
  EXPECT_EQ(moved, after.table()->arcs[after.Find("c")]);
  EXPECT_FALSE(ranges.Next().has_value());
}

TEST(Movement, APairIsTheSumOfItsRanges) {
  const Ring before = RingOf(8, {"a", "b"});
  const Ring after = RingOf(8, {"a", "b", "c"});
  const Movement movement = Compare(before, after);
  const size_t c = after.Find("c");
  EXPECT_EQ(movement.moved_share, after.table()->ShareOf(c));
  ASSERT_EQ(movement.pairs.size(), 2u);
  EXPECT_GE(movement.pairs[0].share, movement.pairs[1].share);
  for (const MovedPair& pair : movement.pairs) {
    EXPECT_EQ(pair.to, "c");
    const absl::uint128 lost =
        before.table()->arcs[before.Find(pair.from)] - after.table()->arcs[after.Find(pair.from)];
    EXPECT_EQ(pair.share, std::ldexp(static_cast<double>(lost), -64));
  }
  EXPECT_EQ(movement.balance_before, before.table()->BalanceOfNodes());
  EXPECT_EQ(movement.balance_after, after.table()->BalanceOfNodes());
}

TEST(Movement, PairsBeyondTheLimitAreSummed) {
  Ring before = EmptyRing(SettingsOf(1));
  std::vector<Operation> adds;
  for (int i = 0; i < 1'200; ++i) adds.emplace_back(Add("n" + std::to_string(i)));
  before = With(before, adds);
  const Movement movement = Compare(before, EmptyRing(SettingsOf(1)));
  EXPECT_EQ(movement.moved_share, 0);
  ASSERT_EQ(movement.pairs.size(), Movement::kMaxPairs);
  double sum = movement.other_pairs_share;
  for (const MovedPair& pair : movement.pairs) sum += pair.share;
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_GT(movement.other_pairs_share, 0);
}

}  // namespace
}  // namespace ringd::ring
