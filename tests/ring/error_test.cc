#include "ring/error.h"

#include <gtest/gtest.h>

#include <string>

namespace ringd::ring {
namespace {

TEST(Error, CarriesCodeReasonAndText) {
  const absl::Status status = Error(absl::StatusCode::kNotFound, kNodeNotFound, "node \"n9\" not found");
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(std::string(status.message()), "node \"n9\" not found");
  EXPECT_EQ(ReasonOf(status), "NODE_NOT_FOUND");
}

TEST(Error, HasNoReasonWhenMadeElsewhere) {
  EXPECT_EQ(ReasonOf(absl::InternalError("x")), "");
  EXPECT_EQ(ReasonOf(absl::OkStatus()), "");
}

TEST(Error, KeepsCodeAndReasonWhenPrefixed) {
  const absl::Status inner = Error(absl::StatusCode::kAlreadyExists, kNodeExists, "node \"a\" already exists");
  const absl::Status status = Prefixed("ring \"r\": ", inner);
  EXPECT_EQ(status.code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(std::string(status.message()), "ring \"r\": node \"a\" already exists");
  EXPECT_EQ(ReasonOf(status), "NODE_EXISTS");
  EXPECT_TRUE(Prefixed("ring \"r\": ", absl::OkStatus()).ok());
}

TEST(Quote, LeavesTextAsItIs) {
  EXPECT_EQ(Quote(""), "\"\"");
  EXPECT_EQ(Quote("node-1"), "\"node-1\"");
  EXPECT_EQ(Quote("\xD0\xBA\xD0\xBB\xD1\x8E\xD1\x87 \xE9\x94\xAE \xF0\x9F\x9A\x80"),
            "\"\xD0\xBA\xD0\xBB\xD1\x8E\xD1\x87 \xE9\x94\xAE \xF0\x9F\x9A\x80\"");
}

TEST(Quote, EscapesControlsQuotesAndBackslashes) {
  EXPECT_EQ(Quote("a\"b\\c"), R"("a\x22b\x5Cc")");
  EXPECT_EQ(Quote(std::string("a\n\0\x7F", 4)), R"("a\x0A\x00\x7F")");
  EXPECT_EQ(Quote("\xC2\x85"), R"("\xC2\x85")") << "U+0085, a control of two bytes";
  EXPECT_EQ(Quote("\xC2\xA0"), "\"\xC2\xA0\"") << "U+00A0 is none";
}

TEST(Quote, EscapesCharactersThatReorderOrBreakLines) {
  EXPECT_EQ(Quote("a\xE2\x80\xAE"
                  "b"),
            R"("a\xE2\x80\xAEb")")
      << "U+202E";
  EXPECT_EQ(Quote("\xE2\x81\xA6"), R"("\xE2\x81\xA6")") << "U+2066";
  EXPECT_EQ(Quote("\xE2\x80\x8F"), R"("\xE2\x80\x8F")") << "U+200F";
  EXPECT_EQ(Quote("\xD8\x9C"), R"("\xD8\x9C")") << "U+061C";
  EXPECT_EQ(Quote("\xE2\x80\xA8"), R"("\xE2\x80\xA8")") << "U+2028";
}

TEST(Quote, EscapesInvalidUtf8ByteByByte) {
  EXPECT_EQ(Quote("\xFF"), R"("\xFF")");
  EXPECT_EQ(Quote("\xF0\x80"), R"("\xF0\x80")") << "cut short";
  EXPECT_EQ(Quote("\xC3\x28"), R"("\xC3(")") << "no continuation";
  EXPECT_EQ(Quote("\x80"), R"("\x80")") << "a continuation alone";
  EXPECT_EQ(Quote("\xC0\xAF"), R"("\xC0\xAF")") << "overlong, two bytes";
  EXPECT_EQ(Quote("\xE0\x80\xAF"), R"("\xE0\x80\xAF")") << "overlong, three bytes";
  EXPECT_EQ(Quote("\xF0\x80\x80\xAF"), R"("\xF0\x80\x80\xAF")") << "overlong, four bytes";
  EXPECT_EQ(Quote("\xED\xA0\x80"), R"("\xED\xA0\x80")") << "a surrogate";
  EXPECT_EQ(Quote("\xF4\x90\x80\x80"), R"("\xF4\x90\x80\x80")") << "over U+10FFFF";
  EXPECT_EQ(Quote("\xF4\x8F\xBF\xBF"), "\"\xF4\x8F\xBF\xBF\"") << "U+10FFFF itself";
}

TEST(Quote, CutsAfter64BytesButNeverInsideACharacter) {
  const std::string a64(64, 'a');
  EXPECT_EQ(Quote(a64), "\"" + a64 + "\"");
  EXPECT_EQ(Quote(a64 + "a"), "\"" + a64 + "\"...");
  const std::string a63(63, 'a');
  EXPECT_EQ(Quote(a63 + "\xC3\xA9"), "\"" + a63 + "\"...");
  EXPECT_EQ(Quote(std::string(4096, '\xFF')).size(), 64 * 4 + 2 + 3u);
}

}  // namespace
}  // namespace ringd::ring
