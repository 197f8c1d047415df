// ReportSchedule: when a copy tells the directory which version it has (ReportWatch). Pure.
//
// Each version is told once a stream, after a random part of kSpread, so that copies that get a change together do not
// all call at once; versions that come meanwhile are told with the newest. What fails is told again later, unless this
// directory takes no reports.
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

#include "ring/version.h"

namespace ringd {

class ReportSchedule {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kSpread{1'000};
  static constexpr std::chrono::milliseconds kAfterFailure{5'000};

  explicit ReportSchedule(std::function<double()> random) : random_(std::move(random)) {}

  // The copy is at this version, by this stream, which is in sync.
  void InSync(uint64_t stream, ring::Version version, Clock::time_point now);
  // No stream is in sync, so that there is nobody to tell.
  void OutOfSync() { stream_ = 0; }

  // When to tell the version; max() = not yet.
  Clock::time_point due() const;
  // What is told, and since when the copy has it.
  ring::Version version() const { return version_; }
  Clock::time_point applied_at() const { return applied_at_; }

  // A call with version() is under way; it has ended.
  void Sent();
  enum class Outcome { kTold, kFailed, kNotTaken };
  void Answered(Outcome outcome, Clock::time_point now);

 private:
  void SetDue(Clock::time_point now, std::chrono::milliseconds spread);

  const std::function<double()> random_;
  uint64_t stream_ = 0;  // 0 = none
  ring::Version version_;
  Clock::time_point applied_at_;
  Clock::time_point due_ = Clock::time_point::max();
  uint64_t asked_ = 0;      // the stream by which a call is under way; 0 = none
  bool not_taken_ = false;  // by this stream's directory
};

}  // namespace ringd
