// A local copy comes back within its bound after outages of any length. Takes minutes, nearly all of them waiting.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

#include "ringd/client.h"
#include "ringd/local_ring.h"
#include "tests/support/ringd_process.h"
#include "tests/support/shared.h"

namespace ringd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

// One server and one copy of its ring "r", and what happens to them.
class Outages {
 public:
  Outages() {
    EXPECT_TRUE(client_->CreateRing("r").ok());
    EXPECT_TRUE(client_->AddNode("r", {.id = "first"}).ok());
    auto ring = LocalRing::Start(
        "r", {.directory = {.endpoints = {ringd_.endpoint()}}, .on_change = [this](const LocalRingStatus& status) {
                status_.Update([&](LocalRingStatus& last) { last = status; });
              }});
    EXPECT_TRUE(ring.ok()) << ring.status();
    ring_ = *std::move(ring);
    EXPECT_EQ(ring_->WaitReady(seconds(30)), absl::OkStatus());
  }

  void Killed(milliseconds downtime) {
    ringd_.Kill();
    Wait(downtime);
    ringd_.Start();
    AddAndAwait();
  }
  void StandsStill(milliseconds time) {
    ringd_.Pause();
    Wait(time);
    ringd_.Resume();
    AddAndAwait();
  }
  const std::vector<Clock::duration>& times_to_return() const { return times_; }

 private:
  // Nothing is waited for but that time passes; meanwhile the copy answers, and says how old it may be.
  void Wait(milliseconds time) {
    const Clock::time_point begin = Clock::now();
    const milliseconds age = ring_->status().age;
    std::this_thread::sleep_for(time);
    EXPECT_TRUE(ring_->Owner("key").ok());
    const auto passed = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
    EXPECT_GE(ring_->status().age + milliseconds(500), age + passed);
  }

  void AddAndAwait() {
    const Clock::time_point back = Clock::now();
    const auto added = client_->AddNode("r", {.id = "r" + std::to_string(times_.size())});
    ASSERT_TRUE(added.ok()) << added.status();
    const LocalRingStatus status = status_.Await([&](const LocalRingStatus& now) {
      return now.state == LocalRingState::kInSync && now.version >= added->version;
    });
    times_.push_back(Clock::now() - back);
    EXPECT_LE(times_.back(), LocalRing::kReconnectWithin);
    EXPECT_EQ(status.snapshots, 1u);
    EXPECT_EQ(status.changes, times_.size());
  }

  support::RingdProcess ringd_;
  std::unique_ptr<Client> client_ = *Client::Connect({.endpoints = {ringd_.endpoint()}, .change_timeout = seconds(20)});
  support::Shared<LocalRingStatus> status_;
  std::unique_ptr<LocalRing> ring_;
  std::vector<Clock::duration> times_;
};

// B74 (airbnb/synapse#287, python-zk/kazoo#151): 20 restarts with 0.1 to 20 s without a server, shorter and longer than
// what keepalive takes, and a server that stands still for 90 s. After each a node is added, and the copy sees it
// within the time that LocalRing promises; while it is cut off its age rises.
TEST(LocalOutage, ACopyIsBackWithinItsBoundAfterAnyOutage) {
  constexpr int kServers = 4;
  constexpr int kRestarts = 20;
  std::vector<Outages> servers(kServers + 1);
  std::vector<std::thread> threads;
  for (int server = 0; server < kServers; ++server) {
    threads.emplace_back([&, server] {
      for (int i = server; i < kRestarts; i += kServers) {
        servers[server].Killed(milliseconds(static_cast<int>(100 * std::pow(200.0, i / (kRestarts - 1.0)))));
      }
    });
  }
  threads.emplace_back([&] { servers[kServers].StandsStill(seconds(90)); });
  for (std::thread& thread : threads) thread.join();
  std::vector<Clock::duration> times;
  for (const Outages& server : servers) {
    times.insert(times.end(), server.times_to_return().begin(), server.times_to_return().end());
  }
  ASSERT_EQ(times.size(), kRestarts + 1u);
  std::sort(times.begin(), times.end());
  std::printf("back after %.1f s (median), %.1f s (longest)\n", std::chrono::duration<double>(times[10]).count(),
              std::chrono::duration<double>(times.back()).count());
}

}  // namespace
}  // namespace ringd
