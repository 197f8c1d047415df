// Retry: whether a call is made again, and after which pause. Pure: time and randomness are arguments.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "client/backoff.h"
#include "grpcpp/support/status.h"

namespace ringd {

// A call's status, in which CANCELLED is UNAVAILABLE: gRPC answers it to what reaches a server as it closes, and
// nothing here cancels unary calls.
grpc::Status Understood(grpc::Status status);

// Whether a call that ended so may be made again, here or at another endpoint: a change must carry a request_id then. A
// server that answered that it has waited for a version in vain is not unreachable.
bool MayTryAgain(const grpc::Status& status);

// Retry decides for one call. Not thread-safe.
class Retry {
 public:
  using Clock = std::chrono::steady_clock;

  // No attempt begins at or after `deadline`.
  Retry(Clock::time_point deadline, std::function<double()> random);

  // The pause before the next attempt, after one that ended with `status` at `now`; nothing when that is the outcome.
  std::optional<std::chrono::milliseconds> After(const grpc::Status& status, Clock::time_point now);

  static constexpr int kMaxAttempts = 4;

 private:
  const Clock::time_point deadline_;
  Backoff backoff_;
  int attempts_ = 0;
};

}  // namespace ringd
