// Who has applied a version, counted as names come, go and report.
#include "server/applied_tallies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ringd::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr ring::Version kNothing;

bool Reached(double share, size_t watchers, size_t applied) {
  return AppliedTally{.version = {1, 1}, .share = share, .watchers = watchers, .applied = applied}.Reached();
}

TEST(AppliedTally, AShareIsRoundedUpToWholeNames) {
  EXPECT_TRUE(Reached(1, 3, 3));
  EXPECT_FALSE(Reached(1, 3, 2));
  EXPECT_TRUE(Reached(0.5, 3, 2));
  EXPECT_FALSE(Reached(0.5, 3, 1));
  EXPECT_FALSE(Reached(0.99, 101, 99));
  EXPECT_TRUE(Reached(0.99, 101, 100));
  EXPECT_FALSE(Reached(1e-300, 1'000'000, 0)) << "above 0 is one at least";
  EXPECT_TRUE(Reached(1e-300, 1'000'000, 1));
}

TEST(AppliedTally, WholePercentsOfAHundredNeedJustSoMany) {
  for (size_t percent = 1; percent <= 100; ++percent) {
    const double share = static_cast<double>(percent) / 100;
    EXPECT_TRUE(Reached(share, 100, percent)) << percent;
    EXPECT_FALSE(Reached(share, 100, percent - 1)) << percent;
  }
}

TEST(AppliedTally, OfNoNamesAnyShareHasAppliedIt) { EXPECT_TRUE(Reached(1, 0, 0)); }

class AppliedTalliesTest : public ::testing::Test {
 protected:
  AppliedTalliesTest() {
    tallies_.Add("r", 1, {.version = {2, 5}, .share = 1});
    tallies_.Add("r", 2, {.version = {2, 7}, .share = 0.5});
    tallies_.Add("s", 3, {.version = {3, 1}, .share = 1});
  }
  // applied/watchers
  std::string Count(const std::string& ring, uint64_t id) const {
    const AppliedTally* tally = tallies_.Find(ring, id);
    return tally == nullptr ? "none" : std::to_string(tally->applied) + "/" + std::to_string(tally->watchers);
  }

  AppliedTallies tallies_;
  AppliedTallies::Ids reached_;
};

TEST_F(AppliedTalliesTest, CountWhoComesWithWhatItHasApplied) {
  for (const ring::Version applied : {kNothing, ring::Version{2, 4}, {2, 5}, {2, 7}, {3, 1}, {1, 9}}) {
    tallies_.Came("r", applied, reached_);
  }
  EXPECT_EQ(Count("r", 1), "3/6");
  EXPECT_EQ(Count("r", 2), "2/6");
  EXPECT_EQ(Count("s", 3), "0/0");
}

TEST_F(AppliedTalliesTest, CountEachNameOnceHoweverOftenItMoves) {
  tallies_.Came("r", kNothing, reached_);
  tallies_.Came("r", kNothing, reached_);
  tallies_.Moved("r", kNothing, {2, 5}, reached_);
  EXPECT_EQ(Count("r", 1) + " " + Count("r", 2), "1/2 0/2");
  tallies_.Moved("r", {2, 5}, {2, 6}, reached_);
  EXPECT_EQ(Count("r", 1) + " " + Count("r", 2), "1/2 0/2");
  EXPECT_THAT(reached_, IsEmpty());
  tallies_.Moved("r", {2, 6}, {2, 9}, reached_);
  EXPECT_EQ(Count("r", 1) + " " + Count("r", 2), "1/2 1/2");
  EXPECT_THAT(reached_, ElementsAre(2));
}

TEST_F(AppliedTalliesTest, WhoGoesIsNotWaitedFor) {
  tallies_.Came("r", {2, 5}, reached_);
  tallies_.Came("r", kNothing, reached_);
  reached_.clear();
  tallies_.Went("r", kNothing, reached_);
  EXPECT_EQ(Count("r", 1), "1/1");
  EXPECT_THAT(reached_, ElementsAre(1));
  tallies_.Went("r", {2, 5}, reached_);
  EXPECT_EQ(Count("r", 1), "0/0");
}

TEST_F(AppliedTalliesTest, WhatIsRemovedIsNotCounted) {
  tallies_.Remove("r", 1);
  tallies_.Remove("r", 9);
  tallies_.Remove("absent", 1);
  tallies_.Came("r", {2, 5}, reached_);
  EXPECT_EQ(Count("r", 1), "none");
  EXPECT_EQ(Count("r", 2), "0/1");
  tallies_.Remove("r", 2);
  EXPECT_EQ(tallies_.rings().size(), 1u);
  tallies_.Came("absent", kNothing, reached_);
  EXPECT_EQ(tallies_.rings().size(), 1u);
}

}  // namespace
}  // namespace ringd::server
