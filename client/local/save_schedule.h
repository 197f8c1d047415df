// SaveSchedule: when a copy that is current is saved. Pure.
//
// A version is saved after a random part of kSpread, so that many copies do not wait for the disk together; and again
// now and then, since what is saved says when it was last known to be current.
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <utility>

#include "ring/version.h"

namespace ringd {

class SaveSchedule {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kSpread{10'000};
  static constexpr std::chrono::minutes kShortestRefresh{1};
  static constexpr std::chrono::hours kLongestRefresh{6};

  // Saved copies are good for `max_age`.
  SaveSchedule(std::function<double()> random, std::chrono::milliseconds max_age)
      : random_(std::move(random)),
        refresh_(std::clamp<std::chrono::milliseconds>(max_age / 4, kShortestRefresh, kLongestRefresh)) {}

  // When to save this version, which is current.
  Clock::time_point DueOf(ring::Version version, Clock::time_point now) {
    if (due_ == kNever && (version != saved_ || now >= saved_at_ + refresh_)) {
      const std::chrono::duration<double, std::milli> pause = kSpread * random_();
      due_ = now + std::chrono::duration_cast<Clock::duration>(pause);
    }
    return due_ != kNever ? due_ : saved_at_ + refresh_;
  }
  // The version was saved; empty = none was, and it is tried again.
  void Tried(ring::Version version, Clock::time_point now) {
    saved_ = version;
    saved_at_ = now;
    due_ = kNever;
  }
  // What was saved is not there any more.
  void Removed() { saved_ = {}; }
  // What was saved last; empty = nothing, or the last try failed.
  ring::Version saved() const { return saved_; }

 private:
  static constexpr Clock::time_point kNever = Clock::time_point::max();

  const std::function<double()> random_;
  const std::chrono::milliseconds refresh_;
  ring::Version saved_;
  Clock::time_point saved_at_ = Clock::time_point::min();
  Clock::time_point due_ = kNever;
};

}  // namespace ringd
