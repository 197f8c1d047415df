#include "client/ringctl/points_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ringd::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(PointsFile, HasWholeNumbersBetweenWhiteSpace) {
  const auto points = ParsePoints("p", "7 3\r\n\n\t18446744073709551615\n0");
  ASSERT_TRUE(points.ok());
  EXPECT_THAT(*points, ElementsAre(7u, 3u, UINT64_MAX, 0u));
  EXPECT_THAT(ParsePoints("p", "").value(), IsEmpty());
}

TEST(PointsFile, NamesTheLineOfWhatIsNone) {
  for (const std::string word : {"-1", "1.5", "0x10", "18446744073709551616", "a"}) {
    const auto points = ParsePoints("p.txt", "1\n2 " + word + "\n");
    ASSERT_FALSE(points.ok()) << word;
    EXPECT_EQ(points.status().message(), "p.txt:2: point \"" + word + "\" is no whole number below 2^64");
  }
}

}  // namespace
}  // namespace ringd::ctl
