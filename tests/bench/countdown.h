// A count that many threads take down, and the time at which it came to nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace ringd::bench {

using Clock = std::chrono::steady_clock;

class Countdown {
 public:
  // Not while anybody takes down or waits.
  void Start(int count) {
    done_ = false;
    left_ = count;
  }

  void Down() {
    if (--left_ != 0) return;
    const auto now = Clock::now();
    std::lock_guard<std::mutex> lock(mutex_);
    end_ = now;
    done_ = true;
    ended_.notify_all();
  }

  // Waits for the last Down and tells its time. Leaves the process when it does not come: a figure of less is none.
  Clock::time_point Wait(const char* what) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!ended_.wait_for(lock, std::chrono::minutes(1), [&] { return done_; })) {
      std::fprintf(stderr, "%s: %d are missing after a minute\n", what, left_.load());
      std::_Exit(1);
    }
    return end_;
  }

 private:
  std::atomic<int> left_ = 0;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  Clock::time_point end_;
};

}  // namespace ringd::bench
