// Reads that wait for a version: answered when it is there, and in every other case too.
#include "server/version_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/server/test_directory.h"
#include "tests/support/shared.h"

namespace ringd::server {
namespace {

using ::testing::HasSubstr;

using Clock = VersionWaits::Clock;

class VersionWaitsTest : public ::testing::Test {
 protected:
  struct Answer {
    std::optional<absl::StatusOr<RingStatePtr>> what;
    std::thread::id thread;
    int times = 0;
  };
  using AnswerBox = support::Shared<Answer>;

  VersionWaitsTest() {
    directory_.on_published = [this](std::span<const std::string> rings) {
      if (waits_.has_value()) waits_->Published(rings);
    };
    directory_.Make("r", {"n1"});
  }

  // Waits for the ring to be at this version.
  std::shared_ptr<AnswerBox> Wait(const std::string& ring, ring::Version version, Clock::time_point deadline,
                                  size_t bytes = 1) {
    auto box = std::make_shared<AnswerBox>();  // the wait holds it too
    ticket_ = waits_->Wait(ring, version, deadline, bytes, [box](absl::StatusOr<RingStatePtr> result) {
      box->Update([&](Answer& answer) {
        answer.what = std::move(result);
        answer.thread = std::this_thread::get_id();
        answer.times++;
      });
    });
    return box;
  }
  static bool Answered(AnswerBox& box) { return box.Get().what.has_value(); }
  static Answer Await(AnswerBox& box) {
    return box.Await([](const Answer& answer) { return answer.what.has_value(); });
  }
  static absl::Status StatusOf(AnswerBox& box) { return Await(box).what->status(); }
  static std::string VersionOf(AnswerBox& box) {
    const auto what = *Await(box).what;
    return what.ok() ? ToString((*what)->head.version) : what.status().ToString();
  }
  static Clock::time_point Far() { return Clock::now() + std::chrono::hours(1); }

