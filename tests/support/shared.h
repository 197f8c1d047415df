// Shared: a value that threads change and wait for. The one way in which tests wait for other threads: never by time.
#pragma once

#include <condition_variable>
#include <mutex>
#include <utility>

namespace ringd::support {

template <class T>
class Shared {
 public:
  Shared() = default;
  explicit Shared(T value) : value_(std::move(value)) {}

  // Calls change(value&) under the lock and wakes who waits.
  template <class Change>
  void Update(Change change) {
    const std::lock_guard lock(mutex_);
    change(value_);
    changed_.notify_all();
  }

  // Waits until holds(value) is true. A test in which it never comes true is ended by ctest's timeout.
  template <class Holds>
  T Await(Holds holds) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return holds(static_cast<const T&>(value_)); });
    return value_;
  }

  T Get() const {
    const std::lock_guard lock(mutex_);
    return value_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  T value_{};
};

}  // namespace ringd::support
