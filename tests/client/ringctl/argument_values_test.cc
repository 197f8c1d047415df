#include "client/ringctl/argument_values.h"

#include <gtest/gtest.h>

namespace ringd::ctl {
namespace {

// B27: a weight is a whole number >= 0 as text, too.
TEST(ParseWireNumber, TakesWholeNumbersThatFitAUint32) {
  EXPECT_EQ(*ParseWireNumber("weight", "0"), 0u);
  EXPECT_EQ(*ParseWireNumber("weight", "4294967295"), 4294967295u);
  for (const char* text : {"", "-1", "-300", "+1", "-0.0", "0.1", "1e308", "NaN", "+Inf", " 1", "1 ", "0x10"}) {
    EXPECT_FALSE(ParseWireNumber("weight", text).ok()) << text;
  }
}

TEST(ParseWireNumber, NamesAValueThatCannotBeSent) {
  for (const char* text : {"4294967296", "99999999999999999999999"}) {
    const auto value = ParseWireNumber("weight", text);
    ASSERT_FALSE(value.ok());
    EXPECT_NE(value.status().ToString().find(text), std::string::npos) << value.status();
  }
}

TEST(ParseTimeout, TakesDurationsAndSeconds) {
  using std::chrono::milliseconds;
  EXPECT_EQ(*ParseTimeout("5"), milliseconds(5000));
  EXPECT_EQ(*ParseTimeout("500ms"), milliseconds(500));
  EXPECT_EQ(*ParseTimeout("1m30s"), milliseconds(90'000));
  EXPECT_EQ(*ParseTimeout("0.5s"), milliseconds(500));
  for (const char* text : {"", "0", "-5s", "inf", "5x", "1us", "25h", "soon"}) {
    EXPECT_FALSE(ParseTimeout(text).ok()) << text;
  }
}

TEST(ParseShare, TakesPercentages) {
  EXPECT_EQ(*ParseShare("99%"), 0.99);
  EXPECT_EQ(*ParseShare("100%"), 1.0);
  EXPECT_EQ(*ParseShare("0.5%"), 0.005);
  EXPECT_EQ(*ParseShare("99.5%"), 0.995);
  for (const char* text : {"", "%", ".%", "99", "0.99", "0%", "100.1%", "-1%", "+1%", "1e1%", "nan%", "inf%", " 9%",
                           "9 %", "9%%", "%9", "1.2.3%", "0x9%", "all"}) {
    EXPECT_FALSE(ParseShare(text).ok()) << text;
  }
}

TEST(ParsePairs, SplitsAtTheFirstEqualsSign) {
  const auto pairs = ParsePairs("label", {"a=b=c", "empty=", "=x"});
  ASSERT_TRUE(pairs.ok());
  EXPECT_EQ(*pairs, (std::map<std::string, std::string>{{"a", "b=c"}, {"empty", ""}, {"", "x"}}));
  EXPECT_FALSE(ParsePairs("label", {"a"}).ok());
  EXPECT_FALSE(ParsePairs("label", {"a=1", "a=2"}).ok());
}

// A variable that is not set must not clear what is there.
TEST(ParsePairs, AnEmptyTextIsNoPairAndIsNamed) {
  const auto pairs = ParsePairs("metadata", {""});
  EXPECT_EQ(pairs.status().message(), "metadata \"\" is not of the form KEY=VALUE");
}

TEST(ParseEndpoints, TakesHostsAndSocketsInOrder) {
  const auto endpoints = ParseEndpoints("a:1,[::1]:7440,unix:///run/ringd.sock");
  ASSERT_TRUE(endpoints.ok());
  EXPECT_EQ(*endpoints, (std::vector<std::string>{"a:1", "[::1]:7440", "unix:///run/ringd.sock"}));
  for (const char* text : {"", "a", "a:", "a:0", "a:65536", "a:x", ":1", "a:1,", ",a:1", "unix:"}) {
    EXPECT_FALSE(ParseEndpoints(text).ok()) << text;
  }
}

TEST(ParseAge, ReadsWholeMillisecondsAndNothingElse) {
  EXPECT_EQ(*ParseAge("history-age", "720h"), std::chrono::hours(720));
  EXPECT_EQ(*ParseAge("history-age", "1m30.5s"), std::chrono::milliseconds(90'500));
  EXPECT_EQ(*ParseAge("history-age", "-1s"), std::chrono::seconds(-1)) << "the server judges it";
  for (const char* text : {"", "x", "7", "30d", "1us", "inf", "-inf"}) {
    const auto refused = ParseAge("history-age", text);
    EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << text;
  }
}

}  // namespace
}  // namespace ringd::ctl
