// Ten thousand Watches that are cut, each after a random number of messages, have no gap: each reader goes on from
// exactly what it held, while rings change, connections are reset and ringd is killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "ringd/client.h"
#include "ringd/v1/directory.grpc.pb.h"
#include "tests/guarantees/watch_judge.h"
#include "tests/support/ringd_process.h"
#include "tests/support/shared.h"
#include "tests/support/tcp_proxy.h"

namespace ringd {
namespace {

constexpr uint64_t kCuts = 10'000;
constexpr uint64_t kCutsBetweenResets = 100;
constexpr uint64_t kCutsBetweenKills = 1'000;
constexpr size_t kReaders = 48;
constexpr size_t kConnections = 4;  // every other one through the proxy

// A ring of the test.
struct RingPlan {
  std::string name;
  Placement placement;
  size_t nodes = 12;                    // at most
  size_t node_bytes = 0;                // of the metadata of each
  std::optional<uint32_t> max_changes;  // of its history
};

// "short" keeps few changes, so that who stayed away for long finds them gone, and is so large that a snapshot of it
// has more than one chunk: some streams are cut between two.
const std::vector<RingPlan>& Plans() {
  static const std::vector<RingPlan> plans{
      {.name = "hashed", .placement = HashedPlacement{.points_per_weight = 1}},
      {.name = "short",
       .placement = HashedPlacement{.points_per_weight = 1},
       .nodes = 160,
       .node_bytes = 4'000,
       .max_changes = 16},
      {.name = "slots", .placement = SlotsPlacement{.slot_bits = 10, .owners = 2}},
  };
  return plans;
}

std::map<std::string, uint64_t> KeptChanges() {
  constexpr uint64_t kAll = 100'000;  // ringd's own limit
  std::map<std::string, uint64_t> kept;
  for (const RingPlan& plan : Plans()) kept[plan.name] = plan.max_changes.value_or(kAll);
  return kept;
}

// How the test is going.
struct Progress {
  WatchJudge::Versions acknowledged;
  uint64_t changes = 0;  // answered
  uint64_t cuts = 0;
  bool over = false;  // no more changes will come
};

// Changes the rings, one after the other, as fast as they become durable.
class Writer {
 public:
  Writer(const std::string& endpoint, support::Shared<Progress>& progress)
      : client_(*Client::Connect({.endpoints = {endpoint}, .change_timeout = std::chrono::seconds(20)})),
        progress_(progress) {}

  void MakeRings() {
    for (const RingPlan& plan : Plans()) {
      Make(plan,
           [&](const auto& options) { return client_->CreateRing(plan.name, {.placement = plan.placement}, options); });
      if (plan.max_changes.has_value()) {
        const UpdateRing limits{.history_limits = HistoryLimits{.max_changes = plan.max_changes}};
        Make(plan, [&](const auto& options) { return client_->UpdateRing(plan.name, limits, options); });
      }
      std::vector<Operation> operations;
      for (size_t i = 0; i < plan.nodes; ++i) operations.push_back(ChangeOf(plan, i));
      Make(plan, [&](const auto& options) { return client_->ApplyChanges(plan.name, operations, options); });
    }
  }

  void ChangeUntil(const std::stop_token& stop) {
    for (size_t i = 0; !stop.stop_requested(); i = (i + 1) % Plans().size()) {
      const RingPlan& plan = Plans()[i];
      if (Roll(16) == 0) {
        const UpdateRing update{.default_weight = 1 + Roll(10)};
        Make(plan, [&](const auto& options) { return client_->UpdateRing(plan.name, update, options); });
        continue;
      }
      std::set<size_t> nodes;
      for (uint32_t count = 1 + Roll(3); nodes.size() < count;) nodes.insert(Roll(static_cast<uint32_t>(plan.nodes)));
      std::vector<Operation> operations;
      operations.reserve(nodes.size());
      for (const size_t node : nodes) operations.push_back(ChangeOf(plan, node));
      Make(plan, [&](const auto& options) { return client_->ApplyChanges(plan.name, operations, options); });
    }
  }

  // What the history has of a ring, oldest first.
  WatchJudge::Story HistoryOf(const std::string& ring) const {
    const auto changes = client_->ListChanges(ring, SIZE_MAX);
    EXPECT_TRUE(changes.ok()) << changes.status();
    WatchJudge::Story history;
    for (const ChangeRecord& change : *changes) {
      history.emplace_back(ring::Version{change.version.epoch, change.version.revision}, change.checksum);
    }
    std::reverse(history.begin(), history.end());
    return history;
  }

 private:
  uint32_t Roll(uint32_t sides) { return static_cast<uint32_t>(random_() % sides); }

  // Weights differ little, so that a change moves few slots.
  uint32_t WeightOf() { return 90 + Roll(20); }

