// A copy that outlives its process: saved by one LocalRing, and taken up by the next one.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "client/local/save_schedule.h"
#include "ringd/local_ring.h"
#include "ringd/testing/fake_directory.h"
#include "tests/support/shared.h"

namespace ringd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class SavedLocalRingTest : public ::testing::Test {
 protected:
  SavedLocalRingTest() {
    EXPECT_EQ(directory_.SetRing("r", {{.id = "n1"}, {.id = "n2"}}), absl::OkStatus());
    std::filesystem::remove(file_);
  }
  ~SavedLocalRingTest() override { std::filesystem::remove(file_); }

  std::unique_ptr<LocalRing> Start(milliseconds max_age = std::chrono::hours(1)) {
    return *LocalRing::Start("r", {.directory = {.endpoints = {directory_.endpoint()}},
                                   .save_to = file_,
                                   .saved_max_age = max_age,
                                   .on_change = [this](const LocalRingStatus& status) {
                                     status_.Update([&](LocalRingStatus& last) { last = status; });
                                   }});
  }
  void AwaitState(LocalRingState state) {
    status_.Await([state](const LocalRingStatus& status) { return status.state == state; });
  }
  // A copy comes, is in sync, and is destroyed.
  void SaveOne() {
    const auto ring = Start();
    AwaitState(LocalRingState::kInSync);
    status_.Update([](LocalRingStatus& last) { last = {}; });
  }

  const std::string file_ = ::testing::TempDir() + "saved-local-ring-" + std::to_string(getpid());
  ringd::testing::FakeDirectory directory_;
  support::Shared<LocalRingStatus> status_;
};

TEST_F(SavedLocalRingTest, TheNextProcessHasTheCopyThoughTheDirectoryIsDown) {
  SaveOne();
  EXPECT_TRUE(std::filesystem::exists(file_));
  directory_.Stop();
  const auto ring = Start();
  EXPECT_EQ(ring->WaitReady(seconds(20)), absl::OkStatus());
  const LocalRingStatus status = ring->status();
  EXPECT_EQ(status.state, LocalRingState::kConnecting);
  EXPECT_EQ(status.version, directory_.version("r"));
  EXPECT_LT(status.age, std::chrono::hours(1));
  EXPECT_EQ(status.save_problem, absl::OkStatus());
  EXPECT_TRUE(ring->Owner("k").ok());
  directory_.Start();
  AwaitState(LocalRingState::kInSync);
}

TEST_F(SavedLocalRingTest, WhatCameJustBeforeTheDirectoryWentDownIsSavedToo) {
  {
    const auto ring = Start();
    AwaitState(LocalRingState::kInSync);
    directory_.Stop();
    AwaitState(LocalRingState::kConnecting);
  }
  EXPECT_EQ(Start()->WaitReady(seconds(20)), absl::OkStatus());
}

TEST_F(SavedLocalRingTest, WhatWasNotConfirmedHereIsNotSaved) {
  SaveOne();
  directory_.Stop();
  const auto written = std::filesystem::last_write_time(file_);
  EXPECT_EQ(Start()->WaitReady(seconds(20)), absl::OkStatus());
  EXPECT_EQ(std::filesystem::last_write_time(file_), written);
}

TEST_F(SavedLocalRingTest, WhatIsTooOldIsNotUsed) {
  SaveOne();
  directory_.Stop();
  const auto ring = Start(milliseconds(0));
  EXPECT_EQ(ring->WaitReady(milliseconds(500)).code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ring->status().save_problem.code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(SavedLocalRingTest, WhatIsDamagedIsNotUsedAndIsWrittenAnew) {
  SaveOne();
  std::ofstream(file_, std::ios::app) << "more";
  {
    const auto ring = Start();
    AwaitState(LocalRingState::kInSync);
    EXPECT_EQ(ring->status().save_problem.code(), absl::StatusCode::kDataLoss);
  }
  directory_.Stop();
  EXPECT_EQ(Start()->WaitReady(seconds(20)), absl::OkStatus());
}

TEST_F(SavedLocalRingTest, AFolderThatIsNotThereKeepsNobodyFromAnswers) {
  auto ring = *LocalRing::Start(
      "r", {.directory = {.endpoints = {directory_.endpoint()}}, .save_to = ::testing::TempDir() + "no/such/folder"});
  EXPECT_EQ(ring->WaitReady(seconds(20)), absl::OkStatus());
  EXPECT_TRUE(ring->Owner("k").ok());
}

TEST_F(SavedLocalRingTest, TheFileGoesWithTheRing) {
  SaveOne();
  {
    const auto ring = Start();
    AwaitState(LocalRingState::kInSync);
    directory_.DeleteRing("r");
    AwaitState(LocalRingState::kAbsent);
  }
  EXPECT_FALSE(std::filesystem::exists(file_));
}

TEST(SaveSchedule, ACopyThatIsGoodForEverIsSavedAnewNowAndThenToo) {
  SaveSchedule schedule([] { return 0.5; }, milliseconds::max());
  const SaveSchedule::Clock::time_point now{std::chrono::hours(1)};
  schedule.Tried({7, 1}, now);
  EXPECT_EQ(schedule.DueOf({7, 1}, now), now + std::chrono::hours(6));
}

TEST(SaveSchedule, WhatWasRemovedIsSavedAnew) {
  SaveSchedule schedule([] { return 0.5; }, std::chrono::hours(1));
  const SaveSchedule::Clock::time_point now{std::chrono::hours(1)};
  schedule.Tried({7, 1}, now);
  schedule.Removed();
  EXPECT_EQ(schedule.saved(), ring::Version());
  EXPECT_EQ(schedule.DueOf({7, 1}, now), now + seconds(5));
}

TEST(SaveSchedule, AVersionIsSavedOnceAfterARandomPartOfTheSpreadAndNowAndThenAnew) {
  SaveSchedule schedule([] { return 0.5; }, std::chrono::hours(1));
  SaveSchedule::Clock::time_point now{std::chrono::hours(1)};
  const auto due = schedule.DueOf({7, 1}, now);
  EXPECT_EQ(due, now + seconds(5));
  now += seconds(4);
  EXPECT_EQ(schedule.DueOf({7, 2}, now), due) << "not put off by the next version";
  schedule.Tried({7, 2}, now);
  EXPECT_EQ(schedule.saved(), (ring::Version{7, 2}));
  EXPECT_EQ(schedule.DueOf({7, 2}, now), now + std::chrono::minutes(15));
  EXPECT_EQ(schedule.DueOf({7, 3}, now), now + seconds(5));
  schedule.Tried({7, 3}, now);
  now += std::chrono::minutes(15);
  EXPECT_EQ(schedule.DueOf({7, 3}, now), now + seconds(5));
  schedule.Tried({}, now);
  EXPECT_EQ(schedule.DueOf({7, 3}, now), now + seconds(5)) << "soon again, since it failed";
}

}  // namespace
}  // namespace ringd
