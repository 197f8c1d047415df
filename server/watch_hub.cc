#include "server/watch_hub.h"

#include <algorithm>

#include "fmt/format.h"
#include "proto/retry_after.h"
#include "ring/error.h"
#include "spdlog/spdlog.h"

namespace ringd::server {
namespace {

constexpr std::chrono::minutes kBetweenComplaints{1};

absl::Status Draining() {
  return ring::Error(absl::StatusCode::kUnavailable, kDraining,
                     "the server is stopping; watch again from what you hold");
}

// A caller that comes again at once: its fellows were told at other times.
absl::Status OfAgeStatus() {
  return WithRetryAfter(
      absl::UnavailableError("the connection is as old as one may be; watch again from what you hold"),
      std::chrono::milliseconds(0));
}

// How often streams are looked at that are stuck, or of age.
std::chrono::milliseconds LookEvery(const WatchHub::Options& options) {
  const auto every = options.stuck_after / 4;
  if (options.max_connection_age.count() == 0) return every;
  return std::max(std::chrono::milliseconds(1), std::min(every, options.max_connection_age / 20));
}

}  // namespace

WatchHub::WatchHub(Store& store, Options options)
    : store_(store), options_(options), fan_out_([this] { FanOut(); }), serve_history_([this] { ServeHistory(); }) {}

WatchHub::~WatchHub() { Stop(); }

absl::Status WatchHub::Add(std::shared_ptr<WatchSink> sink, const std::string& connection) {
  MutexLock lock(mutex_);
  if (stopping_) return ComeBack(Draining());
  if (sinks_.size() >= options_.max_watches) {
    return ComeBack(
        ring::Error(absl::StatusCode::kResourceExhausted, ring::kLimitExceeded,
                    fmt::format("this server has {} Watches, which is the limit; come again later, or ask another",
                                options_.max_watches)));
  }
  size_t& count = per_connection_[connection];
  const size_t limit = connection == kUnixConnections ? kMaxUnixWatches : options_.max_watches_per_connection;
  if (count >= limit) {
    const char* where = connection == kUnixConnections ? "the unix socket has" : "this connection has";
    return ring::Error(absl::StatusCode::kResourceExhausted, ring::kLimitExceeded,
                       fmt::format("{} {} Watches, which is the limit", where, limit));
  }
  count++;
  const WatchSink* key = sink.get();
  sinks_.emplace(key, Entry{.sink = std::move(sink), .connection = connection, .leave_at = LeaveAt()});
  return absl::OkStatus();
}

void WatchHub::Remove(const WatchSink* sink) {
  std::shared_ptr<WatchSink> removed;  // destroyed after the lock is released
  MutexLock lock(mutex_);
  const auto it = sinks_.find(sink);
  if (it == sinks_.end()) return;
  removed = std::move(it->second.sink);
  const auto count = per_connection_.find(it->second.connection);
  if (count != per_connection_.end() && --count->second == 0) per_connection_.erase(count);
  sinks_.erase(it);
}

void WatchHub::Published(std::span<const std::string> rings) {
  MutexLock lock(mutex_);
  rings_.insert(rings_.end(), rings.begin(), rings.end());
  published_.NotifyOne();
}

void WatchHub::ReadHistory(std::shared_ptr<WatchSink> sink, HistoryNeeded needed) {
  MutexLock lock(mutex_);
  history_.push_back({std::move(sink), std::move(needed)});
  history_wanted_.NotifyOne();
}

void WatchHub::Stop() {
  std::vector<std::pair<std::shared_ptr<WatchSink>, absl::Status>> ends;
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    for (std::shared_ptr<WatchSink>& sink : Sinks()) ends.emplace_back(std::move(sink), ComeBack(Draining()));
    published_.NotifyAll();
    history_wanted_.NotifyAll();
  }
  if (fan_out_.joinable()) fan_out_.join();
  if (serve_history_.joinable()) serve_history_.join();
  for (const auto& [sink, status] : ends) sink->End(status);
}

absl::Status WatchHub::ComeBack(absl::Status status) {
  const auto spread = std::max<std::chrono::microseconds>(kShortestReturn, kReturnPerWatch * sinks_.size());
  const double part = std::uniform_real_distribution<double>()(random_);
  return WithRetryAfter(std::move(status), std::chrono::duration_cast<std::chrono::milliseconds>(spread * part));
}

