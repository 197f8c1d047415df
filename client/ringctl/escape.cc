#include "client/ringctl/escape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "client/ringctl/utf8.h"

namespace ringd::ctl {
namespace {

void AppendHex(std::string_view bytes, std::string* out) {
  for (const char byte : bytes) fmt::format_to(std::back_inserter(*out), "\\x{:02X}", static_cast<uint8_t>(byte));
}

bool IsControlByte(char32_t code) { return code < 0x20 || code == 0x7F; }

// Characters that a terminal obeys instead of showing.
bool IsUnsafeToShow(char32_t code) {
  const bool control = IsControlByte(code) || (code >= 0x80 && code <= 0x9F);
  const bool bidi = code == 0x061C || code == 0x200E || code == 0x200F || (code >= 0x202A && code <= 0x202E) ||
                    (code >= 0x2066 && code <= 0x2069);
  const bool line_break = code == 0x2028 || code == 0x2029;
  return control || bidi || line_break;
}

// Appends `text`, with the characters for which `escaped` holds and all that is not UTF-8 as \xHH.
template <typename Escaped>
void AppendEscaped(std::string_view text, Escaped escaped, std::string* out) {
  while (!text.empty()) {
    const Utf8Char next = ReadUtf8(text);
    const std::string_view bytes = text.substr(0, next.length);
    if (!next.valid || escaped(next.code)) {
      AppendHex(bytes, out);
    } else {
      out->append(bytes);
    }
    text.remove_prefix(next.length);
  }
}

}  // namespace

std::string EscapeForText(std::string_view text) {
  std::string out;
  AppendEscaped(text, IsUnsafeToShow, &out);
  return out;
}

std::string Quoted(std::string_view text) { return fmt::format("\"{}\"", EscapeForText(text)); }

void AppendTsv(std::string_view text, TsvList list, std::string* out) {
  const auto plain = [list](char c) { return c > 0x1F && c < 0x7F && c != '\\' && (c != ',' || list == TsvList::kNo); };
  // Most keys are plain: one pass and one copy for them.
  const auto* end = std::find_if_not(text.begin(), text.end(), plain);
  out->append(text.begin(), end);
  text.remove_prefix(static_cast<std::size_t>(end - text.begin()));
  AppendEscaped(
      text,
      [list](char32_t code) {
        return IsControlByte(code) || code == '\\' || (code == ',' && list == TsvList::kElement);
      },
      out);
}

std::string EscapeForTsv(std::string_view text) {
  std::string out;
  AppendTsv(text, TsvList::kNo, &out);
  return out;
}

}  // namespace ringd::ctl
