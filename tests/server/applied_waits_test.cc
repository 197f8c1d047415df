// Mutations that wait for those who watch: answered when the share has applied them, and in every other case too.
#include "server/applied_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "tests/server/test_directory.h"
#include "tests/support/shared.h"

namespace ringd::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::chrono::hours kLong{1};
const RingSelector kAll{.prefix = ""};

class NoRings : public WatchedRings {
 public:
  void EachRing(const std::string&, const VisitRing&) const override {}
};

class AppliedWaitsTest : public ::testing::Test {
 protected:
  struct Answer {
    std::optional<absl::StatusOr<AppliedOutcome>> what;
    std::thread::id thread;
    int times = 0;
  };
  using AnswerBox = support::Shared<Answer>;

  AppliedWaitsTest() {
    directory_.on_published = [this](std::span<const std::string> rings) {
      if (waits_.has_value()) waits_->Published(rings);
    };
    directory_.Make("r", {"n1"});
  }

  std::shared_ptr<NoRings> Watch(const std::string& name, const RingSelector& selector = kAll) {
    auto stream = std::make_shared<NoRings>();
    watchers_.Add(stream, {.name = name, .selector = selector});
    return stream;
  }
  void Report(const std::string& name, ring::Version version, const std::string& ring = "r") {
    const std::pair<std::string, ring::Version> position{ring, version};
    EXPECT_TRUE(watchers_.Report(name, std::span(&position, 1)).ok());
  }
  AppliedWaits::Place Reserve(size_t bytes = 1) {
    const auto place = waits_->Reserve(bytes);
    EXPECT_TRUE(place.ok()) << place.status();
    return place.value_or(0);
  }
  std::shared_ptr<AnswerBox> Begin(AppliedWaits::Place place, AppliedWaits::Want want) {
    auto box = std::make_shared<AnswerBox>();  // the wait holds it too
    waits_->Begin(place, std::move(want), [box](absl::StatusOr<AppliedOutcome> result) {
      box->Update([&](Answer& answer) {
        answer.what = std::move(result);
        answer.thread = std::this_thread::get_id();
        answer.times++;
      });
    });
    return box;
  }
  // A wait for ring "r" that counts by the time this returns.
  std::shared_ptr<AnswerBox> Wait(ring::Version version, double share = 1,
                                  AppliedWaits::Clock::duration timeout = kLong) {
    auto box = Begin(Reserve(), {.ring = "r", .version = version, .share = share, .timeout = timeout});
    Settle();
    return box;
  }
  static bool Answered(AnswerBox& box) { return box.Get().what.has_value(); }
  static Answer Await(AnswerBox& box) {
    return box.Await([](const Answer& answer) { return answer.what.has_value(); });
  }
  static absl::Status StatusOf(AnswerBox& box) { return Await(box).what->status(); }
  // "applied/watchers reached: lagging..."
  static std::string Text(AnswerBox& box) {
    const auto what = *Await(box).what;
    if (!what.ok()) return what.status().ToString();
    std::string text = std::to_string(what->applied) + "/" + std::to_string(what->watchers);
    text += what->reached ? " reached" : " not reached";
    for (const std::string& name : what->lagging) text += " " + name;
    return text;
  }
  // Returns once the thread has looked at what it was told before.
  void Settle() {
    const auto of_none = Begin(Reserve(), {.ring = "none", .version = {9, 1}, .timeout = kLong});
    Await(*of_none);
  }

  TestDirectory directory_;
  Watchers watchers_{*directory_,
                     {.on_reached = [this](std::span<const uint64_t> places) { waits_->Reached(places); }}};
  std::optional<AppliedWaits> waits_{std::in_place, *directory_, watchers_};
};

TEST_F(AppliedWaitsTest, IsAnsweredByTheReportThatReachesTheShare) {
  const auto a = Watch("a");
  const auto b = Watch("b");
  const auto c = Watch("c");
  const auto unnamed = Watch("");
  Report("a", {1, 2});
  const auto half = Wait({1, 2}, 0.5);
  const auto all = Wait({1, 2});
  Report("b", {1, 1});
  Settle();
  EXPECT_FALSE(Answered(*half));
  Report("b", {1, 2});
  EXPECT_EQ(Text(*half), "2/3 reached c");
  EXPECT_NE(half->Get().thread, std::this_thread::get_id());
  Settle();
  EXPECT_FALSE(Answered(*all));
  directory_.Do(Add("r", "n2"));
  Report("c", {1, 3});
  EXPECT_EQ(Text(*all), "3/3 reached") << "a later version is as good";
  EXPECT_EQ(all->Get().times, 1);
}

