#include "client/ringctl/backoff.h"

#include <gtest/gtest.h>

namespace ringd::ctl {
namespace {

using std::chrono::milliseconds;

TEST(Backoff, DoublesUpToTheLongestAndBeginsAnewAfterProgress) {
  Backoff backoff(milliseconds(200), milliseconds(1000), [] { return 0.0; });
  for (const int expected : {200, 400, 800, 1000, 1000}) EXPECT_EQ(backoff.Next(), milliseconds(expected));
  backoff.Reset();
  EXPECT_EQ(backoff.Next(), milliseconds(200));
}

TEST(Backoff, JitterTakesAwayUpToAHalf) {
  Backoff backoff(milliseconds(200), milliseconds(1000), [] { return 0.999; });
  const milliseconds pause = backoff.Next();
  EXPECT_GE(pause, milliseconds(100));
  EXPECT_LT(pause, milliseconds(102));
}

}  // namespace
}  // namespace ringd::ctl
