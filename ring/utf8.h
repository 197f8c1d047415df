// Text from users: which bytes are UTF-8, and which characters may be shown. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace ringd::ring {

// What stands at the beginning of a text: a character, or one byte that begins none.
struct Utf8Char {
  bool valid;
  char32_t code;  // the character; the byte itself when not valid
  size_t length;  // in bytes, 1..4; 1 when not valid
};

// REQUIRES: `text` is not empty. Overlong forms, surrogates and characters above U+10FFFF are not valid.
Utf8Char ReadUtf8(std::string_view text);

bool IsValidUtf8(std::string_view text);

// C0, DEL and C1.
bool IsControl(char32_t code);

// Controls, line separators, and the bidirectional controls, which can make a name read as another one.
bool IsUnsafeToShow(char32_t code);

// Each byte as \xHH, in upper-case digits.
void AppendHex(std::string_view bytes, std::string* out);

// The text as one line that may be shown: what is unsafe, and what is no UTF-8, as \xHH.
std::string Shown(std::string_view text);

}  // namespace ringd::ring
