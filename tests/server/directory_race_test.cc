// Writers, readers and watchers of three rings at once, with rings deleted and made anew. For the thread sanitizer;
// bounded by work, not by time.
//
// B100 (stratosnet/sds#691): lookups read what a writer changed. Every answer here is a node that was a member at some
// version published between the beginning and the end of the call.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <set>
#include <thread>

#include "server/version_waits.h"
#include "server/watch_hub.h"
#include "server/write_queue.h"
#include "tests/server/test_directory.h"
#include "tests/server/watch_model.h"
#include "tests/support/shared.h"

namespace ringd::server {
namespace {

constexpr int kWriters = 2;
constexpr int kChangesAWriter = 400;
constexpr int kReaders = 2;
// Readers keep step with the writers: so many lookups for every change that was answered.
constexpr int kLookupsAChange = 5;
constexpr int kLookupsAReader = kWriters * kChangesAWriter * kLookupsAChange;
const std::vector<std::string> kRings = {"a", "b", "c"};

// A stream without a wire: one message is in flight until the thread of the stream has applied it to the model.
class Stream : public WatchSink, public std::enable_shared_from_this<Stream> {
 public:
  static std::shared_ptr<Stream> Start(const Directory& directory, WatchHub& hub, RingSelector selector) {
    auto stream = std::make_shared<Stream>(hub);
    EXPECT_TRUE(hub.Add(stream, "test").ok());
    {
      MutexLock lock(stream->mutex_);
      stream->session_.emplace(directory, selector, std::map<std::string, WatchPosition>());
    }
    stream->Pump();
    stream->thread_ = std::thread([self = stream.get()] { self->Read(); });
    return stream;
  }
  explicit Stream(WatchHub& hub) : hub_(hub) {}
  ~Stream() override { thread_.join(); }

  void Touched(const std::vector<std::string>& rings) override {
    {
      MutexLock lock(mutex_);
      if (!session_.has_value()) return;
      for (const std::string& ring : rings) session_->Touch(ring);
    }
    Pump();
  }
  void HeartbeatDue() override {
    {
      MutexLock lock(mutex_);
      if (!session_.has_value()) return;
      session_->HeartbeatDue();
    }
    Pump();
  }
  void ReconnectDue(std::chrono::seconds) override {}
  void HistoryRead(const std::string& ring, std::vector<ChangeRecord> changes) override {
    {
      MutexLock lock(mutex_);
      reading_history_ = false;
      session_->ProvideHistory(ring, std::move(changes));
    }
    Pump();
  }
  void End(const absl::Status&) override {
    wire_.Update([](Wire& wire) { wire.ended = true; });
  }
  void EndIfStuck(std::chrono::steady_clock::time_point) override {}  // no reader here is

  // What the reader has made of the stream so far.
  support::Shared<WatchModel>& model() { return model_; }

 private:
  struct Wire {
    std::optional<WatchEvent> in_flight;
    bool ended = false;
  };

  void Pump() {
    std::optional<HistoryNeeded> needed;
    {
      MutexLock lock(mutex_);
      if (writing_ || reading_history_) return;
      Next next = session_->Advance();
      if (std::holds_alternative<Idle>(next)) return;
      if (auto* history = std::get_if<HistoryNeeded>(&next)) {
        reading_history_ = true;
        needed = std::move(*history);
      } else {
        writing_ = true;
        wire_.Update([&](Wire& wire) { wire.in_flight = std::get<WatchEvent>(std::move(next)); });
      }
    }
    if (needed.has_value()) hub_.ReadHistory(shared_from_this(), *std::move(needed));
  }

  void Read() {
    while (true) {
      Wire wire = wire_.Await([](const Wire& at) { return at.in_flight.has_value() || at.ended; });
      if (!wire.in_flight.has_value()) return;
      model_.Update([&](WatchModel& model) { model.Apply(*wire.in_flight); });
      wire_.Update([](Wire& at) { at.in_flight.reset(); });
      if (wire.ended) return;
      {
        MutexLock lock(mutex_);
        writing_ = false;
      }
      Pump();
    }
  }

