#include "client/retry.h"

#include <utility>

#include "proto/status_codec.h"

namespace ringd {
namespace {

constexpr Backoff::Policy kPauses{.first = std::chrono::milliseconds(50), .longest = std::chrono::milliseconds(1'000)};

}  // namespace

grpc::Status Understood(grpc::Status status) {
  if (status.error_code() != grpc::StatusCode::CANCELLED) return status;
  return {grpc::StatusCode::UNAVAILABLE, "the server closed the connection"};
}

bool MayTryAgain(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE && ReasonOf(status) != "VERSION_NOT_REACHED";
}

Retry::Retry(Clock::time_point deadline, std::function<double()> random)
    : deadline_(deadline), backoff_(kPauses, std::move(random)) {}

std::optional<std::chrono::milliseconds> Retry::After(const grpc::Status& status, Clock::time_point now) {
  attempts_++;
  if (!MayTryAgain(status) || attempts_ == kMaxAttempts) return std::nullopt;
  const std::chrono::milliseconds pause = backoff_.Next();
  if (now + pause >= deadline_) return std::nullopt;
  return pause;
}

}  // namespace ringd
