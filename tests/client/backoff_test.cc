#include "client/backoff.h"

#include <gtest/gtest.h>

namespace ringd {
namespace {

using std::chrono::milliseconds;

TEST(Backoff, DoublesUpToTheLongestAndBeginsAnewAfterProgress) {
  Backoff backoff({.first = milliseconds(200), .longest = milliseconds(1000)}, [] { return 0.0; });
  for (const int expected : {200, 400, 800, 1000, 1000}) EXPECT_EQ(backoff.Next(), milliseconds(expected));
  backoff.Reset();
  EXPECT_EQ(backoff.Next(), milliseconds(200));
}

TEST(Backoff, JitterTakesAwayUpToAHalf) {
  Backoff backoff({.first = milliseconds(200), .longest = milliseconds(1000)}, [] { return 0.999; });
  const milliseconds pause = backoff.Next();
  EXPECT_GE(pause, milliseconds(100));
  EXPECT_LT(pause, milliseconds(102));
}

}  // namespace
}  // namespace ringd
