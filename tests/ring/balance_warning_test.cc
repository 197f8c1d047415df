// Which rings are said to share the keys out badly, and how.
#include "ring/balance_warning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ring/ring_builder.h"

namespace ringd::ring {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;

Settings HashedBy(HashFunction hash, uint32_t points) {
  return {.placement = HashedSettings{.hash = hash, .points_per_weight = points}, .default_weight = 1};
}

TEST(BalanceWarning, IsSilentOverAGoodHashWithEnoughPoints) {
  EXPECT_THAT(BalanceWarnings(Settings{}), IsEmpty());
  for (const uint32_t points : {100u, 160u, 1'000u}) {
    for (const HashFunction hash : {HashFunction::kXxh3_64, HashFunction::kXxh64, HashFunction::kMurmur3_32,
                                    HashFunction::kMd5, HashFunction::kSha1}) {
      EXPECT_THAT(BalanceWarnings(HashedBy(hash, points)), IsEmpty()) << static_cast<int>(hash) << " with " << points;
    }
  }
  EXPECT_THAT(BalanceWarnings(RingOf(100, {})), IsEmpty());
  EXPECT_THAT(BalanceWarnings(RingOf(1, {"a"})), IsEmpty());
}

// The balance yardstick of the cases: FNV-1 of similar names is lopsided at any usual number of points.
TEST(BalanceWarning, TellsTheFactorsOfAHashThatDoesNotSpread) {
  for (const uint32_t points : {100u, 160u}) {
    EXPECT_THAT(BalanceWarnings(HashedBy(HashFunction::kFnv1_32, points)),
                ElementsAre(MatchesRegex(
                    "of ten nodes of weight 1, node \"node-[0-9]\" has [1-9]\\.[0-9]+ times its share of the keys, "
                    "node \"node-[0-9]\" has 0\\.[0-9]+ times its share of the keys")))
        << points;
  }
  EXPECT_THAT(BalanceWarnings(HashedBy(HashFunction::kCrc16, 160)), Not(IsEmpty()));
}

TEST(BalanceWarning, TellsOfTooFewPoints) {
  EXPECT_THAT(BalanceWarnings(HashedBy(HashFunction::kXxh3_64, 1)),
              ElementsAre(HasSubstr("of ten nodes of weight 1, node")));
}

// Glued labels: "10.0.0.1" + "15" is "10.0.0.11" + "5".
TEST(BalanceWarning, NamesANodeThatGluedLabelsStarve) {
  Ring ring = EmptyRing({.placement = DefaultsOf(Preset::kMurmur3Weighted), .default_weight = 1});
  for (int i = 1; i <= 20; ++i) ring = With(ring, {Add("10.0.0." + std::to_string(i))});
  EXPECT_THAT(BalanceWarnings(ring), ElementsAre(HasSubstr("node \"10.0.0.1\" has 0.")));
}

TEST(BalanceWarning, LooksAtNoNodeWithoutWeight) {
  Ring ring = RingOf(200, {"a", "b", "c"});
  ring = With(ring, {Add("idle", 0)});
  EXPECT_THAT(BalanceWarnings(ring), IsEmpty());
}

TEST(BalanceWarning, MakesNoSampleOfMillionsOfPoints) {
  Settings settings = HashedBy(HashFunction::kFnv1_32, 65'536);
  settings.default_weight = 65'535;
  EXPECT_THAT(BalanceWarnings(settings), IsEmpty());
}

TEST(BalanceWarning, NamesNodesWithoutASlot) {
  Ring ring = EmptyRing({.placement = SlotsSettings{.slot_bits = 10}, .default_weight = 100});
  ring = With(ring, {Add("big", 65'535), Add("small", 20), Add("idle", 0)});
  EXPECT_THAT(BalanceWarnings(ring),
              ElementsAre("1 node of weight > 0 owns none of 1024 slots, since the share is below one: \"small\""));
  ring = With(ring, {Reweigh("small", 65)});
  EXPECT_THAT(BalanceWarnings(ring), IsEmpty());
}

TEST(BalanceWarning, TellsOfMoreNodesThanSlotsInAHundred) {
  const Settings settings{.placement = SlotsSettings{.slot_bits = 10}, .default_weight = 100};
  EXPECT_THAT(BalanceWarnings(settings), IsEmpty());
  Ring ring = EmptyRing(settings);
  for (int i = 0; i < 10; ++i) ring = With(ring, {Add("node-" + std::to_string(i))});
  EXPECT_THAT(BalanceWarnings(ring), IsEmpty());
  EXPECT_THAT(BalanceWarnings(With(ring, {Add("one more")})),
              ElementsAre("11 nodes share 1024 slots, fewer than 100 each: shares may be more than 1 % off"));
}

}  // namespace
}  // namespace ringd::ring
