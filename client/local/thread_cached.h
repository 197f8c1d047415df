// ThreadCached: a value that one thread now and then replaces whole and many threads read all the time.
//
// Each reading thread keeps an OfThread of its own, made of the value that it saw last, and asks with one atomic read
// whether that is still the one: no lock and no shared counter is written to, so readers on many cores do not slow one
// another. The price: a thread that reads no more keeps what it has of its last value until it ends.
//
// OfThread is made of a std::shared_ptr<const T> and, to take over what it can, the one from before (null = none, and
// it may be of another ThreadCached). That is done by the thread that is to have it, which destroys it when it gets a
// later value, or ends; after the ThreadCached, if need be.
//
// Threads: Get from any thread; Set from any thread, though two at once have no order.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "ring/mutex.h"

namespace ringd {

// Hands out the places of ThreadCached objects in their threads' caches. A place that is given back is given out again.
class CachePlaces {
 public:
  static size_t Take();
  static void GiveBack(size_t place);
};

template <class T, class OfThread>
class ThreadCached {
 public:
  explicit ThreadCached(std::shared_ptr<const T> first) : place_(CachePlaces::Take()), value_(std::move(first)) {}
  ~ThreadCached() { CachePlaces::GiveBack(place_); }
  ThreadCached(const ThreadCached&) = delete;

  void Set(std::shared_ptr<const T> value) {
    const MutexLock lock(mutex_);
    // The old value is destroyed by `value`, without the lock.
    std::swap(value_, value);
    stamp_.store(NewStamp(), std::memory_order_release);
  }

  // What this thread has of the value. Valid until it calls Get of this object again, or ends.
  OfThread& Get() const {
    if (place_ < of_thread.size) [[likely]] {
      const Entry& entry = of_thread.entries[place_];
      if (entry.stamp == stamp_.load(std::memory_order_acquire)) [[likely]]
        return *entry.kept;
    }
    return Refresh();
  }

  // The value to hold on to.
  std::shared_ptr<const T> Share() const {
    const MutexLock lock(mutex_);
    return value_;
  }

  // Holds what Set, Get and Share lock, while the process forks.
  void LockForFork() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex_.Lock(); }
  void UnlockAfterFork() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex_.Unlock(); }

 private:
  struct Entry {
    uint64_t stamp = 0;
    std::unique_ptr<OfThread> kept;
  };
  // Plain, so that reading it needs no check whether it was made.
  struct Cache {
    Entry* entries;
    size_t size;
  };
  // Frees the cache at the thread's end, after all of its thread_locals, which may look up in their destructors; and
  // once more if that made another. (A process that has no key left frees none.)
  static void FreeAtEndOfThread() {
    static const pthread_key_t key = [] {
      pthread_key_t made = PTHREAD_KEYS_MAX;
      (void)pthread_key_create(&made, [](void*) { delete[] std::exchange(of_thread, {}).entries; });
      return made;
    }();
    (void)pthread_setspecific(key, of_thread.entries);
  }

  // Never the same twice, so that an entry that another object left at the same place is not taken for ours.
  static uint64_t NewStamp() {
    static std::atomic<uint64_t> last = 0;
    return ++last;
  }

  [[gnu::noinline]] OfThread& Refresh() const {
    if (place_ >= of_thread.size) {
      auto* const entries = new Entry[place_ + 1];
      std::move(of_thread.entries, of_thread.entries + of_thread.size, entries);
      delete[] std::exchange(of_thread, {entries, place_ + 1}).entries;
      FreeAtEndOfThread();
    }
    uint64_t stamp = 0;
    std::shared_ptr<const T> value;
    {
      const MutexLock lock(mutex_);
      stamp = stamp_.load(std::memory_order_relaxed);
      value = value_;
    }
    Entry& entry = of_thread.entries[place_];
    entry = {.stamp = stamp, .kept = std::make_unique<OfThread>(std::move(value), entry.kept.get())};
    return *entry.kept;
  }

  // In a shared library other models of thread-local storage call a function to find it; these are 16 bytes of those
  // that glibc keeps for libraries that are loaded late.
  [[gnu::tls_model("initial-exec")]] static constinit inline thread_local Cache of_thread{};

  // A cache line that readers alone look at, and Set now and then.
  alignas(64) const size_t place_;
  std::atomic<uint64_t> stamp_ = NewStamp();
  alignas(64) mutable Mutex mutex_;
  std::shared_ptr<const T> value_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ringd
