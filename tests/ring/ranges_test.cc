#include "ring/ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/ring/ring_builder.h"

namespace ringd::ring {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr size_t kAll = 1'000'000;

TEST(RangesOf, ANodeAloneOwnsTheWholeCircle) {
  const Ring ring = RingOf(5, {"a"});
  EXPECT_THAT(RangesOf(ring, 0, 0, kAll), ElementsAre(Range{0, UINT64_MAX}));
  EXPECT_THAT(RangesOf(ring, 0, 12'345, kAll), ElementsAre(Range{0, UINT64_MAX}));
  EXPECT_THAT(RangesOf(With(ring, {Add("idle", 0)}), 1, 0, kAll), IsEmpty());
  EXPECT_THAT(RangesOf(EmptyRing(SettingsOf(1)), 0, 0, kAll), IsEmpty());
}

TEST(RangesOf, SumToTheArcsAndAreOwnedFromEndToEnd) {
  const Ring ring = RingOf(7, {"a", "b", "c", "d"});
  for (size_t node = 0; node < ring.node_count(); ++node) {
    absl::uint128 sum = 0;
    uint64_t next = 0;
    for (const Range& range : RangesOf(ring, node, 0, kAll)) {
      EXPECT_GE(range.first, next);
      EXPECT_EQ(ring.Owner(range.first), node);
      EXPECT_EQ(ring.Owner(range.last), node);
      if (range.first > 0) {
        EXPECT_NE(ring.Owner(range.first - 1), node) << "as long as it can be";
      }
      if (range.last < UINT64_MAX) {
        EXPECT_NE(ring.Owner(range.last + 1), node) << "as long as it can be";
      }
      sum += absl::uint128(range.last) - range.first + 1;
      next = range.last;
    }
    EXPECT_EQ(sum, ring.table()->arcs[node]);
  }
}

TEST(RangesOf, GoesOnFromAPosition) {
  const Ring ring = RingOf(20, {"a", "b", "c"});
  const std::vector<Range> all = RangesOf(ring, 1, 0, kAll);
  ASSERT_GT(all.size(), 3u);
  for (size_t i = 0; i < all.size(); ++i) {
    const std::vector<Range> rest(all.begin() + static_cast<ptrdiff_t>(i), all.end());
    EXPECT_EQ(RangesOf(ring, 1, all[i].first, kAll), rest);
    EXPECT_EQ(RangesOf(ring, 1, all[i].last, kAll), rest) << "a range that contains it is told whole";
    const std::vector<Range> later(rest.begin() + 1, rest.end());
    EXPECT_EQ(RangesOf(ring, 1, all[i].last + 1, kAll), all[i].last == UINT64_MAX ? all : later) << "not what is over";
    const std::vector<Range> two(rest.begin(), rest.begin() + static_cast<ptrdiff_t>(std::min<size_t>(2, rest.size())));
    EXPECT_EQ(RangesOf(ring, 1, all[i].first, 2), two);
  }
}

TEST(RangesOf, OfTwoNodesOnOnePositionTheFirstOwns) {
  Settings settings{.placement = HashedSettings{.hash = HashFunction::kMurmur3_32, .points_per_weight = 100},
                    .default_weight = 1};
  const Ring ring = With(EmptyRing(settings), {Add("shard0095071"), Add("shard0712366"), Add("other")});
  EXPECT_THAT(RangesOf(ring, ring.Find("shard0712366"), 0, kAll), IsEmpty());
  EXPECT_EQ(RangesOf(ring, ring.Find("shard0095071"), 0, kAll).empty(), false);
}

}  // namespace
}  // namespace ringd::ring
