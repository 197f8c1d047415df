// The hub between directory and streams: who is told what, how many may listen, and how it ends.
#include "server/watch_hub.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "proto/retry_after.h"
#include "tests/server/store_test_data.h"
#include "tests/server/test_directory.h"
#include "tests/support/shared.h"

namespace ringd::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Remembers what it is told.
class RecordingSink : public WatchSink {
 public:
  struct Told {
    std::vector<std::vector<std::string>> touched;
    int heartbeats = 0;
    std::vector<std::chrono::seconds> reconnects;
    std::optional<std::chrono::steady_clock::time_point> reconnect_at;
    std::vector<std::vector<uint64_t>> history;
    std::vector<absl::Status> ends;
    std::optional<std::chrono::steady_clock::time_point> written_before;
  };
  void Touched(const std::vector<std::string>& rings) override {
    told_.Update([&](Told& told) { told.touched.push_back(rings); });
  }
  void HeartbeatDue() override {
    told_.Update([](Told& told) { ++told.heartbeats; });
  }
  void ReconnectDue(std::chrono::seconds within) override {
    told_.Update([&](Told& told) {
      told.reconnects.push_back(within);
      told.reconnect_at = std::chrono::steady_clock::now();
    });
  }
  void HistoryRead(const std::string& ring, std::vector<ChangeRecord> changes) override {
    EXPECT_EQ(ring, "r");
    told_.Update([&](Told& told) { told.history.push_back(Revisions(changes)); });
  }
  void End(const absl::Status& status) override {
    told_.Update([&](Told& told) { told.ends.push_back(status); });
  }
  void EndIfStuck(std::chrono::steady_clock::time_point written_before) override {
    told_.Update([&](Told& told) { told.written_before = written_before; });
  }

  Told Get() const { return told_.Get(); }
  // Waits until the sink was told of this ring; the rings of every message until then.
  std::set<std::string> AwaitRing(const std::string& ring) {
    std::set<std::string> all;
    const Told told = told_.Await([&](const Told& so_far) {
      return !so_far.touched.empty() && std::count(so_far.touched.back().begin(), so_far.touched.back().end(), ring);
    });
    for (const auto& rings : told.touched) all.insert(rings.begin(), rings.end());
    return all;
  }
  Told AwaitHeartbeats(int count) {
    return told_.Await([count](const Told& told) { return told.heartbeats >= count; });
  }
  Told AwaitReconnect() {
    return told_.Await([](const Told& told) { return !told.reconnects.empty(); });
  }
  Told AwaitEnd() {
    return told_.Await([](const Told& told) { return !told.ends.empty(); });
  }
  Told AwaitLook() {
    return told_.Await([](const Told& told) { return told.written_before.has_value(); });
  }
  Told AwaitHistory(size_t count) {
    return told_.Await([count](const Told& told) { return told.history.size() >= count; });
  }

 private:
  support::Shared<Told> told_;
};

constexpr std::chrono::hours kNever{1};

class WatchHubTest : public ::testing::Test {
 protected:
  void Publish(const std::vector<std::string>& rings) { hub_->Published(rings); }
  std::shared_ptr<RecordingSink> Added(const std::string& connection = std::string(WatchHub::kUnixConnections)) {
    auto sink = std::make_shared<RecordingSink>();
    EXPECT_TRUE(hub_->Add(sink, connection).ok());
    return sink;
  }

  TestDirectory directory_;
  std::optional<WatchHub> hub_{std::in_place, directory_.store(), WatchHub::Options{.heartbeat_interval = kNever}};
};

TEST_F(WatchHubTest, EverySinkIsToldOfEveryRing) {
  const auto first = Added("c1");
  const auto second = Added();
  EXPECT_EQ(hub_->watches(), 2u);
  Publish({"b", "a", "b"});
  Publish({"c"});
  Publish({"last"});
  for (const auto& sink : {first, second}) {
    EXPECT_THAT(sink->AwaitRing("last"), ElementsAre("a", "b", "c", "last"));
    for (const auto& rings : sink->Get().touched) {
      EXPECT_TRUE(std::is_sorted(rings.begin(), rings.end()));
      EXPECT_EQ(std::adjacent_find(rings.begin(), rings.end()), rings.end()) << "each ring once a message";
    }
    EXPECT_EQ(sink->Get().heartbeats, 0);
  }
}

TEST_F(WatchHubTest, ReadersThatAreStuckAreLookedForWhateverHeartbeatsThereAre) {
  constexpr std::chrono::milliseconds kStuckAfter{20};
  hub_.emplace(directory_.store(), WatchHub::Options{.heartbeat_interval = kNever, .stuck_after = kStuckAfter});
  const auto sink = Added();
  const auto written_before = *sink->AwaitLook().written_before;
  EXPECT_LE(written_before, std::chrono::steady_clock::now() - kStuckAfter);
}