size_t WatchHub::watches() const {
  MutexLock lock(mutex_);
  return sinks_.size();
}

void WatchHub::FanOut() {
  Clock::time_point heartbeat = Clock::now() + options_.heartbeat_interval;
  const Clock::duration look_every = LookEvery(options_);
  Clock::time_point look = Clock::now() + look_every;
  while (true) {
    std::vector<std::string> rings;
    std::vector<std::shared_ptr<WatchSink>> sinks;
    {
      MutexLock lock(mutex_);
      const Clock::time_point due = std::min(heartbeat, look);
      while (rings_.empty() && !stopping_ && Clock::now() < due) published_.WaitUntil(mutex_, due);
      if (stopping_) return;
      rings.swap(rings_);
      sinks = Sinks();
    }
    std::sort(rings.begin(), rings.end());
    rings.erase(std::unique(rings.begin(), rings.end()), rings.end());
    if (!rings.empty()) {
      for (const auto& sink : sinks) sink->Touched(rings);
    }
    if (Clock::now() >= heartbeat) {
      heartbeat = Clock::now() + options_.heartbeat_interval;
      for (const auto& sink : sinks) sink->HeartbeatDue();
    }
    if (const auto now = Clock::now(); now >= look) {
      look = now + look_every;
      for (const auto& sink : sinks) sink->EndIfStuck(now - options_.stuck_after);
      const OfAge of_age = TakeOfAge(now);
      for (const auto& sink : of_age.to_tell) sink->ReconnectDue(options_.leave_within);
      for (const auto& sink : of_age.to_end) sink->End(OfAgeStatus());
    }
  }
}

// gRPC closes a connection to new calls at a random time within a tenth of its age; streams leave it after that, each
// at a time of its own.
WatchHub::Clock::time_point WatchHub::LeaveAt() {
  if (options_.max_connection_age.count() == 0) return Clock::time_point::max();
  const double part = std::uniform_real_distribution<double>(1.1, 1.2)(random_);
  const std::chrono::duration<double, std::milli> age = part * options_.max_connection_age;
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(age);
}

WatchHub::OfAge WatchHub::TakeOfAge(Clock::time_point now) {
  OfAge of_age;
  const MutexLock lock(mutex_);
  for (auto& [key, entry] : sinks_) {
    if (now < entry.leave_at) continue;
    (entry.told_to_leave ? of_age.to_end : of_age.to_tell).push_back(entry.sink);
    entry.leave_at = entry.told_to_leave ? Clock::time_point::max() : now + options_.leave_within;
    entry.told_to_leave = true;
  }
  return of_age;
}

void WatchHub::ServeHistory() {
  std::map<std::string, Clock::time_point> complained;  // by ring: thousands of watchers may meet the same damage
  while (true) {
    HistoryRequest request;
    {
      MutexLock lock(mutex_);
      while (history_.empty() && !stopping_) history_wanted_.Wait(mutex_);
      if (stopping_) return;
      request = std::move(history_.front());
      history_.pop_front();
    }
    const HistoryNeeded& needed = request.needed;
    auto changes = store_.ReadChanges(needed.ring, needed.epoch, needed.first, kHistoryBatch, kHistoryBatchBytes);
    // A history that cannot be read is answered as one that is not kept: the watcher gets a snapshot.
    if (const auto now = Clock::now(); !changes.ok() && complained[needed.ring] <= now) {
      complained[needed.ring] = now + kBetweenComplaints;
      spdlog::error("the history of ring \"{}\" cannot be read, watchers get snapshots: {}", needed.ring,
                    std::string(changes.status().message()));
    }
    request.sink->HistoryRead(needed.ring, changes.ok() ? *std::move(changes) : std::vector<ChangeRecord>());
  }
}

std::vector<std::shared_ptr<WatchSink>> WatchHub::Sinks() const {
  std::vector<std::shared_ptr<WatchSink>> sinks;
  sinks.reserve(sinks_.size());
  for (const auto& [key, entry] : sinks_) sinks.push_back(entry.sink);
  return sinks;
}

}  // namespace ringd::server
