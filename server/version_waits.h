// VersionWaits: reads that wait until a ring has reached a version (`min_version`).
//
// Threads: every member from any thread. `done` is called on the caller's thread when there is nothing to wait for,
// on the canceller's when the wait is cancelled, else on the class's own, so that the writer does not build answers; it
// must not block.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "absl/status/statusor.h"
#include "ring/mutex.h"
#include "server/directory.h"

namespace ringd::server {

// A reason of errors, beside those of directory.h. Part of the contract.
inline constexpr std::string_view kVersionNotReached = "VERSION_NOT_REACHED";

class VersionWaits {
 public:
  // What waits together, in number and in bytes of memory of the requests that are held meanwhile.
  static constexpr size_t kMaxWaits = 10'000;
  static constexpr size_t kMaxBytes = 64 << 20;

  using Clock = std::chrono::steady_clock;
  using Done = std::function<void(absl::StatusOr<RingStatePtr>)>;
  // Names one wait: its deadline, and a number of its own.
  using Ticket = std::pair<Clock::time_point, uint64_t>;

  // The directory must outlive this.
  explicit VersionWaits(const Directory& directory);
  ~VersionWaits();

  // Answers the ring's state as soon as its version is at least `version`; NOT_FOUND when there is no such ring;
  // UNAVAILABLE when `deadline` comes first, or after Stop; RESOURCE_EXHAUSTED when it would be one too many. `bytes`
  // is the size of what is held for it.
  Ticket Wait(const std::string& ring, const ring::Version& version, Clock::time_point deadline, size_t bytes,
              Done done);

  // Nobody waits for the answer any more: CANCELLED, and its place is free. Nothing when it was answered already.
  void Cancel(const Ticket& ticket);

  // These rings were published. Waits for one look through the waits at most.
  void Published(std::span<const std::string> rings);

  // Answers every wait, with UNAVAILABLE where its version is not there. May be called twice.
  void Stop();

 private:
  struct Waiting {
    std::string ring;
    ring::Version version;
    size_t bytes;
    Done done;
  };

  using Answer = std::optional<absl::StatusOr<RingStatePtr>>;

  void Run();
  Clock::time_point NextDeadline() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The answer that the directory has by now, if it has one.
  Answer Look(const Waiting& wait) const;
  absl::Status NotReached(const Waiting& wait) const;

  const Directory& directory_;
  Mutex mutex_;
  CondVar changed_;
  std::map<Ticket, Waiting> waiting_ ABSL_GUARDED_BY(mutex_);  // the earliest deadline first
  uint64_t waits_ ABSL_GUARDED_BY(mutex_) = 0;                 // ever
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;                   // of all that wait
  std::set<std::string> published_ ABSL_GUARDED_BY(mutex_);    // since the thread last looked
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace ringd::server
