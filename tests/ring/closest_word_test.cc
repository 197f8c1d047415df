#include "ring/closest_word.h"

#include <gtest/gtest.h>

namespace ringd::ring {
namespace {

TEST(ClosestWord, FindsTheWordThatWasMeant) {
  const std::vector<std::string> verbs = {"ring", "node", "lookup", "watch", "status", "version"};
  EXPECT_EQ(ClosestWord("statsu", verbs), "status");  // swapped
  EXPECT_EQ(ClosestWord("lokup", verbs), "lookup");   // left out
  EXPECT_EQ(ClosestWord("nodes", verbs), "node");     // one too many
  EXPECT_EQ(ClosestWord("wstch", verbs), "watch");    // replaced
}

TEST(ClosestWord, IsSilentAboutOtherWords) {
  EXPECT_EQ(ClosestWord("frobnicate", {"ring", "node"}), "");
  EXPECT_EQ(ClosestWord("xy", {"add"}), "");
  EXPECT_EQ(ClosestWord(std::string(100'000, 'x'), {"add"}), "");
}

}  // namespace
}  // namespace ringd::ring