TEST_F(WatchHubTest, StreamsThatAreOfAgeAreToldToReconnectAndEndWhereTheyDoNot) {
  constexpr std::chrono::milliseconds kAge{20};
  hub_.emplace(directory_.store(),
               WatchHub::Options{
                   .heartbeat_interval = kNever, .max_connection_age = kAge, .leave_within = std::chrono::seconds(0)});
  const auto added_at = std::chrono::steady_clock::now();
  const auto sink = Added();
  const RecordingSink::Told told = sink->AwaitEnd();
  EXPECT_GE(*told.reconnect_at - added_at, kAge * 11 / 10) << "when gRPC has closed the connection to new calls";
  EXPECT_THAT(told.reconnects, ElementsAre(std::chrono::seconds(0))) << "once, and before the end";
  EXPECT_EQ(told.ends[0].code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(RetryAfter(told.ends[0]), std::chrono::milliseconds(0));
}

TEST_F(WatchHubTest, StreamsThatWereToldToReconnectHaveTheirTime) {
  hub_.emplace(directory_.store(), WatchHub::Options{.heartbeat_interval = std::chrono::milliseconds(1),
                                                     .max_connection_age = std::chrono::milliseconds(1)});
  const auto sink = Added();
  sink->AwaitReconnect();
  sink->AwaitHeartbeats(sink->Get().heartbeats + 20);
  EXPECT_THAT(sink->Get().ends, IsEmpty());
  EXPECT_THAT(sink->Get().reconnects, ElementsAre(std::chrono::seconds(30))) << "and are told once";
}

TEST_F(WatchHubTest, ASinkThatWasRemovedIsToldNothingAndLetGo) {
  const auto stays = Added();
  auto goes = Added();
  hub_->Remove(goes.get());
  hub_->Remove(goes.get());
  EXPECT_EQ(hub_->watches(), 1u);
  Publish({"a"});
  stays->AwaitRing("a");
  EXPECT_THAT(goes->Get().touched, IsEmpty());
  const std::weak_ptr<RecordingSink> observer = goes;
  goes.reset();
  EXPECT_TRUE(observer.expired());
}

TEST_F(WatchHubTest, HeartbeatsComeAgainAndAgain) {
  hub_.emplace(directory_.store(), WatchHub::Options{.heartbeat_interval = std::chrono::milliseconds(1)});
  const auto first = Added();
  first->AwaitHeartbeats(3);
  const auto late = Added();
  late->AwaitHeartbeats(2);
  EXPECT_THAT(late->Get().touched, IsEmpty());
}

TEST_F(WatchHubTest, WhatWasPublishedIsToldBeforeTheNextHeartbeat) {
  hub_.emplace(directory_.store(), WatchHub::Options{.heartbeat_interval = std::chrono::milliseconds(1)});
  const auto sink = Added();
  for (int i = 0; i < 50; ++i) {
    Publish({"ring-" + std::to_string(i)});
    const int heartbeats = sink->Get().heartbeats;
    // One heartbeat may have been on its way when the ring was published.
    const auto told = sink->AwaitHeartbeats(heartbeats + 2);
    ASSERT_FALSE(told.touched.empty());
    EXPECT_THAT(told.touched.back(), ElementsAre("ring-" + std::to_string(i)));
  }
}

TEST_F(WatchHubTest, AConnectionHasItsNumberOfWatches) {
  hub_.emplace(directory_.store(), WatchHub::Options{.heartbeat_interval = kNever});
  std::vector<std::shared_ptr<RecordingSink>> sinks;
  for (int i = 0; i < 100; ++i) sinks.push_back(Added("c1"));
  const auto refused_sink = std::make_shared<RecordingSink>();
  const absl::Status refused = hub_->Add(refused_sink, "c1");
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_EQ(ring::ReasonOf(refused), ring::kLimitExceeded);
  EXPECT_EQ(hub_->watches(), 100u);
  hub_->Remove(refused_sink.get());
  EXPECT_FALSE(hub_->Add(refused_sink, "c1").ok()) << "one that was refused frees nothing";
  Added("c2");
  hub_->Remove(sinks[7].get());
  Added("c1");
  EXPECT_FALSE(hub_->Add(refused_sink, "c1").ok());
  for (int i = 0; i < 150; ++i) sinks.push_back(Added());
  EXPECT_EQ(hub_->watches(), 251u) << "the connections of a unix socket have a larger number together";
  Publish({"a"});
  sinks.back()->AwaitRing("a");
  EXPECT_THAT(refused_sink->Get().touched, IsEmpty());
}

TEST_F(WatchHubTest, BeyondTheNumberOfAllOneIsToldToComeAgain) {
  hub_.emplace(directory_.store(), WatchHub::Options{.heartbeat_interval = kNever, .max_watches = 2});
  const auto first = Added("c1");
  const auto second = Added();
  const absl::Status refused = hub_->Add(std::make_shared<RecordingSink>(), "c2");
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_EQ(ring::ReasonOf(refused), ring::kLimitExceeded);
  const auto after = RetryAfter(refused);
  ASSERT_TRUE(after.has_value());
  EXPECT_GE(*after, std::chrono::milliseconds(0));
  EXPECT_LE(*after, WatchHub::kShortestReturn);
  hub_->Remove(first.get());
  Added("c2");
}

TEST_F(WatchHubTest, WhoIsSentAwayIsToldToComeBackAtATimeOfItsOwn) {
  constexpr int kWatches = 4'000;
  std::vector<std::shared_ptr<RecordingSink>> sinks;
  for (int i = 0; i < kWatches; ++i) sinks.push_back(Added());
  hub_->Stop();
  // No tenth of the time has more than twice its part of the watchers.
  const std::chrono::duration<double, std::milli> spread = WatchHub::kReturnPerWatch * kWatches;
  std::vector<int> tenths(10);
  for (const auto& sink : sinks) {
    const auto after = RetryAfter(sink->Get().ends.at(0));
    ASSERT_TRUE(after.has_value());
    ASSERT_LE(*after, spread);
    tenths[std::min<size_t>(9, static_cast<size_t>(*after / spread * 10))]++;
  }
  EXPECT_LE(*std::max_element(tenths.begin(), tenths.end()), 2 * kWatches / 10);
  EXPECT_TRUE(RetryAfter(hub_->Add(std::make_shared<RecordingSink>(), "late")).has_value());
}

TEST_F(WatchHubTest, HistoryIsReadInBatches) {
  directory_.Make("r", {"n1"});
  directory_.ChangeUpTo("r", "n1", 200);
  const auto sink = Added();
  hub_->ReadHistory(sink, {.ring = "r", .epoch = 1, .first = 11});
  hub_->ReadHistory(sink, {.ring = "r", .epoch = 1, .first = 199});
  hub_->ReadHistory(sink, {.ring = "r", .epoch = 2, .first = 5});
  const auto told = sink->AwaitHistory(3);
  ASSERT_EQ(told.history[0].size(), WatchHub::kHistoryBatch);
  EXPECT_EQ(told.history[0].front(), 11u);
  EXPECT_EQ(told.history[0].back(), 10 + WatchHub::kHistoryBatch);
  EXPECT_THAT(told.history[1], ElementsAre(199, 200));
  EXPECT_THAT(told.history[2], IsEmpty());
}

class UnreadableStore : public MemoryStore {
 public:
  absl::StatusOr<std::vector<ChangeRecord>> ReadChanges(std::string_view, uint64_t, uint64_t, size_t, size_t) override {
    return absl::UnavailableError("no disk");
  }
};

TEST_F(WatchHubTest, AHistoryThatCannotBeReadIsOneThatIsNotKept) {
  UnreadableStore store;
  hub_.emplace(store, WatchHub::Options{.heartbeat_interval = kNever});
  const auto sink = Added();
  hub_->ReadHistory(sink, {.ring = "r", .epoch = 1, .first = 1});
  EXPECT_THAT(sink->AwaitHistory(1).history, ElementsAre(IsEmpty()));
}

TEST_F(WatchHubTest, StopEndsEveryStreamAndTakesNoMore) {
  const auto first = Added("c1");
  const auto second = Added();
  const auto gone = Added();
  hub_->Remove(gone.get());
  hub_->Stop();
  for (const auto& sink : {first, second}) {
    const auto ends = sink->Get().ends;
    ASSERT_EQ(ends.size(), 1u);
    EXPECT_TRUE(absl::IsUnavailable(ends[0])) << ends[0];
    EXPECT_EQ(ring::ReasonOf(ends[0]), kDraining);
  }
  EXPECT_THAT(gone->Get().ends, IsEmpty());

  const auto late = std::make_shared<RecordingSink>();
  const absl::Status refused = hub_->Add(late, "");
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_EQ(ring::ReasonOf(refused), kDraining);
  EXPECT_THAT(late->Get().ends, IsEmpty()) << "the caller ends it";
  Publish({"a"});
  EXPECT_THAT(first->Get().touched, IsEmpty());
  hub_->Stop();
  hub_->Remove(first.get());
  EXPECT_EQ(hub_->watches(), 1u);
}

// A sink may be let go of by the hub alone, and take the last reference with it.
TEST_F(WatchHubTest, SinksComeAndGoWhileRingsArePublished) {
  hub_.emplace(directory_.store(), WatchHub::Options{.heartbeat_interval = std::chrono::milliseconds(1)});
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 2; ++caller) {
    callers.emplace_back([this] {
      for (int i = 0; i < 200; ++i) {
        auto sink = std::make_shared<RecordingSink>();
        ASSERT_TRUE(hub_->Add(sink, "c").ok());
        hub_->ReadHistory(sink, {.ring = "r", .epoch = 1, .first = 1});
        Publish({"a"});
        hub_->Remove(sink.get());
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(hub_->watches(), 0u);
}

}  // namespace
}  // namespace ringd::server
