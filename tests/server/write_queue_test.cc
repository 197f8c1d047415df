// The queue before the directory: what is done together, what is refused, and that every job is answered once.
#include "server/write_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>

#include "tests/server/test_directory.h"
#include "tests/support/shared.h"

namespace ringd::server {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// A queue over a directory whose store can be held up.
class WriteQueueTest : public ::testing::Test {
 protected:
  WriteQueueTest()
      : store_([this](const std::vector<Write>& writes) {
          bursts_.Update([&](auto& bursts) { bursts.push_back(writes.size()); });
          held_up_.Await([](bool held_up) { return !held_up; });
          return absl::OkStatus();
        }),
        directory_(store_, {}),
        queue_(std::in_place, *directory_) {}

  // Holds up the store, and returns when the queue's thread waits in it with one job.
  void HoldUp() {
    held_up_.Update([](bool& held_up) { held_up = true; });
    Submit(Create("held-up"));
    bursts_.Await([](const auto& bursts) { return !bursts.empty(); });
  }
  void LetGo() {
    held_up_.Update([](bool& held_up) { held_up = false; });
  }
  void Submit(Mutation mutation) {
    const std::string name = mutation.ring;
    queue_->Submit({.mutation = std::move(mutation), .done = [this, name](absl::StatusOr<MutationResult> result) {
                      answers_.Update([&](auto& answers) { answers.push_back({name, result.status()}); });
                    }});
  }
  void Submit(Mutation mutation, StillWanted still_wanted) {
    mutation.still_wanted = std::move(still_wanted);
    Submit(std::move(mutation));
  }
  using Answer = std::pair<std::string, absl::Status>;
  std::vector<Answer> AwaitAnswers(size_t count) {
    return answers_.Await([count](const auto& answers) { return answers.size() >= count; });
  }
  static std::vector<std::string> NamesOf(const std::vector<Answer>& answers) {
    std::vector<std::string> names;
    for (const Answer& answer : answers) names.push_back(answer.first);
    return names;
  }