  WatchHub& hub_;
  Mutex mutex_;
  std::optional<WatchSession> session_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool reading_history_ ABSL_GUARDED_BY(mutex_) = false;
  support::Shared<Wire> wire_;
  support::Shared<WatchModel> model_;
  std::thread thread_;
};

// What was published, in order, of one ring; an empty version for a ring that is not there.
struct Published {
  ring::Version version;
  std::set<std::string> nodes;
};
using Record = std::map<std::string, std::vector<Published>>;

// One lookup, and how many entries its ring's record had before and after it.
struct Answer {
  std::string ring;
  size_t before = 0;
  size_t after = 0;
  ring::Version version;  // empty = NOT_FOUND
  std::string owner;      // empty = no node may own keys
};

class DirectoryRace : public ::testing::Test {
 protected:
  DirectoryRace() {
    record_.Update([](Record& record) {
      for (const std::string& ring : kRings) record[ring].emplace_back();
    });
    directory_.on_published = [this](std::span<const std::string> rings) {
      record_.Update([&](Record& record) {
        for (const std::string& ring : std::set<std::string>(rings.begin(), rings.end())) {
          const auto state = directory_->Find(ring);
          Published published;
          if (state.ok()) {
            const auto ids = NodeIds(**state);
            published = {(*state)->head.version, {ids.begin(), ids.end()}};
          }
          record[ring].push_back(published);
        }
      });
      waits_->Published(rings);
      hub_->Published(rings);
    };
    hub_.emplace(store_, WatchHub::Options{.heartbeat_interval = std::chrono::milliseconds(1)});
    waits_.emplace(*directory_);
    queue_.emplace(*directory_);
  }

  size_t EntriesOf(const std::string& ring) {
    size_t entries = 0;
    record_.Update([&](Record& record) { entries = record[ring].size(); });
    return entries;
  }

  // One mutation after the other, each when the one before it is answered.
  void Write(uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](uint32_t bound) { return std::uniform_int_distribution<uint32_t>(0, bound - 1)(random); };
    for (int i = 0; i < kChangesAWriter; ++i) {
      const std::string& ring = kRings[below(kRings.size())];
      const std::string node = "n" + std::to_string(below(6));
      Mutation mutation = Add(ring, node);
      const uint32_t kind = below(10);
      if (kind == 0) mutation = Forced(Delete(ring));
      if (kind == 1 || kind == 2) mutation = Create(ring);
      if (kind == 3 || kind == 4) mutation = Forced(Change(ring, {RemoveOp(node)}));
      if (kind == 5) mutation = Forced(Change(ring, {WeightOp(node, below(3))}));
      mutation.request_id = std::to_string(seed) + "-" + std::to_string(i);
      // The code alone: Debian's Abseil counts references to a Status where the thread sanitizer does not see it.
      support::Shared<std::optional<absl::StatusCode>> answer;
      queue_->Submit({.mutation = std::move(mutation), .done = [&](const absl::StatusOr<MutationResult>& result) {
                        answer.Update([&](auto& code) { code = result.status().code(); });
                      }});
      const absl::StatusCode code = *answer.Await([](const auto& got) { return got.has_value(); });
      if (code == absl::StatusCode::kOk) ++accepted_;
      answered_.Update([](int& count) { ++count; });
      EXPECT_TRUE(code == absl::StatusCode::kOk || code == absl::StatusCode::kNotFound ||
                  code == absl::StatusCode::kAlreadyExists)
          << absl::StatusCodeToString(code);
    }
  }

