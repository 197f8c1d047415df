// What single fields of requests must be, whatever the request: the parts of request_checks. Pure functions, any
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "google/protobuf/duration.pb.h"

namespace ringd::server {

// Bytes of a node's id, its texts, and the name of a watcher.
inline constexpr size_t kMaxName = 255;

// RESOURCE_EXHAUSTED, LIMIT_EXCEEDED.
absl::Status TooMany(const std::string& text);

// The first error of several checks, all of which have been made: each is linear in the request, whose size is bounded.
absl::Status FirstOf(std::initializer_list<absl::Status> checks);

// Whether it is a duration of 0 to `max_seconds`.
bool IsDuration(const google::protobuf::Duration& duration, int64_t max_seconds);

absl::Status CheckRingName(std::string_view name);

// The first error of a request on one ring: that of the name, else of the checks, with the name before it.
absl::Status InRing(const std::string& ring, std::initializer_list<absl::Status> checks);

// Text of so many bytes at most, without control characters. protobuf has checked that it is UTF-8.
absl::Status CheckText(std::string_view what, std::string_view text, size_t max);

absl::Status CheckPageSize(int32_t page_size);

}  // namespace ringd::server
