#include "ring/utf8.h"

#include <gtest/gtest.h>

namespace ringd::ring {
namespace {

TEST(IsValidUtf8, AgreesWithTheBoundsOfUtf8) {
  EXPECT_TRUE(IsValidUtf8(""));
  EXPECT_TRUE(IsValidUtf8("\u0080\u07FF\u0800\uD7FF\uE000\uFFFF\U00010000\U0010FFFF"));
  EXPECT_FALSE(IsValidUtf8("\x80"));
  EXPECT_FALSE(IsValidUtf8("\xE0\x9F\xBF"));
  EXPECT_FALSE(IsValidUtf8("\xF0\x8F\xBF\xBF"));
  EXPECT_FALSE(IsValidUtf8("\xF5\x80\x80\x80"));
}

TEST(ReadUtf8, ReadsOneCharacterOrOneByteThatBeginsNone) {
  const Utf8Char wide = ReadUtf8("\u952Ex");
  EXPECT_TRUE(wide.valid);
  EXPECT_EQ(wide.code, U'\u952E');
  EXPECT_EQ(wide.length, 3u);
  const Utf8Char cut = ReadUtf8("\xC3");
  EXPECT_FALSE(cut.valid);
  EXPECT_EQ(cut.code, 0xC3u);
  EXPECT_EQ(cut.length, 1u);
}

TEST(Shown, IsOneLineThatDoesNothingToATerminal) {
  EXPECT_EQ(Shown("a\"\\\u00e9\n\x1b[2J\u202e\xff"), "a\"\\\u00e9\\x0A\\x1B[2J\\xE2\\x80\\xAE\\xFF");
}

TEST(IsUnsafeToShow, CoversControlsLineSeparatorsAndBidi) {
  for (const char32_t code :
       {0x00, 0x1F, 0x7F, 0x80, 0x9F, 0x061C, 0x200E, 0x200F, 0x2028, 0x2029, 0x202A, 0x202E, 0x2066, 0x2069}) {
    EXPECT_TRUE(IsUnsafeToShow(code)) << std::hex << static_cast<uint32_t>(code);
  }
  for (const char32_t code : {0x20, 0x7E, 0xA0, 0x200D, 0x2027, 0x202F, 0x2065, 0x206A, 0x10FFFF}) {
    EXPECT_FALSE(IsUnsafeToShow(code)) << std::hex << static_cast<uint32_t>(code);
  }
}

}  // namespace
}  // namespace ringd::ring
