// The one way in which this project makes an error: a canonical code, a stable reason for programs, a text for people.
//
// The reason travels as a payload of the absl::Status; status_codec turns it into google.rpc.ErrorInfo on the wire.
// All functions may be called from any thread.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace ringd::ring {

// Reasons are part of the contract: UPPER_SNAKE, never renamed.
inline constexpr std::string_view kInvalidField = "INVALID_FIELD";
inline constexpr std::string_view kLimitExceeded = "LIMIT_EXCEEDED";
inline constexpr std::string_view kNodeNotFound = "NODE_NOT_FOUND";
inline constexpr std::string_view kNodeExists = "NODE_EXISTS";
inline constexpr std::string_view kHashKeyTaken = "HASH_KEY_TAKEN";
inline constexpr std::string_view kDuplicateOperation = "DUPLICATE_OPERATION";
inline constexpr std::string_view kNotServedYet = "NOT_SERVED_YET";
inline constexpr std::string_view kRingEmpty = "RING_EMPTY";
inline constexpr std::string_view kRingImported = "RING_IMPORTED";

// The type URL of the payload that carries the reason.
inline constexpr char kReasonPayload[] = "ringd/reason";

absl::Status Error(absl::StatusCode code, std::string_view reason, const std::string& text);

// INVALID_ARGUMENT, for a field that is wrong whatever the state.
absl::Status InvalidField(const std::string& text);

// INVALID_ARGUMENT, for a choice that the contract has and this version does not serve.
absl::Status NotServedYet(const std::string& what);

// The reason that Error() was given, or "" when the status was made elsewhere.
std::string ReasonOf(const absl::Status& status);

// The same error with `prefix` before its text; reason and code stay.
absl::Status Prefixed(const std::string& prefix, const absl::Status& status);

// Bytes of a user as they may stand in a message: in double quotes, control bytes, quotes, backslashes and invalid
// UTF-8 as \xHH, cut after 64 bytes with "...".
std::string Quote(std::string_view bytes);

}  // namespace ringd::ring
