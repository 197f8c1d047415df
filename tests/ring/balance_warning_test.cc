// Which rings are said to share the keys out badly, and how.
#include "ring/balance_warning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ring/ring_builder.h"

namespace ringd::ring {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

Settings HashedBy(HashFunction hash, uint32_t points) {
  return {.placement = HashedSettings{.hash = hash, .points_per_weight = points}, .default_weight = 1};
}

TEST(BalanceWarning, IsSilentOverAGoodHashWithEnoughPoints) {
  EXPECT_EQ(BalanceWarning(Settings{}), "");
  for (const uint32_t points : {100u, 160u, 1'000u}) {
    for (const HashFunction hash : {HashFunction::kXxh3_64, HashFunction::kXxh64, HashFunction::kMurmur3_32,
                                    HashFunction::kMd5, HashFunction::kSha1}) {
      EXPECT_EQ(BalanceWarning(HashedBy(hash, points)), "") << static_cast<int>(hash) << " with " << points;
    }
  }
  EXPECT_EQ(BalanceWarning(RingOf(100, {})), "");
  EXPECT_EQ(BalanceWarning(RingOf(1, {"a"})), "");
}

// The balance yardstick of the cases: FNV-1 of similar names is lopsided at any usual number of points.
TEST(BalanceWarning, TellsTheFactorsOfAHashThatDoesNotSpread) {
  for (const uint32_t points : {100u, 160u}) {
    EXPECT_THAT(BalanceWarning(HashedBy(HashFunction::kFnv1_32, points)),
                MatchesRegex("of ten nodes of weight 1, node \"node-[0-9]\" has [1-9]\\.[0-9]+ times its share of the "
                             "keys, node \"node-[0-9]\" has 0\\.[0-9]+ times its share of the keys"))
        << points;
  }
  EXPECT_NE(BalanceWarning(HashedBy(HashFunction::kCrc16, 160)), "");
}

TEST(BalanceWarning, TellsOfTooFewPoints) {
  EXPECT_THAT(BalanceWarning(HashedBy(HashFunction::kXxh3_64, 1)), HasSubstr("of ten nodes of weight 1, node"));
}

// Glued labels: "10.0.0.1" + "15" is "10.0.0.11" + "5".
TEST(BalanceWarning, NamesANodeThatGluedLabelsStarve) {
  Ring ring = EmptyRing({.placement = DefaultsOf(Preset::kMurmur3Weighted), .default_weight = 1});
  for (int i = 1; i <= 20; ++i) ring = With(ring, {Add("10.0.0." + std::to_string(i))});
  EXPECT_THAT(BalanceWarning(ring), HasSubstr("node \"10.0.0.1\" has 0."));
}

TEST(BalanceWarning, LooksAtNoNodeWithoutWeight) {
  Ring ring = RingOf(200, {"a", "b", "c"});
  ring = With(ring, {Add("idle", 0)});
  EXPECT_EQ(BalanceWarning(ring), "");
}

TEST(BalanceWarning, MakesNoSampleOfMillionsOfPoints) {
  Settings settings = HashedBy(HashFunction::kFnv1_32, 65'536);
  settings.default_weight = 65'535;
  EXPECT_EQ(BalanceWarning(settings), "");
}

}  // namespace
}  // namespace ringd::ring
