// AppliedWaits: mutations that wait, once they are published, until a share of the ring's watchers has applied them
// (`wait_for`).
//
// A wait has its place before its mutation is submitted, so that what would be one too many is refused undone. From
// Begin on it ends when the share is reached, the time has passed, the ring is deleted or made anew, the caller has
// gone, or after Stop.
//
// Threads: every member from any thread. `done` is called on the class's own, but after Stop, or when the caller has
// gone already, on that of Begin; it must not block. Published takes a moment, however many watch.
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
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "ring/mutex.h"
#include "server/directory.h"
#include "server/watchers.h"

namespace ringd::server {

class AppliedWaits {
 public:
  // What waits together, in number and in bytes of memory of the requests that are held meanwhile.
  static constexpr size_t kMaxWaits = 1'000;
  static constexpr size_t kMaxBytes = 64 << 20;

  using Clock = std::chrono::steady_clock;
  using Place = uint64_t;
  struct Want {
    std::string ring;
    ring::Version version;
    double share = 1;
    Clock::duration timeout{};
  };
  // CANCELLED when the caller has gone.
  using Done = std::function<void(absl::StatusOr<AppliedOutcome>)>;

  // Both must outlive this, and Reached be called for what the watchers tell.
  AppliedWaits(const Directory& directory, Watchers& watchers);
  ~AppliedWaits();

  // RESOURCE_EXHAUSTED when it would be one too many. `bytes` is the size of what is held for it. The place is free
  // again after Release, or once the wait that begins there has ended.
  absl::StatusOr<Place> Reserve(size_t bytes);
  void Release(Place place);

  // The mutation is published, at this version.
  void Begin(Place place, Want want, Done done);

  // Nobody waits for the answer any more, whether the wait has begun or not. Nothing when it has ended.
  void Cancel(Place place);

  // These rings were published.
  void Published(std::span<const std::string> rings);
  // The share of these waits was reached, as Watchers tells.
  void Reached(std::span<const uint64_t> places);

  // Ends every wait. May be called twice.
  void Stop();

 private:
  struct Reserved {
    size_t bytes = 0;
    bool cancelled = false;
  };
  struct Waiting {
    Want want;
    Clock::time_point deadline;
    Done done;
  };
  // What the thread has not looked at yet.
  struct News {
    std::map<Place, Waiting> begun;
    std::set<std::string> published;
    std::set<Place> reached;
    std::set<Place> cancelled;
    bool stopping = false;

    bool empty() const {
      return begun.empty() && published.empty() && reached.empty() && cancelled.empty() && !stopping;
    }
  };
  using Ended = std::vector<std::pair<Done, absl::StatusOr<AppliedOutcome>>>;

  void Run();
  News AwaitNews(Clock::time_point deadline);
  // Lets the watchers count for those that have begun.
  void Follow(const std::map<Place, Waiting>& begun);
  // Takes the waits that have ended out.
  Ended TakeEnded(const News& news, std::map<Place, Waiting>& waiting);
  bool IsThere(const Want& want) const;
  // What a wait is answered that begins when nothing waits any more.
  AppliedOutcome OutcomeNow(Place place, const Want& want);

  const Directory& directory_;
  Watchers& watchers_;

  Mutex mutex_;
  CondVar changed_;
  Place places_ ABSL_GUARDED_BY(mutex_) = 0;  // ever
  std::map<Place, Reserved> reserved_ ABSL_GUARDED_BY(mutex_);
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;    // of all of them
  size_t waiting_ ABSL_GUARDED_BY(mutex_) = 0;  // of them, those that have begun
  News news_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace ringd::server