  support::Shared<bool> held_up_{false};
  support::Shared<std::vector<size_t>> bursts_;
  support::Shared<std::vector<Answer>> answers_;
  MemoryStore store_;
  TestDirectory directory_;
  std::optional<WriteQueue> queue_;
};

TEST_F(WriteQueueTest, AnswersWithTheResultOfTheDirectory) {
  Submit(Create("r"));
  EXPECT_TRUE(AwaitAnswers(1)[0].second.ok());
  EXPECT_EQ(directory_.At("r"), "1/1");
  Submit(Create("r"));
  EXPECT_TRUE(absl::IsAlreadyExists(AwaitAnswers(2)[1].second));
}

TEST_F(WriteQueueTest, WhatWaitsIsDoneTogetherInOrder) {
  HoldUp();
  for (const char* ring : {"c", "a", "b"}) Submit(Create(ring));
  LetGo();
  EXPECT_THAT(NamesOf(AwaitAnswers(4)), ElementsAre("held-up", "c", "a", "b"));
  EXPECT_THAT(bursts_.Get(), ElementsAre(1, 3));
  EXPECT_EQ(directory_.At("b"), "4/1");
}

TEST_F(WriteQueueTest, IsBoundedAndItsBurstsToo) {
  HoldUp();
  for (size_t i = 0; i < WriteQueue::kMaxWaiting; ++i) Submit(Create("r" + std::to_string(i)));
  EXPECT_THAT(answers_.Get(), SizeIs(0));
  Submit(Create("one-too-many"));
  const std::vector<Answer> refused = answers_.Get();
  ASSERT_THAT(refused, SizeIs(1)) << "on the caller's thread";
  EXPECT_EQ(refused[0].first, "one-too-many");
  EXPECT_TRUE(absl::IsResourceExhausted(refused[0].second)) << refused[0].second;
  EXPECT_EQ(ring::ReasonOf(refused[0].second), ring::kLimitExceeded);
  LetGo();
  for (const Answer& answer : AwaitAnswers(2 + WriteQueue::kMaxWaiting)) {
    EXPECT_EQ(answer.second.ok(), answer.first != "one-too-many") << answer.second;
  }
  EXPECT_THAT(bursts_.Get(), ElementsAre(1, 64, 64, 64, 64));
  EXPECT_EQ(directory_.At("one-too-many"), "absent");
  Submit(Create("later"));
  EXPECT_TRUE(AwaitAnswers(3 + WriteQueue::kMaxWaiting).back().second.ok()) << "there is room again";
}

TEST_F(WriteQueueTest, WhatIsNoLongerWantedIsNotDone) {
  HoldUp();
  Submit(Create("a"));
  Submit(Create("b"), [] { return absl::DeadlineExceededError("too late"); });
  Submit(Create("c"));
  LetGo();
  std::vector<Answer> answers = AwaitAnswers(4);
  for (const Answer& answer : answers) {
    EXPECT_EQ(absl::IsDeadlineExceeded(answer.second), answer.first == "b") << answer.second;
  }
  EXPECT_EQ(directory_.At("b"), "absent");
  EXPECT_EQ(directory_.At("c"), "3/1");
  EXPECT_THAT(bursts_.Get(), ElementsAre(1, 2));
  Submit(Create("d"), [] { return absl::CancelledError("gone"); });
  EXPECT_TRUE(absl::IsCancelled(AwaitAnswers(5)[4].second));
  EXPECT_THAT(bursts_.Get(), ElementsAre(1, 2)) << "a burst of nothing is none";
}

// Not at the beginning of its burst: those before it in the burst may take long.
TEST_F(WriteQueueTest, IsAskedWhetherItIsWantedJustBeforeItWouldBeDone) {
  HoldUp();
  support::Shared<std::vector<std::string>> asked;
  bool gone = false;  // of the queue's thread
  Submit(Create("a"), [&] {
    asked.Update([](auto& names) { names.push_back("a"); });
    gone = true;  // while "a" is being done
    return absl::OkStatus();
  });
  Submit(Create("b"), [&] {
    asked.Update([](auto& names) { names.push_back("b"); });
    return gone ? absl::CancelledError("gone") : absl::OkStatus();
  });
  EXPECT_THAT(asked.Get(), SizeIs(0));
  LetGo();
  AwaitAnswers(3);
  EXPECT_THAT(asked.Get(), ElementsAre("a", "b")) << "once each, in order";
  EXPECT_EQ(directory_.At("a"), "2/1");
  EXPECT_EQ(directory_.At("b"), "absent");
}

TEST_F(WriteQueueTest, StopDoesWhatWasSubmittedAndRefusesWhatComesLater) {
  HoldUp();
  for (int i = 0; i < 100; ++i) Submit(Create("r" + std::to_string(i)));
  std::thread stop([this] { queue_->Stop(); });
  LetGo();
  stop.join();
  std::vector<Answer> answers = answers_.Get();
  ASSERT_THAT(answers, SizeIs(101));
  for (const Answer& answer : answers) EXPECT_TRUE(answer.second.ok()) << answer.second;
  EXPECT_EQ(directory_.At("r99"), "101/1");

  Submit(Create("late"));
  answers = answers_.Get();
  ASSERT_THAT(answers, SizeIs(102)) << "on the caller's thread";
  EXPECT_TRUE(absl::IsUnavailable(answers.back().second)) << answers.back().second;
  EXPECT_EQ(ring::ReasonOf(answers.back().second), kDraining);
  queue_->Stop();  // again
  queue_.reset();
  EXPECT_THAT(answers_.Get(), SizeIs(102));
}

TEST_F(WriteQueueTest, TheDestructorStops) {
  for (int i = 0; i < 10; ++i) Submit(Create("r" + std::to_string(i)));
  queue_.reset();
  EXPECT_THAT(answers_.Get(), SizeIs(10));
}

TEST_F(WriteQueueTest, EachOfManyCallersIsAnsweredOnce) {
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([this, caller] {
      for (int i = 0; i < 50; ++i) Submit(Create(std::to_string(caller) + "-" + std::to_string(i)));
    });
  }
  for (std::thread& caller : callers) caller.join();
  std::vector<std::string> names = NamesOf(AwaitAnswers(200));
  queue_->Stop();
  EXPECT_THAT(answers_.Get(), SizeIs(200));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
  EXPECT_THAT(directory_->List("", "", 1'000), SizeIs(200));
}

}  // namespace
}  // namespace ringd::server
