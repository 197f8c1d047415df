// How long who gets an error shall wait before it tries again. It travels as a payload of the absl::Status;
// status_codec turns it into google.rpc.RetryInfo on the wire. Apart from status_codec.h, since it needs no gRPC.
//
// Any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/cord.h"

namespace ringd {

// The type URL of the payload that carries the time, in milliseconds.
inline constexpr char kRetryAfterPayload[] = "ringd/retry-after";

// REQUIRES an error, and a time that is not negative.
inline absl::Status WithRetryAfter(absl::Status status, std::chrono::milliseconds time) {
  status.SetPayload(kRetryAfterPayload, absl::Cord(std::to_string(time.count())));
  return status;
}

// Nothing where the error names no time.
inline std::optional<std::chrono::milliseconds> RetryAfter(const absl::Status& status) {
  const auto payload = status.GetPayload(kRetryAfterPayload);
  if (!payload.has_value()) return std::nullopt;
  return std::chrono::milliseconds(std::stoll(std::string(*payload)));
}

}  // namespace ringd