  // Adds the node if it is not there, else removes it or gives it another weight.
  Operation ChangeOf(const RingPlan& plan, size_t number) {
    const std::string id = "n" + std::to_string(number);
    std::set<std::string>& there = nodes_[plan.name];
    if (there.insert(id).second) {
      const std::string filling(plan.node_bytes, 'x');
      return AddNode{{.id = id, .weight = WeightOf(), .metadata = {{"filling", filling}}}};
    }
    if (there.size() > plan.nodes / 2 && Roll(3) == 0) {
      there.erase(id);
      return RemoveNode{id};
    }
    return UpdateNode{.id = id, .weight = WeightOf()};
  }

  // Makes a change, however often ringd is killed meanwhile.
  template <class Change>
  void Make(const RingPlan& plan, Change change) {
    const MutationOptions options{.request_id = "change " + std::to_string(++requests_), .force = true};
    auto made = change(options);
    while (absl::IsUnavailable(made.status())) made = change(options);
    ASSERT_TRUE(made.ok()) << made.status();
    progress_.Update([&](Progress& progress) {
      progress.acknowledged[plan.name] = {made->version.epoch, made->version.revision};
      progress.changes++;
    });
  }

  const std::unique_ptr<Client> client_;
  support::Shared<Progress>& progress_;
  std::mt19937 random_{1};
  std::map<std::string, std::set<std::string>> nodes_;  // that are there, by ring
  uint64_t requests_ = 0;
};

// One reader, with its streams one after the other.
class Reader {
 public:
  struct Cuts {
    uint64_t cancelled = 0;
    uint64_t broken = 0;  // by a reset, or with ringd
    uint64_t early = 0;   // of both: before the stream was in sync

    void operator+=(const Cuts& other) {
      cancelled += other.cancelled;
      broken += other.broken;
      early += other.early;
    }
  };

  Reader(const std::shared_ptr<grpc::Channel>& channel, uint32_t seed, support::Shared<Progress>& progress)
      : stub_(v1::Directory::NewStub(channel)), random_(seed), progress_(progress) {}

  void Run() {
    while (!progress_.Get().over) {
      // Half of the streams are cut wherever they are, the others some messages after they were in sync.
      constexpr uint32_t kMostBits = 5;
      const bool from_the_start = Roll(2) == 0;
      ReadStream([this, from_the_start, left = 1 + Roll(1 << Roll(kMostBits + 1))]() mutable {
        if (from_the_start || judge_.in_sync()) left--;
        return left > 0;
      });
      if (Roll(32) == 0) StayAway();
    }
    const auto go_on = [this, last = progress_.Get().acknowledged] {
      return !judge_.in_sync() || judge_.held() != last;
    };
    do {
      ReadStream(go_on);
    } while (!judge_.complained() && go_on());
  }

  const WatchJudge& judge() const { return judge_; }
  const Cuts& cuts() const { return cuts_; }
  // Ends of streams that have no place here.
  const std::vector<std::string>& failures() const { return failures_; }

 private:
  uint32_t Roll(uint32_t sides) { return static_cast<uint32_t>(random_() % sides); }

  // Opens a stream and reads it as long as `go_on`, which is asked after each message, and no promise is broken; then
  // cancels it.
  template <class GoOn>
  void ReadStream(GoOn go_on) {
    const v1::WatchRequest request = judge_.Begin(progress_.Get().acknowledged);
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    const auto stream = stub_->Watch(&context, request);
    v1::WatchResponse message;
    bool read = false;
    bool wanted = true;
    while (wanted && stream->Read(&message)) {
      judge_.Read(message);
      read = true;
      wanted = !judge_.complained() && go_on();
    }
    context.TryCancel();
    const grpc::Status status = stream->Finish();
    const bool lost =
        status.error_code() == grpc::StatusCode::UNAVAILABLE || status.error_code() == grpc::StatusCode::CANCELLED;
    if (!lost) failures_.push_back(std::to_string(status.error_code()) + " " + status.error_message());
    if (!read) return;  // it never began
    (wanted ? cuts_.broken : cuts_.cancelled)++;
    if (!judge_.in_sync()) cuts_.early++;
    progress_.Update([](Progress& progress) { progress.cuts++; });
  }

  // Until some changes more were made.
  void StayAway() {
    const uint64_t changes = progress_.Get().changes + Roll(128);
    progress_.Await([changes](const Progress& now) { return now.over || now.changes >= changes; });
  }

