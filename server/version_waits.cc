#include "server/version_waits.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "ring/error.h"

namespace ringd::server {
namespace {

// The state to answer with, an error to answer with, or null: wait on.
absl::StatusOr<RingStatePtr> Look(const Directory& directory, const std::string& ring, const ring::Version& version) {
  auto state = directory.Find(ring);
  if (!state.ok() || (*state)->head.version >= version) return state;
  return nullptr;
}

absl::Status Draining() { return ring::Error(absl::StatusCode::kUnavailable, kDraining, "the server is stopping"); }

}  // namespace

VersionWaits::VersionWaits(const Directory& directory) : directory_(directory), thread_([this] { Run(); }) {}

VersionWaits::~VersionWaits() { Stop(); }

void VersionWaits::Wait(const std::string& ring, const ring::Version& version, Clock::time_point deadline, Done done) {
  absl::StatusOr<RingStatePtr> answer;
  {
    // Under the lock that Published takes after publishing: a change between the look and the entry is not missed.
    MutexLock lock(mutex_);
    answer = Look(directory_, ring, version);
    if (answer.ok() && *answer == nullptr && !stopping_) {
      waiting_.emplace(deadline, Waiting{ring, version, std::move(done)});
      changed_.NotifyOne();
      return;
    }
  }
  if (answer.ok() && *answer == nullptr) answer = Draining();
  done(std::move(answer));
}

void VersionWaits::Published(std::span<const std::string> rings) {
  std::vector<std::pair<Done, absl::StatusOr<RingStatePtr>>> ready;
  {
    MutexLock lock(mutex_);
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      absl::StatusOr<RingStatePtr> answer = nullptr;
      const Waiting& wait = it->second;
      if (std::find(rings.begin(), rings.end(), wait.ring) != rings.end()) {
        answer = Look(directory_, wait.ring, wait.version);
      }
      if (answer.ok() && *answer == nullptr) {
        ++it;
        continue;
      }
      ready.emplace_back(std::move(it->second.done), std::move(answer));
      it = waiting_.erase(it);
    }
  }
  for (auto& [done, answer] : ready) done(std::move(answer));
}

void VersionWaits::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void VersionWaits::Run() {
  bool stopping = false;
  while (!stopping) {
    std::vector<Waiting> ended;
    {
      MutexLock lock(mutex_);
      while (!stopping_ && Clock::now() < NextDeadline()) {
        if (waiting_.empty()) {
          changed_.Wait(mutex_);
        } else {
          changed_.WaitUntil(mutex_, NextDeadline());
        }
      }
      stopping = stopping_;
      const auto end = stopping ? waiting_.end() : waiting_.upper_bound(Clock::now());
      for (auto it = waiting_.begin(); it != end; it = waiting_.erase(it)) ended.push_back(std::move(it->second));
    }
    for (const Waiting& wait : ended) wait.done(GiveUp(wait, stopping));
  }
}

VersionWaits::Clock::time_point VersionWaits::NextDeadline() const {
  return waiting_.empty() ? Clock::time_point::max() : waiting_.begin()->first;
}

absl::StatusOr<RingStatePtr> VersionWaits::GiveUp(const Waiting& wait, bool stopping) const {
  auto state = directory_.Find(wait.ring);
  // What was published just now may not have come by Published yet.
  if (!state.ok() || (*state)->head.version >= wait.version) return state;
  if (stopping) return Draining();
  const ring::Version at = (*state)->head.version;
  return ring::Error(absl::StatusCode::kUnavailable, "VERSION_NOT_REACHED",
                     fmt::format("ring {} is at version {}/{} and has not reached {}/{}", ring::Quote(wait.ring),
                                 at.epoch, at.revision, wait.version.epoch, wait.version.revision));
}

}  // namespace ringd::server
