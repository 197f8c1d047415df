#include "server/version_waits.h"

#include <utility>
#include <vector>

#include "fmt/format.h"
#include "ring/error.h"

namespace ringd::server {
namespace {

absl::Status TooManyWaits() {
  return ring::Error(
      absl::StatusCode::kResourceExhausted, ring::kLimitExceeded,
      fmt::format("the reads that wait for a min_version would be more than {}, or take more than {} bytes of memory",
                  VersionWaits::kMaxWaits, VersionWaits::kMaxBytes));
}

}  // namespace

VersionWaits::VersionWaits(const Directory& directory) : directory_(directory), thread_([this] { Run(); }) {}

VersionWaits::~VersionWaits() { Stop(); }

VersionWaits::Ticket VersionWaits::Wait(const std::string& ring, const ring::Version& version,
                                        Clock::time_point deadline, size_t bytes, Done done) {
  Waiting wait{ring, version, bytes, std::move(done)};
  Ticket ticket{deadline, 0};
  Answer answer;
  {
    // Under the lock that Published takes after publishing: a change between the look and the entry is not missed.
    MutexLock lock(mutex_);
    ticket.second = ++waits_;
    answer = Look(wait);
    if (!answer.has_value() && stopping_) answer = Stopping();
    if (!answer.has_value() && (waiting_.size() >= kMaxWaits || bytes_ + bytes > kMaxBytes)) answer = TooManyWaits();
    if (!answer.has_value()) {
      bytes_ += bytes;
      waiting_.emplace(ticket, std::move(wait));
      changed_.NotifyOne();
      return ticket;
    }
  }
  wait.done(*std::move(answer));
  return ticket;
}

void VersionWaits::Cancel(const Ticket& ticket) {
  Done done;
  {
    MutexLock lock(mutex_);
    const auto it = waiting_.find(ticket);
    if (it == waiting_.end()) return;
    bytes_ -= it->second.bytes;
    done = std::move(it->second.done);
    waiting_.erase(it);
  }
  done(absl::CancelledError("the caller has gone"));
}

void VersionWaits::Published(std::span<const std::string> rings) {
  MutexLock lock(mutex_);
  if (waiting_.empty()) return;
  published_.insert(rings.begin(), rings.end());
  changed_.NotifyOne();
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
    std::vector<std::pair<Waiting, Answer>> ready;
    {
      MutexLock lock(mutex_);
      while (!stopping_ && published_.empty() && Clock::now() < NextDeadline()) {
        if (waiting_.empty()) {
          changed_.Wait(mutex_);
        } else {
          changed_.WaitUntil(mutex_, NextDeadline());
        }
      }
      stopping = stopping_;
      const Clock::time_point now = stopping ? Clock::time_point::max() : Clock::now();
      for (auto it = waiting_.begin(); it != waiting_.end();) {
        Waiting& wait = it->second;
        const bool ends = it->first.first <= now;
        Answer answer = ends || published_.contains(wait.ring) ? Look(wait) : std::nullopt;
        if (answer.has_value() || ends) {
          bytes_ -= wait.bytes;
          ready.emplace_back(std::move(wait), std::move(answer));
          it = waiting_.erase(it);
        } else {
          ++it;
        }
      }
      published_.clear();
    }
    for (auto& [wait, answer] : ready) {
      if (!answer.has_value()) answer = stopping ? Stopping() : NotReached(wait);
      wait.done(*std::move(answer));
    }
  }
}

VersionWaits::Clock::time_point VersionWaits::NextDeadline() const {
  return waiting_.empty() ? Clock::time_point::max() : waiting_.begin()->first.first;
}

VersionWaits::Answer VersionWaits::Look(const Waiting& wait) const {
  auto state = directory_.Find(wait.ring);
  if (!state.ok() || (*state)->head.version >= wait.version) return state;
  return std::nullopt;
}

absl::Status VersionWaits::NotReached(const Waiting& wait) const {
  const auto state = directory_.Find(wait.ring);
  if (!state.ok()) return state.status();
  return ring::Error(absl::StatusCode::kUnavailable, kVersionNotReached,
                     fmt::format("ring {} is at version {} and has not reached {}", ring::Quote(wait.ring),
                                 ToString((*state)->head.version), ToString(wait.version)));
}

}  // namespace ringd::server
