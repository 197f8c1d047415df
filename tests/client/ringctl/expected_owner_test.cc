#include "client/ringctl/expected_owner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ringd::ctl {
namespace {

using std::string_literals::operator""s;
using testing::HasSubstr;

std::string Error(std::string_view line) {
  const absl::StatusOr<ExpectedOwner> expected = ParseExpectedOwner(line);
  EXPECT_EQ(expected.status().code(), absl::StatusCode::kInvalidArgument) << line;
  return std::string(expected.status().message());
}

TEST(ExpectedOwner, IsAKeyATabAndAnId) {
  const absl::StatusOr<ExpectedOwner> expected = ParseExpectedOwner("user 42, \\x09\\xFF#\tn\\x2C1");
  ASSERT_TRUE(expected.ok()) << expected.status();
  EXPECT_EQ(expected->key, "user 42, \t\xFF#");
  EXPECT_EQ(expected->owner, "n,1");
}

// The server judges keys, the empty one too.
TEST(ExpectedOwner, TakesAnyKey) {
  EXPECT_EQ(ParseExpectedOwner("\tn1")->key, "");
  EXPECT_EQ(ParseExpectedOwner("\xFF\0\tn1"s)->key, "\xFF\0"s);
}

TEST(ExpectedOwner, RefusesALineOfAnotherForm) {
  EXPECT_THAT(Error(""), HasSubstr("0 tabs"));
  EXPECT_THAT(Error("key\tn1,n2"), HasSubstr("several owners"));
  EXPECT_THAT(Error("key"), HasSubstr("0 tabs"));
  EXPECT_THAT(Error("key\tn1\t"), HasSubstr("2 tabs"));
  EXPECT_THAT(Error("k\\ey\tn1"), HasSubstr("backslash"));
  EXPECT_THAT(Error("key\tn\\x1"), HasSubstr("backslash"));
}

TEST(ExpectedOwner, RefusesAnOwnerThatNoNodeCanBe) {
  EXPECT_THAT(Error("key\t"), HasSubstr("empty"));
  EXPECT_THAT(Error("key\tn1\r"), HasSubstr("n1\\x0D"));
  EXPECT_THAT(Error("key\tn1\\x7F"), HasSubstr("control"));
}

}  // namespace
}  // namespace ringd::ctl
