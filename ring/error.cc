#include "ring/error.h"

#include <cstddef>

#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"
#include "ring/utf8.h"

namespace ringd::ring {
namespace {

constexpr size_t kQuotedBytes = 64;

}  // namespace

absl::Status Error(absl::StatusCode code, std::string_view reason, const std::string& text) {
  absl::Status status(code, text);
  status.SetPayload(kReasonPayload, absl::Cord(absl::string_view(reason.data(), reason.size())));
  return status;
}

absl::Status InvalidField(const std::string& text) {
  return Error(absl::StatusCode::kInvalidArgument, kInvalidField, text);
}

absl::Status NotServedYet(const std::string& what) {
  return Error(absl::StatusCode::kInvalidArgument, kNotServedYet, what + " is not served yet");
}

std::string ReasonOf(const absl::Status& status) {
  const auto reason = status.GetPayload(kReasonPayload);
  return reason.has_value() ? std::string(*reason) : std::string();
}

absl::Status Prefixed(const std::string& prefix, const absl::Status& status) {
  if (status.ok()) return status;
  absl::Status prefixed(status.code(), prefix + std::string(status.message()));
  status.ForEachPayload([&](absl::string_view url, const absl::Cord& payload) { prefixed.SetPayload(url, payload); });
  return prefixed;
}

std::string Quote(std::string_view bytes) {
  std::string text = "\"";
  size_t done = 0;
  while (done < bytes.size()) {
    const Utf8Char next = ReadUtf8(bytes.substr(done));
    if (done + next.length > kQuotedBytes) break;
    const std::string_view character = bytes.substr(done, next.length);
    if (!next.valid || IsUnsafeToShow(next.code) || next.code == '"' || next.code == '\\') {
      AppendHex(character, &text);
    } else {
      text += character;
    }
    done += next.length;
  }
  text += '"';
  if (done < bytes.size()) text += "...";
  return text;
}

}  // namespace ringd::ring
