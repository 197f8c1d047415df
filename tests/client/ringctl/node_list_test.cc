#include "client/ringctl/node_list.h"

#include <gtest/gtest.h>

namespace ringd::ctl {
namespace {

std::string Error(const std::string& content) {
  const absl::StatusOr<ImportedRing> ring = ParseNodeList("l", content);
  EXPECT_EQ(ring.status().code(), absl::StatusCode::kInvalidArgument) << content;
  return std::string(ring.status().message());
}

TEST(NodeList, HasANodeALine) {
  const absl::StatusOr<ImportedRing> ring =
      ParseNodeList("l", "# nodes\n\n10.0.0.2:11211 3\r\n  b.example.net\t0\n10.0.0.1");
  ASSERT_TRUE(ring.ok()) << ring.status();
  ASSERT_EQ(ring->nodes.size(), 3u);
  EXPECT_EQ(ring->nodes[0].id(), "10.0.0.2:11211");
  EXPECT_EQ(ring->nodes[0].address(), "10.0.0.2:11211");
  EXPECT_EQ(ring->nodes[0].weight(), 3u);
  EXPECT_EQ(ring->nodes[1].id(), "b.example.net");
  EXPECT_EQ(ring->nodes[1].weight(), 0u);
  EXPECT_EQ(ring->nodes[2].id(), "10.0.0.1");
  EXPECT_FALSE(ring->nodes[2].has_weight());
  EXPECT_FALSE(ring->settings.has_placement());
  EXPECT_TRUE(ring->warnings.empty());
}

TEST(NodeList, SaysWhichLineIsWrong) {
  EXPECT_EQ(Error("a 1\nb 1 c\n"), "l:2: \"c\" is left over: a line has HOST[:PORT] and WEIGHT");
  EXPECT_EQ(Error("\n\na -1"), "l:3: weight \"-1\" is no whole number >= 0");
  EXPECT_EQ(Error("a 4294967296"), "l:1: weight 4294967296 is above 4294967295, the most that can be sent");
  EXPECT_EQ(Error("a 1\nb\na 2"), "l:3: \"a\" comes twice, first in line 1");
}

// What other programs write is hashed as it stands, so that it must not pass for a host.
TEST(NodeList, TakesHostsAndPortsAlone) {
  for (const char* good : {"a", "10.0.0.1", "h-1.example_2:65535", "[::1]", "[fe80::1]:11211", "h:1"}) {
    EXPECT_TRUE(ParseNodeList("l", good).ok()) << good;
  }
  for (const std::string bad : {"--SERVER=h:11211/?600", "c:1:4", "a:1,5", "c:x", "a;", "c:0", "c:65536", "c:", ":1",
                                "[::1", "[]", "[::1]x", "::1", "a/b"}) {
    EXPECT_EQ(Error(bad), "l:1: \"" + bad + "\" is not HOST[:PORT]: a line has HOST[:PORT] and WEIGHT");
  }
}

TEST(NodeList, RefusesAFileWithoutNodes) {
  for (const char* content : {"", "\n", "# none\n"}) Error(content);
}

}  // namespace
}  // namespace ringd::ctl