  std::vector<Answer> Read(uint64_t seed) {
    std::vector<Answer> answers;
    support::Shared<int> waited{0};
    for (int i = 0; i < kLookupsAReader; ++i) {
      answered_.Await([i](int count) { return count >= i / kLookupsAChange; });
      Answer answer{.ring = kRings[(seed + static_cast<uint64_t>(i)) % kRings.size()]};
      answer.before = EntriesOf(answer.ring);
      if (const auto state = directory_->Find(answer.ring); state.ok()) {
        const ring::Ring& ring = (*state)->ring;
        answer.version = (*state)->head.version;
        if (ring.HasOwners()) answer.owner = ring.node(ring.Owner(ring.Position("key-" + std::to_string(i)))).id;
      }
      answer.after = EntriesOf(answer.ring);
      answers.push_back(std::move(answer));
      if (i % 100 == 0) {
        waits_->Wait(kRings[0], answers.back().version, VersionWaits::Clock::now(), 1,
                     [&](const auto&) { waited.Update([](int& count) { ++count; }); });
        EXPECT_LE(directory_->List("", "", 2).size(), 2u);
      }
    }
    waited.Await([](int count) { return count == kLookupsAReader / 100; });
    return answers;
  }

  // The state becomes visible just before it is recorded, so the entry after the last one counts too.
  static bool WasTrueDuring(const std::vector<Published>& record, const Answer& answer) {
    for (size_t i = answer.before - 1; i <= answer.after && i < record.size(); ++i) {
      if (record[i].version != answer.version) continue;
      return answer.owner.empty() || record[i].nodes.contains(answer.owner);
    }
    return false;
  }

  std::atomic<int> accepted_ = 0;
  support::Shared<int> answered_{0};
  support::Shared<Record> record_;
  MemoryStore store_;
  TestDirectory directory_{store_, {}};
  std::optional<WatchHub> hub_;
  std::optional<VersionWaits> waits_;
  std::optional<WriteQueue> queue_;
};

TEST_F(DirectoryRace, EveryAnswerWasTrueWhileItWasAskedForAndEveryWatcherEndsAtTheHead) {
  const std::vector<RingSelector> selectors = {{.prefix = ""}, {.names = kRings}, {.names = {"b"}}};
  std::vector<std::shared_ptr<Stream>> streams;
  for (const RingSelector& selector : selectors) streams.push_back(Stream::Start(*directory_, *hub_, selector));

  std::vector<std::thread> threads;
  std::vector<std::vector<Answer>> answers(kReaders);
  for (int i = 0; i < kWriters; ++i) threads.emplace_back([this, i] { Write(static_cast<uint64_t>(i) + 1); });
  for (int i = 0; i < kReaders; ++i) {
    threads.emplace_back([this, &answers, i] { answers[static_cast<size_t>(i)] = Read(static_cast<uint64_t>(i)); });
  }
  // A watcher that comes in the middle.
  streams.push_back(Stream::Start(*directory_, *hub_, {.prefix = ""}));
  for (std::thread& thread : threads) thread.join();
  queue_->Stop();

  const Record record = record_.Get();
  int owned = 0;
  for (const std::vector<Answer>& of_reader : answers) {
    for (const Answer& answer : of_reader) {
      owned += answer.owner.empty() ? 0 : 1;
      ASSERT_TRUE(WasTrueDuring(record.at(answer.ring), answer))
          << answer.ring << " at " << ToString(answer.version) << " owner " << answer.owner;
    }
  }
  for (size_t i = 0; i < streams.size(); ++i) {
    const RingSelector& selector = selectors[i % selectors.size()];
    const auto at_the_head = [&](const WatchModel& model) {
      return !model.complaint().empty() || model.Difference(*directory_, selector).empty();
    };
    EXPECT_EQ(streams[i]->model().Await(at_the_head).complaint(), "") << "stream " << i;
  }
  for (const auto& [ring, entries] : record) {
    for (size_t i = 1; i < entries.size(); ++i) {
      const ring::Version before = entries[i - 1].version;
      const ring::Version after = entries[i].version;
      EXPECT_TRUE(after == ring::Version() || after > before) << ring;
    }
  }
  EXPECT_GT(accepted_, kChangesAWriter / 4);
  EXPECT_GT(owned, kLookupsAReader / 10);
  waits_->Stop();
  hub_->Stop();
  for (const auto& stream : streams) hub_->Remove(stream.get());
}

}  // namespace
}  // namespace ringd::server