TEST_F(AppliedWaitsTest, WhatIsReachedAlreadyIsAnsweredAtOnce) {
  EXPECT_EQ(Text(*Wait({1, 2})), "0/0 reached");
  const auto a = Watch("a");
  Report("a", {1, 2});
  EXPECT_EQ(Text(*Wait({1, 2})), "1/1 reached");
}

TEST_F(AppliedWaitsTest, NamesAreCountedAndNotWatches) {
  const auto first = Watch("a");
  const auto second = Watch("a", {.names = {"r"}});
  const auto b = Watch("b");
  const auto wait = Wait({1, 2});
  Report("b", {1, 2});
  Settle();
  EXPECT_FALSE(Answered(*wait));
  Report("a", {1, 2});
  EXPECT_EQ(Text(*wait), "2/2 reached");
}

TEST_F(AppliedWaitsTest, WhoDoesNotSelectTheRingIsNotCounted) {
  const auto a = Watch("a", {.names = {"s"}});
  const auto b = Watch("b", {.prefix = "rr"});
  EXPECT_EQ(Text(*Wait({1, 2})), "0/0 reached");
}

TEST_F(AppliedWaitsTest, WhoHasGoneIsNotWaitedForAndWhoComesIs) {
  const auto a = Watch("a");
  auto b = Watch("b");
  Report("a", {1, 2});
  const auto wait = Wait({1, 2});
  const auto c = Watch("c");
  watchers_.Remove(b.get());
  Settle();
  EXPECT_FALSE(Answered(*wait)) << "c has come";
  watchers_.Remove(c.get());
  EXPECT_EQ(Text(*wait), "1/1 reached");
}

TEST_F(AppliedWaitsTest, ANameGoesWithItsLastWatchThatSelectsTheRing) {
  const auto first = Watch("a");
  const auto second = Watch("a", {.names = {"r"}});
  const auto elsewhere = Watch("a", {.names = {"s"}});
  const auto wait = Wait({1, 2});
  watchers_.Remove(first.get());
  Settle();
  EXPECT_FALSE(Answered(*wait));
  watchers_.Remove(second.get());
  EXPECT_EQ(Text(*wait), "0/0 reached");
}

TEST_F(AppliedWaitsTest, TheTimeEndsTheWaitAndSaysWhoLags) {
  const auto a = Watch("a");
  const auto b = Watch("b");
  const auto c = Watch("c");
  Report("b", {1, 2});
  const auto far = Wait({1, 2});
  const auto soon = Wait({1, 2}, 1, std::chrono::milliseconds(1));
  EXPECT_EQ(Text(*soon), "1/3 not reached a c");
  EXPECT_FALSE(Answered(*far));
}

TEST_F(AppliedWaitsTest, AHundredOfThoseWhoLagAreNamed) {
  std::vector<std::shared_ptr<NoRings>> streams;
  for (int i = 1'000; i < 1'250; ++i) streams.push_back(Watch("w" + std::to_string(i)));
  const auto wait = Wait({1, 2}, 1, std::chrono::milliseconds(1));
  const AppliedOutcome outcome = *Await(*wait).what.value();
  EXPECT_EQ(outcome.watchers, 250u);
  ASSERT_THAT(outcome.lagging, SizeIs(Watchers::kMaxLagging));
  EXPECT_EQ(outcome.lagging.front() + outcome.lagging.back(), "w1000w1099");
}

TEST_F(AppliedWaitsTest, DeletingTheRingEndsTheWaitAndSoDoesMakingItAnew) {
  directory_.Make("s");
  const auto a = Watch("a");
  const auto deleted = Wait({1, 2});
  const auto other = Begin(Reserve(), {.ring = "s", .version = {2, 1}, .timeout = kLong});
  directory_.Do(Forced(Delete("r")));
  EXPECT_EQ(Text(*deleted), "0/1 not reached a");
  directory_->Commit(std::vector<Mutation>{Delete("s"), Create("s")});
  EXPECT_EQ(Text(*other), "0/1 not reached a");
  EXPECT_EQ(Text(*Wait({1, 2})), "0/1 not reached a") << "begun when it has gone already";
}

TEST_F(AppliedWaitsTest, CountsStayTrueWhereReportsOfRingsThatAreGoneAreDropped) {
  const auto a = Watch("a");
  const auto b = Watch("b");
  Report("a", {1, 2});
  const auto wait = Wait({1, 2});
  directory_.on_published = nullptr;  // so that the wait is not over
  directory_.Do(Forced(Delete("r")));
  for (uint64_t i = 0; i < 40; ++i) {
    directory_.Make("s" + std::to_string(i));
    Report("a", {i + 2, 1}, "s" + std::to_string(i));
  }
  watchers_.Remove(a.get());
  waits_->Stop();
  EXPECT_EQ(Text(*wait), "0/1 not reached b");
}

