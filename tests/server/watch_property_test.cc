// Random changes, readers and moments: whatever a WatchSession says, a reader that applies it ends with what the
// directory has, and every promise of the stream is kept on the way.
#include <gtest/gtest.h>

#include <random>

#include "tests/server/test_directory.h"
#include "tests/server/watch_model.h"

namespace ringd::server {
namespace {

constexpr int kSeeds = 1'500;
constexpr int kSteps = 150;
const std::vector<std::string> kRings = {"a1", "a2", "b"};

// One reader, which calls again with what it holds when its stream ends.
class Reader {
 public:
  Reader(TestDirectory& directory, RingSelector selector) : directory_(directory), selector_(std::move(selector)) {
    Connect();
  }

  void Connect() {
    model_.Reconnect();
    wanted_.reset();
    session_.emplace(*directory_, selector_, model_.Held());
  }
  void Disconnect() { session_.reset(); }
  void Touch(const std::string& ring) { session_->Touch(ring); }
  void HeartbeatDue() { session_->HeartbeatDue(); }

  // Says one thing, or reads a piece of history; returns whether there was anything to do.
  bool Step(Store& store, size_t history_batch) {
    if (wanted_.has_value()) {
      session_->ProvideHistory(
          wanted_->ring, *store.ReadChanges(wanted_->ring, wanted_->epoch, wanted_->first, history_batch, SIZE_MAX));
      wanted_.reset();
      return true;
    }
    Next next = session_->Advance();
    if (auto* history = std::get_if<HistoryNeeded>(&next)) {
      wanted_ = *history;
      ++history_reads_;
      return true;
    }
    if (const auto* event = std::get_if<WatchEvent>(&next)) {
      model_.Apply(*event);
      counts_[event->index()]++;
      return true;
    }
    return false;
  }

  const WatchModel& model() const { return model_; }
  const RingSelector& selector() const { return selector_; }
  uint64_t rewound() const { return session_->rewound(); }
  const std::map<size_t, size_t>& counts() const { return counts_; }
  size_t history_reads() const { return history_reads_; }

 private:
  TestDirectory& directory_;
  const RingSelector selector_;
  WatchModel model_;
  std::optional<WatchSession> session_;
  std::optional<HistoryNeeded> wanted_;
  std::map<size_t, size_t> counts_;
  size_t history_reads_ = 0;
};

class Scenario {
 public:
  explicit Scenario(uint64_t seed) : random_(seed), directory_({.history_max = 1 + Below(12)}) {
    for (const RingSelector& selector : {RingSelector{.names = kRings}, RingSelector{.prefix = "a"},
                                         RingSelector{.prefix = ""}, RingSelector{.names = {"b", "never"}}}) {
      readers_.push_back(std::make_unique<Reader>(directory_, selector));
    }
  }

  // The first complaint, or "".
  std::string Do() {
    for (int step = 0; step < kSteps; ++step) {
      DoOne();
      if (const std::string complaint = Complaint(); !complaint.empty()) return complaint;
    }
    for (const auto& reader : readers_) {
      while (reader->Step(directory_.store(), 2)) {
      }
      if (reader->rewound() != 0) return "a reader was ahead";
      const std::string difference = reader->model().Difference(*directory_, reader->selector());
      if (!difference.empty()) return difference;
    }
    return Complaint();
  }

  // How often events of this type were seen.
  size_t Seen(const WatchEvent& event) const {
    size_t seen = 0;
    for (const auto& reader : readers_) {
      const auto found = reader->counts().find(event.index());
      if (found != reader->counts().end()) seen += found->second;
    }
    return seen;
  }
  size_t history_reads() const {
    size_t reads = 0;
    for (const auto& reader : readers_) reads += reader->history_reads();
    return reads;
  }

 private:
  uint32_t Below(uint32_t bound) { return std::uniform_int_distribution<uint32_t>(0, bound - 1)(random_); }

  std::string Complaint() const {
    for (const auto& reader : readers_) {
      if (!reader->model().complaint().empty()) return reader->model().complaint();
    }
    return "";
  }

  Mutation RandomMutation() {
    const std::string& ring = kRings[Below(kRings.size())];
    const std::string node = "n" + std::to_string(Below(4));
    switch (Below(8)) {
      case 0:
        return Forced(Delete(ring));
      case 1:
        return Below(2) == 0 ? Create(ring) : CreateSlots(ring, 1 + Below(2));
      case 2:
      case 3:
        return Forced(Change(ring, {RemoveOp(node)}));
      case 4:
      case 5:
        return Forced(Change(ring, {WeightOp(node, Below(3))}));
      default:
        return Add(ring, node, 1 + Below(3));
    }
  }

  void DoOne() {
    switch (Below(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return Mutate();
      case 4:
        return readers_[Below(readers_.size())]->HeartbeatDue();
      case 5:
        if (Below(3) == 0) return readers_[Below(readers_.size())]->Connect();
        return;
      case 6:
        if (Below(8) == 0) StartAnew();
        return;
      default: {
        Reader& reader = *readers_[Below(readers_.size())];
        for (uint32_t steps = 1 + Below(4); steps > 0; --steps) reader.Step(directory_.store(), 1 + Below(3));
      }
    }
  }

  // A burst; what was published is told later, as the hub does, and may be told twice.
  void Mutate() {
    std::vector<Mutation> burst;
    for (uint32_t count = 1 + Below(3); count > 0; --count) burst.push_back(RandomMutation());
    (void)directory_->Commit(burst);
    for (const auto& reader : readers_) {
      for (const Mutation& mutation : burst) reader->Touch(mutation.ring);
    }
  }

  void StartAnew() {
    for (const auto& reader : readers_) reader->Disconnect();
    directory_.Reopen();
    for (const auto& reader : readers_) reader->Connect();
  }

  std::mt19937_64 random_;
  TestDirectory directory_;
  std::vector<std::unique_ptr<Reader>> readers_;
};

TEST(WatchProperty, EveryReaderEndsWithWhatTheDirectoryHas) {
  std::map<std::string, size_t> seen;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    Scenario scenario(seed);
    ASSERT_EQ(scenario.Do(), "") << "seed " << seed;
    seen["snapshots"] += scenario.Seen(SnapshotChunk{});
    seen["changes"] += scenario.Seen(ChangeEvent{});
    seen["in_sync of rings"] += scenario.Seen(RingInSync{});
    seen["in_sync of streams"] += scenario.Seen(StreamInSync{});
    seen["heartbeats"] += scenario.Seen(Heartbeat{});
    seen["absent"] += scenario.Seen(Absent{});
    seen["deleted"] += scenario.Seen(Deleted{});
    seen["reads of history"] += scenario.history_reads();
  }
  // A property that is never put to the test holds always.
  for (const auto& [what, count] : seen) EXPECT_GT(count, 1'000u) << what;
}

}  // namespace
}  // namespace ringd::server
