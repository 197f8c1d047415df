#include "server/field_checks.h"

#include <algorithm>

#include "fmt/format.h"
#include "ring/error.h"
#include "ring/utf8.h"

namespace ringd::server {
namespace {

constexpr size_t kMaxRingName = 128;

bool IsAlnum(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// protobuf has checked that it is UTF-8.
bool HasControlCharacter(std::string_view text) {
  while (!text.empty()) {
    const ring::Utf8Char next = ring::ReadUtf8(text);
    if (ring::IsControl(next.code)) return true;
    text.remove_prefix(next.length);
  }
  return false;
}

}  // namespace

absl::Status TooMany(const std::string& text) {
  return ring::Error(absl::StatusCode::kResourceExhausted, ring::kLimitExceeded, text);
}

absl::Status FirstOf(std::initializer_list<absl::Status> checks) {
  const auto bad = std::find_if(checks.begin(), checks.end(), [](const absl::Status& status) { return !status.ok(); });
  return bad == checks.end() ? absl::OkStatus() : *bad;
}

bool IsDuration(const google::protobuf::Duration& duration, int64_t max_seconds) {
  return duration.seconds() >= 0 && duration.nanos() >= 0 && duration.nanos() <= 999'999'999 &&
         (duration.seconds() < max_seconds || (duration.seconds() == max_seconds && duration.nanos() == 0));
}

absl::Status CheckRingName(std::string_view name) {
  if (name.empty()) return ring::InvalidField("ring is empty; a ring name is required");
  const bool shaped = IsAlnum(name.front()) && std::all_of(name.begin(), name.end(), [](char c) {
                        return IsAlnum(c) || c == '.' || c == '_' || c == '-';
                      });
  if (!shaped || name.size() > kMaxRingName) {
    return ring::InvalidField(
        fmt::format("ring name {} ({} bytes) is not of the form [A-Za-z0-9][A-Za-z0-9._-]{{0,127}}", ring::Quote(name),
                    name.size()));
  }
  return absl::OkStatus();
}

absl::Status InRing(const std::string& ring, std::initializer_list<absl::Status> checks) {
  if (absl::Status status = CheckRingName(ring); !status.ok()) return status;
  const absl::Status status = FirstOf(checks);
  return status.ok() ? status : ring::Prefixed(fmt::format("ring {}: ", ring::Quote(ring)), status);
}

absl::Status CheckText(std::string_view what, std::string_view text, size_t max) {
  if (text.size() > max) {
    return ring::InvalidField(
        fmt::format("{} {} has {} bytes, the limit is {}", what, ring::Quote(text), text.size(), max));
  }
  if (HasControlCharacter(text))
    return ring::InvalidField(fmt::format("{} {} has control characters", what, ring::Quote(text)));
  return absl::OkStatus();
}

absl::Status CheckPageSize(int32_t page_size) {
  if (page_size < 0) return ring::InvalidField(fmt::format("page_size is {}, it must not be negative", page_size));
  return absl::OkStatus();
}

}  // namespace ringd::server
