// The one wrapper over the standard locks, so that clang's -Wthread-safety and the thread sanitizer both see them
// (Debian's absl::Mutex gives the sanitizer false reports). Of server/ and client/, which include nothing of each
// other; nothing in ring/ locks.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#include "absl/base/thread_annotations.h"

namespace ringd {

class ABSL_LOCKABLE Mutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() { mutex_.lock(); }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }

 private:
  friend class CondVar;
  std::mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~MutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  MutexLock(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// A condition to wait for under a Mutex.
class CondVar {
 public:
  void Wait(Mutex& mutex) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }
  // Returns false when the time has come without a notification.
  bool WaitUntil(Mutex& mutex, std::chrono::steady_clock::time_point time) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const bool notified = condition_.wait_until(lock, time) == std::cv_status::no_timeout;
    lock.release();
    return notified;
  }
  void NotifyOne() { condition_.notify_one(); }
  void NotifyAll() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

// A reader-writer lock that readers cannot keep a writer out of. std::shared_mutex alone lets them in as long as one of
// them is inside, which with many readers on few cores is for ever; so while a writer waits, readers queue at a gate.
// Not recursive.
class ABSL_LOCKABLE SharedMutex {
 public:
  void Lock() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
    std::lock_guard<std::mutex> gate(gate_);
    writer_waits_.store(true, std::memory_order_relaxed);
    mutex_.lock();
    writer_waits_.store(false, std::memory_order_relaxed);
  }
  void Unlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock(); }
  void ReaderLock() ABSL_SHARED_LOCK_FUNCTION() {
    // A reader that misses the mark is one more to wait for, no harm.
    if (writer_waits_.load(std::memory_order_relaxed)) std::lock_guard<std::mutex> gate(gate_);
    mutex_.lock_shared();
  }
  void ReaderUnlock() ABSL_UNLOCK_FUNCTION() { mutex_.unlock_shared(); }

 private:
  std::mutex gate_;
  std::atomic<bool> writer_waits_ = false;
  std::shared_mutex mutex_;
};

class ABSL_SCOPED_LOCKABLE WriterMutexLock {
 public:
  explicit WriterMutexLock(SharedMutex& mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) { mutex_.Lock(); }
  ~WriterMutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.Unlock(); }
  WriterMutexLock(const WriterMutexLock&) = delete;

 private:
  SharedMutex& mutex_;
};

class ABSL_SCOPED_LOCKABLE ReaderMutexLock {
 public:
  explicit ReaderMutexLock(SharedMutex& mutex) ABSL_SHARED_LOCK_FUNCTION(mutex) : mutex_(mutex) { mutex_.ReaderLock(); }
  ~ReaderMutexLock() ABSL_UNLOCK_FUNCTION() { mutex_.ReaderUnlock(); }
  ReaderMutexLock(const ReaderMutexLock&) = delete;

 private:
  SharedMutex& mutex_;
};

}  // namespace ringd
