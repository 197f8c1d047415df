// Lines that strangers cause are few.
#include "server/grpc_log.h"

#include <gtest/gtest.h>

namespace ringd::server {
namespace {

TEST(LineBudget, AllowsSoManyLinesAPeriodAndCountsTheRest) {
  LineBudget budget(3, std::chrono::seconds(60));
  const LineBudget::Clock::time_point start{std::chrono::hours(1)};
  for (int i = 0; i < 3; i++) EXPECT_TRUE(budget.Take(start).allowed);
  for (int i = 0; i < 5; i++) EXPECT_FALSE(budget.Take(start + std::chrono::seconds(59)).allowed);
  const auto first = budget.Take(start + std::chrono::seconds(60));
  EXPECT_TRUE(first.allowed);
  EXPECT_EQ(first.left_out, 5u);
  const auto second = budget.Take(start + std::chrono::seconds(60));
  EXPECT_TRUE(second.allowed);
  EXPECT_EQ(second.left_out, 0u);
}

}  // namespace
}  // namespace ringd::server
