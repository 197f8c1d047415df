// ChangeLog: the newest changes of one ring, in memory, from which watchers are fed. A reader that has fallen out of
// this window gets a fresh snapshot, so a slow reader costs the server a position and no queue.
//
// Threads: self-synchronised; the lock is held to copy one pointer.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

#include "ring/mutex.h"
#include "server/store.h"

namespace ringd::server {

// A change as it is published: immutable, shared by all who send it.
struct PublishedChange {
  std::string ring;
  ChangeRecord record;
  std::chrono::steady_clock::time_point published{};  // not of one that is read from the store
};

class ChangeLog {
 public:
  static constexpr size_t kMaxChanges = 1024;
  // Bounds the memory of a window of large changes. So many runs of slots count as one delta, and so many points that
  // nodes bring.
  static constexpr size_t kMaxDeltas = 20'000;
  static constexpr size_t kRunsOfDelta = 16;
  static constexpr size_t kPointsOfDelta = 32;

  // REQUIRES the revision after that of the last Append.
  void Append(std::shared_ptr<const PublishedChange> change);

  // The change that leads to this revision, or null when it is not (or no longer) in the window.
  std::shared_ptr<const PublishedChange> Get(uint64_t revision) const;

 private:
  mutable Mutex mutex_;
  std::deque<std::shared_ptr<const PublishedChange>> changes_ ABSL_GUARDED_BY(mutex_);
  size_t deltas_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace ringd::server
