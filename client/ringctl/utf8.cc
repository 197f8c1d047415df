#include "client/ringctl/utf8.h"

#include <cstdint>

namespace ringd::ctl {

Utf8Char ReadUtf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return {true, first, 1};
  const Utf8Char invalid{false, first, 1};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC2 ? 2 : 0;
  if (length == 0 || first > 0xF4 || text.size() < length) return invalid;
  char32_t code = first & (0x7F >> length);
  for (std::size_t i = 1; i < length; ++i) {
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

}  // namespace ringd::ctl
