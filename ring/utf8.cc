#include "ring/utf8.h"

namespace ringd::ring {

Utf8Char ReadUtf8(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {true, first, 1};
  const Utf8Char invalid{false, first, 1};
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return invalid;
  char32_t code = first & (0x7FU >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return invalid;
    code = code << 6 | (byte(i) & 0x3F);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  if (overlong || surrogate || code > 0x10FFFF) return invalid;
  return {true, code, length};
}

bool IsValidUtf8(std::string_view text) {
  while (!text.empty()) {
    const Utf8Char next = ReadUtf8(text);
    if (!next.valid) return false;
    text.remove_prefix(next.length);
  }
  return true;
}

bool IsControl(char32_t code) { return code < 0x20 || (code >= 0x7F && code <= 0x9F); }

bool IsUnsafeToShow(char32_t code) {
  const bool bidi = code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
                    (code >= 0x2066 && code <= 0x2069);
  const bool line_break = code == 0x2028 || code == 0x2029;
  return IsControl(code) || bidi || line_break;
}

void AppendHex(std::string_view bytes, std::string* out) {
  constexpr char kHex[] = "0123456789ABCDEF";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    *out += {'\\', 'x', kHex[byte >> 4], kHex[byte & 15]};
  }
}

std::string Shown(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const Utf8Char next = ReadUtf8(text);
    const std::string_view character = text.substr(0, next.length);
    if (!next.valid || IsUnsafeToShow(next.code)) {
      AppendHex(character, &shown);
    } else {
      shown += character;
    }
    text.remove_prefix(next.length);
  }
  return shown;
}

}  // namespace ringd::ring
