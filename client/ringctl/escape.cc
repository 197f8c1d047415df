#include "client/ringctl/escape.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <system_error>

#include "ring/utf8.h"

namespace ringd::ctl {
namespace {

constexpr std::size_t kEscapedByte = 4;  // "\\xHH"

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

std::optional<std::string> ReadTsv(std::string_view cell) {
  std::string text;
  while (true) {
    const std::size_t backslash = cell.find('\\');
    text += cell.substr(0, backslash);
    if (backslash == std::string_view::npos) return text;
    cell.remove_prefix(backslash);
    uint8_t byte = 0;
    if (cell.size() < kEscapedByte || cell[1] != 'x') return std::nullopt;
    const char* digits = cell.data() + 2;
    const auto [end, error] = std::from_chars(digits, digits + 2, byte, 16);
    if (error != std::errc() || end != digits + 2) return std::nullopt;
    text += static_cast<char>(byte);
    cell.remove_prefix(kEscapedByte);
  }
}

}  // namespace ringd::ctl
