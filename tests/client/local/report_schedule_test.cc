#include "client/local/report_schedule.h"

#include <gtest/gtest.h>

namespace ringd {
namespace {

using std::chrono::milliseconds;
using Outcome = ReportSchedule::Outcome;
constexpr auto kNever = ReportSchedule::Clock::time_point::max();

class ReportScheduleTest : public testing::Test {
 protected:
  void InSync(uint64_t stream, uint64_t revision) { schedule_.InSync(stream, {7, revision}, now_); }
  void Tell(Outcome outcome) {
    schedule_.Sent();
    schedule_.Answered(outcome, now_);
  }

  double random_ = 0.25;
  ReportSchedule::Clock::time_point now_{std::chrono::hours(1)};
  ReportSchedule schedule_{[this] { return random_; }};
};

TEST_F(ReportScheduleTest, AVersionIsToldOnceAfterARandomPartOfTheSpread) {
  EXPECT_EQ(schedule_.due(), kNever);
  InSync(1, 5);
  EXPECT_EQ(schedule_.due(), now_ + milliseconds(250));
  const auto applied = now_;
  now_ += milliseconds(250);
  InSync(1, 5);
  EXPECT_EQ(schedule_.due(), now_) << "not put off";
  EXPECT_EQ(schedule_.applied_at(), applied);
  Tell(Outcome::kTold);
  InSync(1, 5);
  EXPECT_EQ(schedule_.due(), kNever);
}

TEST_F(ReportScheduleTest, VersionsThatComeMeanwhileAreToldWithTheNewest) {
  InSync(1, 5);
  const auto due = schedule_.due();
  now_ += milliseconds(100);
  InSync(1, 6);
  EXPECT_EQ(schedule_.due(), due);
  EXPECT_EQ(schedule_.version().revision, 6u);
  EXPECT_EQ(schedule_.applied_at(), now_);
}

TEST_F(ReportScheduleTest, OneCallIsUnderWayAtATime) {
  InSync(1, 5);
  schedule_.Sent();
  InSync(1, 6);
  EXPECT_EQ(schedule_.due(), kNever);
  schedule_.Answered(Outcome::kTold, now_);
  EXPECT_EQ(schedule_.due(), now_ + milliseconds(250)) << "the one that came meanwhile";
}

TEST_F(ReportScheduleTest, EachStreamIsToldAnew) {
  InSync(1, 5);
  Tell(Outcome::kTold);
  const auto applied = now_;
  schedule_.OutOfSync();
  now_ += milliseconds(5'000);
  EXPECT_EQ(schedule_.due(), kNever);
  InSync(2, 5);
  EXPECT_EQ(schedule_.due(), now_ + milliseconds(250));
  EXPECT_EQ(schedule_.applied_at(), applied);
}

TEST_F(ReportScheduleTest, WhatFailsIsToldLater) {
  InSync(1, 5);
  Tell(Outcome::kFailed);
  EXPECT_EQ(schedule_.due(), now_ + milliseconds(1'250));
  schedule_.OutOfSync();
  EXPECT_EQ(schedule_.due(), kNever);
}

TEST_F(ReportScheduleTest, ADirectoryThatTakesNoReportsIsNotAskedAgain) {
  InSync(1, 5);
  Tell(Outcome::kNotTaken);
  InSync(1, 6);
  EXPECT_EQ(schedule_.due(), kNever);
  InSync(2, 6);
  EXPECT_EQ(schedule_.due(), now_ + milliseconds(250)) << "another may be newer";
}

TEST_F(ReportScheduleTest, AnAnswerIsOfTheDirectoryThatWasAsked) {
  InSync(1, 5);
  schedule_.Sent();
  InSync(2, 5);
  schedule_.Answered(Outcome::kNotTaken, now_);
  EXPECT_EQ(schedule_.due(), now_ + milliseconds(250)) << "another than the one that takes none";
}

}  // namespace
}  // namespace ringd