TEST_F(AppliedWaitsTest, OneWaitMoreThanTheLimitIsRefusedUntilAPlaceIsFree) {
  std::vector<AppliedWaits::Place> places;
  while (places.size() < AppliedWaits::kMaxWaits) places.push_back(Reserve());
  EXPECT_TRUE(absl::IsResourceExhausted(waits_->Reserve(1).status()));
  waits_->Release(places.back());
  EXPECT_EQ(Text(*Begin(Reserve(), {.ring = "r", .version = {1, 2}, .timeout = kLong})), "0/0 reached");
  Reserve();
  EXPECT_TRUE(absl::IsResourceExhausted(waits_->Reserve(1).status()));
}

TEST_F(AppliedWaitsTest, MoreBytesThanTheLimitAreRefused) {
  const AppliedWaits::Place place = Reserve(AppliedWaits::kMaxBytes - 1);
  EXPECT_TRUE(absl::IsResourceExhausted(waits_->Reserve(2).status()));
  Reserve(1);
  waits_->Release(place);
  Reserve(AppliedWaits::kMaxBytes - 1);
}

TEST_F(AppliedWaitsTest, ACallerThatGoesEndsItsWaitAndNoOther) {
  const auto a = Watch("a");
  const AppliedWaits::Place place = Reserve(AppliedWaits::kMaxBytes - 10);
  const auto gone = Begin(place, {.ring = "r", .version = {1, 2}, .timeout = kLong});
  const auto other = Wait({1, 2});
  waits_->Cancel(place);
  EXPECT_TRUE(absl::IsCancelled(StatusOf(*gone)));
  Reserve(AppliedWaits::kMaxBytes - 10);  // what it held is free
  waits_->Cancel(place);
  EXPECT_FALSE(Answered(*other));
  Report("a", {1, 2});
  EXPECT_EQ(Text(*other), "1/1 reached");
  EXPECT_EQ(gone->Get().times, 1);
}

TEST_F(AppliedWaitsTest, ACallerThatGoesBeforeItsWaitBeginsDoesNotWait) {
  const auto a = Watch("a");
  const AppliedWaits::Place place = Reserve(AppliedWaits::kMaxBytes);
  waits_->Cancel(place);
  const auto gone = Begin(place, {.ring = "r", .version = {1, 2}, .timeout = kLong});
  EXPECT_TRUE(absl::IsCancelled(StatusOf(*gone)));
  Reserve(AppliedWaits::kMaxBytes);
}

TEST_F(AppliedWaitsTest, StopEndsEveryWaitAndWhatComesLater) {
  const auto a = Watch("a");
  const auto wait = Wait({1, 2});
  const AppliedWaits::Place place = Reserve();
  waits_->Stop();
  ASSERT_TRUE(Answered(*wait));
  EXPECT_EQ(Text(*wait), "0/1 not reached a");
  watchers_.Remove(a.get());
  const auto late = Begin(place, {.ring = "r", .version = {1, 2}, .timeout = kLong});
  ASSERT_TRUE(Answered(*late));
  EXPECT_EQ(Text(*late), "0/0 not reached") << "streams that a drain ended have applied nothing";
  waits_->Stop();
}

// No report falls between the count and what is counted from then on.
TEST_F(AppliedWaitsTest, EveryOfManyWaitsIsAnsweredWhileWatchersComeGoAndReport) {
  constexpr uint64_t kLast = 200;
  const auto stays = Watch("stays");
  std::thread passer_by([this] {
    for (int i = 0; i < 500; ++i) watchers_.Remove(Watch("passes-by").get());
  });
  std::thread applier([this] {
    for (uint64_t revision = 3; revision <= kLast; ++revision) {
      directory_.ChangeUpTo("r", "n1", revision);
      Report("stays", {1, revision});
    }
  });
  std::vector<std::shared_ptr<AnswerBox>> boxes;
  for (uint64_t revision = 3; revision <= kLast; ++revision) {
    boxes.push_back(Begin(Reserve(), {.ring = "r", .version = {1, revision}, .timeout = kLong}));
  }
  for (const auto& box : boxes) ASSERT_THAT(Text(*box), HasSubstr(" reached"));
  applier.join();
  passer_by.join();
  EXPECT_THAT(Text(*Wait({1, kLast})), "1/1 reached");
}

}  // namespace
}  // namespace ringd::server
