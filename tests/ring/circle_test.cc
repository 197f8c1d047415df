#include "ring/circle.h"

#include <gtest/gtest.h>

namespace ringd::ring {
namespace {

TEST(Circle, OfAllValuesIsTheirOwn) {
  const Circle circle;
  for (const uint64_t value : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 63, UINT64_MAX}) {
    EXPECT_EQ(circle.First(value), value);
    EXPECT_EQ(circle.Last(value), value);
    EXPECT_EQ(circle.Value(value), value);
  }
}

TEST(Circle, OfFewerValuesIsCutIntoCellsThatTouch) {
  for (const uint64_t last : {uint64_t{1}, uint64_t{2}, uint64_t{16'383}, uint64_t{65'535}, uint64_t{1} << 31,
                              uint64_t{UINT32_MAX}, UINT64_MAX - 1}) {
    const Circle circle(last);
    EXPECT_EQ(circle.last_value(), last);
    EXPECT_EQ(circle.First(0), 0u);
    EXPECT_EQ(circle.Last(last), UINT64_MAX);
    for (const uint64_t value : {uint64_t{0}, last / 3, last - last / 4, last}) {
      EXPECT_LE(circle.First(value), circle.Last(value));
      EXPECT_EQ(circle.Value(circle.First(value)), value) << last;
      EXPECT_EQ(circle.Value(circle.Last(value)), value) << last;
      if (value < last) {
        EXPECT_EQ(circle.Last(value) + 1, circle.First(value + 1));
      }
    }
  }
}

TEST(Circle, OfAPowerOfTwoHasEqualCells) {
  const Circle circle(UINT32_MAX);
  EXPECT_EQ(circle.First(7), uint64_t{7} << 32);
  EXPECT_EQ(circle.Last(7), (uint64_t{8} << 32) - 1);
  EXPECT_EQ(circle.Last(UINT32_MAX) - circle.First(UINT32_MAX), UINT32_MAX);
}

}  // namespace
}  // namespace ringd::ring
