#include "client/ringctl/escape.h"

#include <gtest/gtest.h>

namespace ringd::ctl {
namespace {

using std::string_literals::operator""s;

TEST(EscapeForTsv, LeavesValidUtf8AsItIs) {
  EXPECT_EQ(EscapeForTsv("user:42"), "user:42");
  EXPECT_EQ(EscapeForTsv("é \u952E \U0001F600 \u202E"), "é \u952E \U0001F600 \u202E");
}

TEST(EscapeForTsv, EscapesControlBytesAndBackslash) {
  EXPECT_EQ(EscapeForTsv("a\tb\nc\\d\x7F\0e"s), "a\\x09b\\x0Ac\\x5Cd\\x7F\\x00e");
}

TEST(EscapeForTsv, EscapesBytesThatAreNotUtf8) {
  EXPECT_EQ(EscapeForTsv("\xFF"), "\\xFF");
  EXPECT_EQ(EscapeForTsv("a\xC3"), "a\\xC3");                           // cut off
  EXPECT_EQ(EscapeForTsv("\xC0\xAF"), "\\xC0\\xAF");                    // overlong
  EXPECT_EQ(EscapeForTsv("\xED\xA0\x80"), "\\xED\\xA0\\x80");           // surrogate
  EXPECT_EQ(EscapeForTsv("\xF4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80");  // above U+10FFFF
}

TEST(EscapeForTsv, EscapesACommaOnlyInsideAnElementOfAList) {
  std::string element;
  AppendTsv("a,b", TsvList::kElement, &element);
  EXPECT_EQ(element, "a\\x2Cb");
  EXPECT_EQ(EscapeForTsv("a,b"), "a,b");
}

TEST(ReadTsv, ReadsBackWhatWasEscaped) {
  for (const std::string& text : {""s, "user:42"s, "a\tb\nc\\d\x7F\0e"s, "\xFF\xC3"s, "\\x41"s, "é, \u952E"s}) {
    EXPECT_EQ(ReadTsv(EscapeForTsv(text)), text);
    std::string element;
    AppendTsv(text, TsvList::kElement, &element);
    EXPECT_EQ(ReadTsv(element), text);
  }
  EXPECT_EQ(ReadTsv("\\x4a\\x4B"), "JK");
}

TEST(ReadTsv, RefusesABackslashThatBeginsNoEscape) {
  for (const char* cell : {"\\", "a\\", "\\x", "\\x4", "\\x4G", "\\x 4", "\\x+4", "\\X41", "\\n", "\\\\x41"}) {
    EXPECT_EQ(ReadTsv(cell), std::nullopt) << cell;
  }
}

}  // namespace
}  // namespace ringd::ctl
