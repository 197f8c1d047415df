// Log lines of gRPC and of protobuf, in our log. Strangers can cause those of gRPC, by handshakes that fail: so there
// are some a minute, and a count of the rest. Those of protobuf are about texts in requests that are no UTF-8, which
// their callers are told of: they are for debugging.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "ring/mutex.h"

namespace ringd::server {

// How many lines may be written in a period of time. Any thread.
class LineBudget {
 public:
  using Clock = std::chrono::steady_clock;
  struct Answer {
    bool allowed;
    uint64_t left_out;  // how many were not, since the last that was
  };

  LineBudget(size_t lines, Clock::duration period) : lines_(lines), period_(period) {}

  // Asks for one line.
  Answer Take(Clock::time_point now);

 private:
  const size_t lines_;
  const Clock::duration period_;
  Mutex mutex_;
  Clock::time_point end_ ABSL_GUARDED_BY(mutex_);  // of the period
  size_t left_ ABSL_GUARDED_BY(mutex_) = 0;        // lines in it
  uint64_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;
};

// From now on, in this process.
void TakeLogsOfGrpcAndProtobuf();

}  // namespace ringd::server
