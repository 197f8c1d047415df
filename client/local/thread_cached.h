// ThreadCached: a value that one thread now and then replaces whole and many threads read all the time.
//
// Each reading thread keeps the value that it saw last, and asks with one atomic read whether that is still the one: no
// lock and no shared counter is written to, so readers on many cores do not slow one another. The price: a thread that
// reads no more keeps its last value alive until it ends.
//
// Threads: Get from any thread; Set from any thread, though two at once have no order.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "ring/mutex.h"

namespace ringd {

// Hands out the places of ThreadCached objects in their threads' caches. A place that is given back is given out again.
class CachePlaces {
 public:
  static size_t Take();
  static void GiveBack(size_t place);
};

template <class T>
class ThreadCached {
 public:
  ThreadCached() : place_(CachePlaces::Take()) {}
  ~ThreadCached() { CachePlaces::GiveBack(place_); }
  ThreadCached(const ThreadCached&) = delete;

  void Set(std::shared_ptr<const T> value) {
    const MutexLock lock(mutex_);
    // The old value is destroyed by `value`, without the lock.
    std::swap(value_, value);
    stamp_.store(NewStamp(), std::memory_order_release);
  }

  // The value, or null when none was set. Valid until this thread calls Get of this object again, or ends.
  const T* Get() const {
    if (Cache* cache = of_thread; cache != nullptr && place_ < cache->size()) {
      const Entry& entry = (*cache)[place_];
      if (entry.stamp == stamp_.load(std::memory_order_acquire)) return entry.value.get();
    }
    return Refresh();
  }

  // The value to hold on to.
  std::shared_ptr<const T> Share() const {
    const MutexLock lock(mutex_);
    return value_;
  }

 private:
  struct Entry {
    uint64_t stamp = 0;
    std::shared_ptr<const T> value;
  };
  using Cache = std::vector<Entry>;

  // Never the same twice, so that an entry that another object left at the same place is not taken for ours.
  static uint64_t NewStamp() {
    static std::atomic<uint64_t> last = 0;
    return ++last;
  }

  const T* Refresh() const {
    // Made on first use, and destroyed with its thread.
    thread_local const std::unique_ptr<Cache> owner = [] {
      auto cache = std::make_unique<Cache>();
      of_thread = cache.get();
      return cache;
    }();
    if (place_ >= owner->size()) owner->resize(place_ + 1);
    Entry& entry = (*owner)[place_];
    Entry next;
    {
      const MutexLock lock(mutex_);
      next = {.stamp = stamp_.load(std::memory_order_relaxed), .value = value_};
    }
    std::swap(entry, next);
    return entry.value.get();
  }

  // A plain pointer, so that reading it needs no check whether it was made.
  static constinit inline thread_local Cache* of_thread = nullptr;

  const size_t place_;
  std::atomic<uint64_t> stamp_ = NewStamp();
  mutable Mutex mutex_;
  std::shared_ptr<const T> value_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ringd
