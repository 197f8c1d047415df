#include "client/ringctl/escape.h"

#include <fmt/format.h>

#include <algorithm>

#include "ring/utf8.h"

namespace ringd::ctl {
namespace {

bool IsControlByte(char32_t code) { return code < 0x20 || code == 0x7F; }

// Appends `text`, with the characters for which `escaped` holds and all that is not UTF-8 as \xHH.
template <typename Escaped>
void AppendEscaped(std::string_view text, Escaped escaped, std::string* out) {
  while (!text.empty()) {
    const ring::Utf8Char next = ring::ReadUtf8(text);
    const std::string_view bytes = text.substr(0, next.length);
    if (!next.valid || escaped(next.code)) {
      ring::AppendHex(bytes, out);
    } else {
      out->append(bytes);
    }
    text.remove_prefix(next.length);
  }
}

}  // namespace

std::string Quoted(std::string_view text) { return fmt::format("\"{}\"", ring::Shown(text)); }

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