  const std::unique_ptr<v1::Directory::Stub> stub_;
  std::mt19937 random_;
  support::Shared<Progress>& progress_;
  WatchJudge judge_{KeptChanges()};
  Cuts cuts_;
  std::vector<std::string> failures_;
};

std::shared_ptr<grpc::Channel> ConnectTo(const std::string& endpoint) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
  return grpc::CreateCustomChannel(endpoint, grpc::InsecureChannelCredentials(), arguments);
}

// What all readers together were told: checksums by version, by ring.
using Known = std::map<std::string, std::map<ring::Version, uint64_t>>;

// What was told of a ring leads to the head; it is what the history has, and what the others were told where the
// history has forgotten it. `whole`: the history forgets nothing, so there is each change of it, once.
void ExpectTheHistory(const std::string& ring, const WatchJudge::Story& told, const WatchJudge::Story& history,
                      bool whole, Known& known) {
  ASSERT_FALSE(told.empty()) << ring;
  EXPECT_TRUE(told.back() == history.back())
      << ring << " was left at " << ToString(told.back().first) << ", it is at " << ToString(history.back().first);
  for (const auto& [version, checksum] : told) {
    EXPECT_EQ(known[ring].emplace(version, checksum).first->second, checksum) << ring << " " << ToString(version);
  }
  const auto first = std::find(history.begin(), history.end(), told.front());
  EXPECT_TRUE(!whole || std::equal(first, history.end(), told.begin(), told.end()))
      << "not each change of " << ring << " once, from " << ToString(told.front().first);
}

// Readers, each on a thread of its own, over a few connections.
class Crowd {
 public:
  Crowd(const std::vector<std::string>& endpoints, support::Shared<Progress>& progress) {
    for (size_t i = 0; i < kConnections; ++i) channels_.push_back(ConnectTo(endpoints[i % endpoints.size()]));
    for (uint32_t i = 0; i < kReaders; ++i) {
      readers_.push_back(std::make_unique<Reader>(channels_[i % kConnections], i + 1, progress));
    }
    for (const auto& reader : readers_) threads_.emplace_back([&reader] { reader->Run(); });
  }
  // Waits until each reader has ended by itself.
  const std::vector<std::unique_ptr<Reader>>& Join() {
    threads_.clear();
    return readers_;
  }

 private:
  std::vector<std::shared_ptr<grpc::Channel>> channels_;
  std::vector<std::unique_ptr<Reader>> readers_;
  std::vector<std::jthread> threads_;
};

TEST(CutStreams, TenThousandCutStreamsHaveNoGap) {
  support::RingdProcess ringd({"--heartbeat-interval", "100ms"});
  support::TcpProxy proxy([endpoint = ringd.endpoint()] { return endpoint; });
  support::Shared<Progress> progress;
  Writer writer(ringd.endpoint(), progress);
  ASSERT_NO_FATAL_FAILURE(writer.MakeRings());
  const auto began = std::chrono::steady_clock::now();
  std::jthread changes([&writer](const std::stop_token& stop) { writer.ChangeUntil(stop); });
  Crowd crowd({ringd.endpoint(), proxy.endpoint()}, progress);

  uint64_t resets = 0;
  uint64_t kills = 0;
  for (uint64_t cuts = kCutsBetweenResets; cuts <= kCuts; cuts += kCutsBetweenResets) {
    progress.Await([cuts](const Progress& now) { return now.cuts >= cuts; });
    if (cuts % kCutsBetweenKills == 0) {
      kills++;
      ringd.Kill();
      ringd.Start();
    } else {
      resets++;
      proxy.Reset();
    }
  }
  changes.request_stop();
  changes.join();
  progress.Update([](Progress& now) { now.over = true; });

  std::map<std::string, WatchJudge::Story> histories;
  Known known;
  for (const RingPlan& plan : Plans()) {
    histories[plan.name] = writer.HistoryOf(plan.name);
    known[plan.name] = {histories[plan.name].begin(), histories[plan.name].end()};
  }
  Reader::Cuts cuts;
  WatchJudge::Counts counts;
  for (const auto& reader : crowd.Join()) {
    EXPECT_THAT(reader->judge().complaints(), testing::IsEmpty());
    EXPECT_THAT(reader->failures(), testing::IsEmpty());
    for (const RingPlan& plan : Plans()) {
      const bool whole = !plan.max_changes.has_value();
      ExpectTheHistory(plan.name, reader->judge().StoryOf(plan.name), histories[plan.name], whole, known);
    }
    cuts += reader->cuts();
    counts += reader->judge().counts();
  }
  EXPECT_GE(cuts.cancelled + cuts.broken, kCuts);
  // Without these the test would prove less.
  EXPECT_GT(cuts.cancelled, kCuts / 2);
  EXPECT_GT(cuts.broken, resets);
  EXPECT_GT(cuts.early, 0u);
  EXPECT_GT(counts.snapshots, kReaders * Plans().size()) << "nobody stayed away for long enough";
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  std::printf(
      "%lu streams in %.1f s, %lu of them cut: %lu cancelled, %lu broken by %lu resets and %lu kills; %lu before they "
      "were in sync, %lu within a snapshot\n%lu changes, told %lu times; %lu snapshots, %zu of them the first ones; "
      "%lu "
      "heartbeats; %lu gaps, %lu repeats\n",
      counts.streams, took.count(), cuts.cancelled + cuts.broken, cuts.cancelled, cuts.broken, resets, kills,
      cuts.early, counts.half_snapshots, progress.Get().changes, counts.changes, counts.snapshots,
      kReaders * Plans().size(), counts.heartbeats, counts.gaps, counts.repeats);
}

}  // namespace
}  // namespace ringd
