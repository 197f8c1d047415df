#include "ring/error.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"

namespace ringd::ring {
namespace {

constexpr size_t kQuotedBytes = 64;

// Bytes of the character at the start of `bytes`, or 0 when it is not valid UTF-8 (cut short, overlong, a surrogate,
// over U+10FFFF); its code point goes to `code_point`.
size_t DecodeCharacter(std::string_view bytes, uint32_t& code_point) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) {
    code_point = lead;
    return 1;
  }
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || bytes.size() < length) return 0;
  code_point = lead & (0x7Fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code_point = code_point << 6 | (byte(i) & 0x3F);
  }
  const bool overlong = (length == 3 && code_point < 0x800) || (length == 4 && code_point < 0x10000);
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  return overlong || surrogate || code_point > 0x10FFFF ? 0 : length;
}

// Characters that change how the text around them is shown: controls, line separators, and the bidirectional
// controls, which can make a name read as another one.
bool Deceptive(uint32_t c) {
  return c < 0x20 || (c >= 0x7F && c <= 0x9F) || c == '"' || c == '\\' || c == 0x061C || c == 0x200E || c == 0x200F ||
         (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

void AppendEscaped(std::string_view bytes, std::string& text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
  }
}

}  // namespace

absl::Status Error(absl::StatusCode code, std::string_view reason, const std::string& text) {
  absl::Status status(code, text);
  status.SetPayload(kReasonPayload, absl::Cord(absl::string_view(reason.data(), reason.size())));
  return status;
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
    uint32_t code_point = 0;
    const size_t decoded = DecodeCharacter(bytes.substr(done), code_point);
    const size_t length = std::max<size_t>(decoded, 1);
    if (done + length > kQuotedBytes) break;
    const std::string_view character = bytes.substr(done, length);
    if (decoded == 0 || Deceptive(code_point)) {
      AppendEscaped(character, text);
    } else {
      text += character;
    }
    done += length;
  }
  text += '"';
  if (done < bytes.size()) text += "...";
  return text;
}

}  // namespace ringd::ring
