// VersionWaits: reads that wait until a ring has reached a version (`min_version`).
//
// Threads: every member from any thread. `done` is called on the caller's thread when the version is there already,
// else on the publishing thread or on the class's own; it must not block.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "server/directory.h"
#include "server/mutex.h"

namespace ringd::server {

class VersionWaits {
 public:
  using Clock = std::chrono::steady_clock;
  using Done = std::function<void(absl::StatusOr<RingStatePtr>)>;

  // The directory must outlive this.
  explicit VersionWaits(const Directory& directory);
  ~VersionWaits();

  // Answers the ring's state as soon as its version is at least `version`; NOT_FOUND when there is no such ring;
  // UNAVAILABLE when `deadline` comes first, or after Stop.
  void Wait(const std::string& ring, const ring::Version& version, Clock::time_point deadline, Done done);

  // These rings were published.
  void Published(std::span<const std::string> rings);

  // Answers every wait with UNAVAILABLE. May be called twice.
  void Stop();

 private:
  struct Waiting {
    std::string ring;
    ring::Version version;
    Done done;
  };

  void Run();
  Clock::time_point NextDeadline() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The answer to a wait that ends without its version.
  absl::StatusOr<RingStatePtr> GiveUp(const Waiting& wait, bool stopping) const;

  const Directory& directory_;
  Mutex mutex_;
  CondVar changed_;
  std::multimap<Clock::time_point, Waiting> waiting_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace ringd::server