  VersionWaits::Ticket ticket_;  // of the last wait
  TestDirectory directory_;
  std::optional<VersionWaits> waits_{std::in_place, *directory_};
};

TEST_F(VersionWaitsTest, AVersionThatIsThereIsAnsweredAtOnce) {
  for (const ring::Version version : {ring::Version{1, 2}, {1, 1}, {1, 0}, {0, 99}}) {
    const auto box = Wait("r", version, Clock::time_point::min());
    ASSERT_TRUE(Answered(*box)) << ToString(version);
    EXPECT_EQ(VersionOf(*box), "1/2");
    EXPECT_EQ(box->Get().thread, std::this_thread::get_id());
  }
}

TEST_F(VersionWaitsTest, ARingThatDoesNotExistIsNotFoundAtOnce) {
  const auto box = Wait("s", {1, 1}, Far());
  ASSERT_TRUE(Answered(*box));
  EXPECT_TRUE(absl::IsNotFound(StatusOf(*box)));
}

TEST_F(VersionWaitsTest, IsAnsweredByThePublicationThatBringsTheVersion) {
  directory_.Make("s");
  const auto box = Wait("r", {1, 4}, Far());
  directory_.Do(Add("r", "n2"));
  EXPECT_EQ(VersionOf(*Wait("r", {1, 3}, Far())), "1/3");
  const auto of_another = Wait("s", {2, 2}, Far());
  directory_.Do(Add("s", "n1"));
  EXPECT_EQ(VersionOf(*of_another), "2/2");
  EXPECT_FALSE(Answered(*box)) << "the look that answered the other passed it over";
  directory_.Do(Add("r", "n3"));
  EXPECT_EQ(VersionOf(*box), "1/4");
  EXPECT_NE(box->Get().thread, std::this_thread::get_id()) << "the publishing thread has better to do";
  directory_.Do(Add("r", "n4"));
  EXPECT_EQ(box->Get().times, 1);
}

TEST_F(VersionWaitsTest, ABurstThatGoesBeyondTheVersionAnswersWithWhatIsThere) {
  const auto box = Wait("r", {1, 3}, Far());
  directory_->Commit(std::vector<Mutation>{Add("r", "n2"), Add("r", "n3")});
  EXPECT_EQ(VersionOf(*box), "1/4");
}

TEST_F(VersionWaitsTest, ARingMadeAnewIsBeyondEveryVersionOfItsFormerSelf) {
  const auto box = Wait("r", {1, 100}, Far());
  directory_->Commit(std::vector<Mutation>{Forced(Delete("r")), Create("r")});
  EXPECT_EQ(VersionOf(*box), "2/1");
}

TEST_F(VersionWaitsTest, TheDeadlineEndsTheWaitAndSaysWhereTheRingIs) {
  const auto far = Wait("r", {1, 9}, Far());
  const auto passed = Wait("r", {1, 5}, Clock::time_point::min());
  const auto soon = Wait("r", {1, 6}, Clock::now() + std::chrono::milliseconds(1));
  for (const auto& box : {passed.get(), soon.get()}) {
    EXPECT_TRUE(absl::IsUnavailable(StatusOf(*box))) << StatusOf(*box);
    EXPECT_NE(box->Get().thread, std::this_thread::get_id());
  }
  EXPECT_THAT(std::string(StatusOf(*passed).message()), HasSubstr("\"r\" is at version 1/2 and has not reached 1/5"));
  EXPECT_FALSE(Answered(*far));
  directory_.Do(Add("r", "n2"));
  for (const auto& box : {passed.get(), soon.get()}) EXPECT_EQ(box->Get().times, 1);
}

TEST_F(VersionWaitsTest, AVersionThatIsThereWhenTheDeadlineComesIsAnsweredThoughNobodyToldOfIt) {
  directory_.on_published = nullptr;
  // The thread of the waits is held up in the answer before.
  support::Shared<bool> busy{false};
  support::Shared<bool> let_go{false};
  waits_->Wait("r", {1, 9}, Clock::time_point::min(), 1, [&](const auto&) {
    busy.Update([](bool& is) { is = true; });
    let_go.Await([](bool is) { return is; });
  });
  busy.Await([](bool is) { return is; });
  const auto reached = Wait("r", {1, 3}, Clock::time_point::min());
  directory_.Do(Add("r", "n2"));
  let_go.Update([](bool& is) { is = true; });
  EXPECT_EQ(VersionOf(*reached), "1/3");
}

TEST_F(VersionWaitsTest, AnEarlierDeadlineThatComesLaterIsKept) {
  const auto first = Wait("r", {1, 9}, Far());
  const auto second = Wait("r", {1, 9}, Clock::now());
  EXPECT_TRUE(absl::IsUnavailable(StatusOf(*second)));
  EXPECT_FALSE(Answered(*first));
}

TEST_F(VersionWaitsTest, DeletingTheRingEndsTheWait) {
  const auto box = Wait("r", {1, 3}, Far());
  directory_.Do(Forced(Delete("r")));
  EXPECT_TRUE(absl::IsNotFound(StatusOf(*box)));
}

TEST_F(VersionWaitsTest, OneWaitMoreThanTheLimitIsRefusedAtOnce) {
  std::vector<std::shared_ptr<AnswerBox>> boxes;
  while (boxes.size() < VersionWaits::kMaxWaits) boxes.push_back(Wait("r", {1, 3}, Far()));
  const auto refused = Wait("r", {1, 3}, Far());
  ASSERT_TRUE(Answered(*refused));
  EXPECT_TRUE(absl::IsResourceExhausted(StatusOf(*refused)));
  EXPECT_EQ(VersionOf(*Wait("r", {1, 2}, Far())), "1/2") << "what needs no waiting is still answered";
  directory_.Do(Add("r", "n2"));
  for (const auto& box : boxes) ASSERT_EQ(VersionOf(*box), "1/3");
}

TEST_F(VersionWaitsTest, MoreBytesThanTheLimitAreRefusedUntilOthersAreAnswered) {
  const auto half = Wait("r", {1, 3}, Far(), VersionWaits::kMaxBytes / 2);
  const auto rest = Wait("r", {1, 4}, Far(), VersionWaits::kMaxBytes - VersionWaits::kMaxBytes / 2);
  EXPECT_TRUE(absl::IsResourceExhausted(StatusOf(*Wait("r", {1, 4}, Far(), 1))));
  directory_.Do(Add("r", "n2"));
  EXPECT_EQ(VersionOf(*half), "1/3");
  const auto again = Wait("r", {1, 4}, Far(), VersionWaits::kMaxBytes / 2);
  directory_.Do(Add("r", "n3"));
  for (const auto& box : {rest.get(), again.get()}) EXPECT_EQ(VersionOf(*box), "1/4");
}

TEST_F(VersionWaitsTest, ACallerThatGoesEndsItsWaitAndNoOther) {
  const Clock::time_point deadline = Far();
  const auto first = Wait("r", {1, 3}, deadline, VersionWaits::kMaxBytes / 2);
  const auto gone = Wait("r", {1, 3}, deadline, VersionWaits::kMaxBytes / 2);
  const VersionWaits::Ticket ticket = ticket_;
  EXPECT_TRUE(absl::IsResourceExhausted(StatusOf(*Wait("r", {1, 3}, deadline, 2))));
  waits_->Cancel(ticket);
  EXPECT_TRUE(absl::IsCancelled(StatusOf(*gone)));
  EXPECT_FALSE(Answered(*first));
  const auto next = Wait("r", {1, 3}, deadline, 2);  // what it held is free
  waits_->Cancel(ticket);
  directory_.Do(Add("r", "n2"));
  for (const auto& box : {first.get(), next.get()}) EXPECT_EQ(VersionOf(*box), "1/3");
  waits_->Cancel(ticket_);  // it has been answered
  EXPECT_EQ(gone->Get().times + next->Get().times, 2);
}

TEST_F(VersionWaitsTest, StopEndsEveryWaitAndWhatComesLater) {
  const auto first = Wait("r", {1, 3}, Far());
  const auto second = Wait("r", {2, 1}, Far());
  waits_->Stop();
  for (const auto& box : {first.get(), second.get()}) {
    ASSERT_TRUE(Answered(*box));
    EXPECT_TRUE(absl::IsUnavailable(StatusOf(*box)));
  }
  const auto late = Wait("r", {1, 3}, Far());
  ASSERT_TRUE(Answered(*late));
  EXPECT_TRUE(absl::IsUnavailable(StatusOf(*late)));
  EXPECT_EQ(ring::ReasonOf(StatusOf(*late)), kDraining);
  EXPECT_EQ(VersionOf(*Wait("r", {1, 2}, Far())), "1/2") << "what needs no waiting is still answered";
  waits_->Stop();
  directory_.Do(Add("r", "n2"));
  EXPECT_EQ(first->Get().times, 1);
}

TEST_F(VersionWaitsTest, TheDestructorStops) {
  const auto box = Wait("r", {1, 3}, Far());
  waits_.reset();
  EXPECT_TRUE(Answered(*box));
}

// No change falls between the look at the directory and the wait.
TEST_F(VersionWaitsTest, EveryOfManyWaitsIsAnsweredWhileTheRingChanges) {
  constexpr uint64_t kLast = 300;
  std::thread writer([this] { directory_.ChangeUpTo("r", "n1", kLast); });
  std::vector<std::shared_ptr<AnswerBox>> boxes;
  for (uint64_t revision = 3; revision <= kLast; ++revision) boxes.push_back(Wait("r", {1, revision}, Far()));
  for (size_t i = 0; i < boxes.size(); ++i) {
    const auto state = *Await(*boxes[i]).what;
    ASSERT_TRUE(state.ok());
    EXPECT_GE((*state)->head.version.revision, i + 3);
  }
  writer.join();
}

}  // namespace
}  // namespace ringd::server
