#pragma once

#include <cstddef>
#include <string_view>

namespace ringd::ctl {

// Utf8Char is what stands at the beginning of a text: a character, or one byte that begins none.
struct Utf8Char {
  bool valid;
  char32_t code;       // the character; the byte itself when not valid
  std::size_t length;  // in bytes, 1..4; 1 when not valid
};

// ReadUtf8 reads the beginning of `text`. REQUIRES: `text` is not empty. Overlong forms, surrogates and characters
// above U+10FFFF are not valid.
Utf8Char ReadUtf8(std::string_view text);

bool IsValidUtf8(std::string_view text);

}  // namespace ringd::ctl
