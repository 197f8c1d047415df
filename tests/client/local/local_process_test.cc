// Copies as inhabitants of a process: destroyed where nobody expects it, thousands at once, and after a fork.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "client/local/channel_pool.h"
#include "ringd/local_ring.h"
#include "ringd/testing/fake_directory.h"
#include "tests/support/shared.h"

namespace ringd {
namespace {

using std::chrono::seconds;

class LocalProcessTest : public ::testing::Test {
 protected:
  LocalProcessTest() { EXPECT_EQ(directory_.SetRing("r", nodes_), absl::OkStatus()); }

  LocalRingOptions Options() const { return {.directory = {.endpoints = {directory_.endpoint()}}}; }

  const std::vector<Node> nodes_{{.id = "n1"}, {.id = "n2"}, {.id = "n3"}};
  testing::FakeDirectory directory_;
};

// B78 (jetcd#1020): a watcher that is destroyed from its own callback must not wait for itself.
TEST_F(LocalProcessTest, ACopyMayBeDestroyedFromItsOwnCallback) {
  for (int round = 0; round < 20; ++round) {
    support::Shared<std::unique_ptr<LocalRing>> ring;
    support::Shared<int> destroyed;
    LocalRingOptions options = Options();
    options.on_change = [&](const LocalRingStatus& status) {
      if (status.state != LocalRingState::kInSync) return;
      ring.Update([](auto& held) {
        EXPECT_NE(held, nullptr);
        held.reset();
      });
      destroyed.Update([](int& count) { count++; });
    };
    ring.Update([&](auto& held) { held = *LocalRing::Start("r", std::move(options)); });
    destroyed.Await([](int count) { return count > 0; });
    EXPECT_EQ(directory_.SetRing("r", nodes_), absl::OkStatus());
    EXPECT_EQ(destroyed.Get(), 1) << "it is not called back any more";
  }
}

TEST_F(LocalProcessTest, ACopyMayBeDestroyedFromTheCallbackOfAnother) {
  support::Shared<std::unique_ptr<LocalRing>> other;
  other.Update([&](auto& held) { held = *LocalRing::Start("r", Options()); });
  support::Shared<bool> destroyed;
  LocalRingOptions options = Options();
  options.on_copy = [&](const auto&, const auto&) {
    other.Update([](auto& held) { held.reset(); });
    destroyed.Update([](bool& value) { value = true; });
  };
  const auto ring = *LocalRing::Start("r", std::move(options));
  destroyed.Await([](bool value) { return value; });
}

TEST_F(LocalProcessTest, NobodyIsCalledBackOnceACopyIsDestroyed) {
  for (int round = 0; round < 50; ++round) {
    auto alive = std::make_unique<std::atomic<bool>>(true);
    LocalRingOptions options = Options();
    options.on_change = [&alive = *alive](const LocalRingStatus&) { EXPECT_TRUE(alive); };
    auto ring = *LocalRing::Start("r", std::move(options));
    if (round % 2 == 0) {
      EXPECT_EQ(ring->WaitReady(seconds(20)), absl::OkStatus());
    }
    ring.reset();
    *alive = false;
  }
}

TEST_F(LocalProcessTest, ManyCopiesShareThreadsAndConnections) {
  const auto threads = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), std::filesystem::directory_iterator());
  };
  constexpr size_t kCopies = 200;  // the directory of the test has a thread for each Watch
  EXPECT_EQ((*LocalRing::Start("r", Options()))->WaitReady(seconds(20)), absl::OkStatus());
  directory_.Stop();
  const auto before = threads();
  std::vector<std::unique_ptr<LocalRing>> rings;
  for (size_t i = 0; i < kCopies; ++i) rings.push_back(*LocalRing::Start("r", Options()));
  EXPECT_LE(threads() - before, 20);
  directory_.Start();
  for (const auto& ring : rings) EXPECT_EQ(ring->WaitReady(seconds(40)), absl::OkStatus());
  EXPECT_LE(ChannelPool::OfProcess().connections(), 2 * kCopies / ChannelPool::kStreams + 2);
  for (const auto& ring : rings) EXPECT_TRUE(ring->Owner("k").ok());
}

TEST_F(LocalProcessTest, ACopyThatEndsLeavesItsConnectionToOthers) {
  const auto stays = *LocalRing::Start("r", Options());
  ASSERT_EQ(stays->WaitReady(seconds(20)), absl::OkStatus());
  const size_t connections = ChannelPool::OfProcess().connections();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ((*LocalRing::Start("r", Options()))->WaitReady(seconds(20)), absl::OkStatus());
    EXPECT_EQ(ChannelPool::OfProcess().connections(), connections);
  }
  const auto later = *LocalRing::Start("r", Options());
  ASSERT_EQ(later->WaitReady(seconds(20)), absl::OkStatus());
  EXPECT_EQ(ChannelPool::OfProcess().connections(), connections);
}

TEST_F(LocalProcessTest, TheChildOfAForkAnswersFromItsCopyAndSaysThatItIsStale) {
  auto ring = *LocalRing::Start("r", Options());
  ASSERT_EQ(ring->WaitReady(seconds(20)), absl::OkStatus());
  const std::string owner = (*ring->Owner("k"))->id;
  // The ring changes and is looked up meanwhile, so that locks are held when the process forks.
  std::atomic<bool> ended = false;
  std::jthread changes([&] {
    while (!ended) EXPECT_EQ(directory_.SetRing("r", nodes_), absl::OkStatus());
  });
  std::jthread lookups([&] {
    while (!ended) EXPECT_EQ((*ring->Owner("k"))->id, owner);
  });
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // one that waits for a lock of nobody ends so
      const LocalRingStatus status = ring->status();
      const auto answer = ring->Owner("k");
      const bool good = answer.ok() && (*answer)->id == owner && status.state == LocalRingState::kForked &&
                        status.problem.code() == absl::StatusCode::kUnavailable && ring->lookups().ring > 0 &&
                        ring->WaitReady(seconds(20)).ok() &&
                        LocalRing::Start("r", Options()).status().code() == absl::StatusCode::kFailedPrecondition;
      ring.reset();
      _exit(good ? 0 : 1);
    }
    int ending = 0;
    ASSERT_EQ(waitpid(child, &ending, 0), child);
    ASSERT_EQ(ending, 0);
  }
  ended = true;
  EXPECT_NE(ring->status().state, LocalRingState::kForked);
}

}  // namespace
}  // namespace ringd
