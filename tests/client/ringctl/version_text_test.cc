#include "client/ringctl/version_text.h"

#include <gtest/gtest.h>

namespace ringd::ctl {
namespace {

v1::Version Make(uint64_t epoch, uint64_t revision) {
  v1::Version version;
  version.set_epoch(epoch);
  version.set_revision(revision);
  return version;
}

TEST(ParseVersion, ReadsWhatVersionTextWrites) {
  const v1::Version most = Make(UINT64_MAX, UINT64_MAX);
  EXPECT_EQ(VersionText(most), "18446744073709551615/18446744073709551615");
  const auto parsed = ParseVersion(VersionText(most));
  ASSERT_TRUE(parsed.has_value());
  EXPECT_TRUE(SameVersion(*parsed, most));
}

TEST(ParseVersion, RefusesEverythingElse) {
  for (const char* text :
       {"", "1", "/", "1/", "/1", "1/2/3", "-1/2", "1/+2", " 1/2", "1/2 ", "0x1/2", "a/b", "18446744073709551616/1"}) {
    EXPECT_FALSE(ParseVersion(text).has_value()) << text;
  }
}

TEST(RevisionStepText, TellsTheEpochsOnlyWhereTheyDiffer) {
  EXPECT_EQ(RevisionStepText(Make(7, 41), Make(7, 42)), "revision 41 -> 42");
  EXPECT_EQ(RevisionStepText(Make(7, 41), Make(8, 1)), "version 7/41 -> 8/1");
}

TEST(ChecksumText, IsSixteenHexDigits) {
  v1::Checksum checksum;
  checksum.set_value(0xABC);
  EXPECT_EQ(ChecksumText(checksum), "0000000000000abc");
}

}  // namespace
}  // namespace ringd::ctl
