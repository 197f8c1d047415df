#include "client/ringctl/redis_cluster_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ringd::ctl {
namespace {

using ::testing::HasSubstr;

const std::string kA(40, 'a');
const std::string kB(40, 'b');
const std::string kC(40, 'c');

// Nodes and ranges in short words, or the error.
std::string TextOf(const std::string& content) {
  const absl::StatusOr<ImportedRing> ring = ParseRedisCluster("f", content);
  if (!ring.ok()) return std::string(ring.status().message());
  std::string text;
  for (const v1::Node& node : ring->nodes) {
    text += node.id().substr(0, 1) + "=" + node.address() + (node.has_weight() ? " w0 " : " ");
  }
  for (const v1::SlotRange& range : ring->ranges) {
    text += std::to_string(range.first()) + ".." + std::to_string(range.last());
    for (const std::string& id : range.node_ids()) text += ":" + id.substr(0, 1);
    text += " ";
  }
  return text;
}

TEST(RedisClusterFile, ReadsClusterNodes) {
  EXPECT_EQ(TextOf(kA + " 10.0.0.1:7000@17000 myself,master - 0 0 1 connected 0-99 200 [300->-" + kB + "]\n" + kB +
                   " 10.0.0.2:7000@17000,host-b master - 0 1 2 connected 100-199 201-16383\n" + kC +
                   " 10.0.0.3:7000@17000 slave " + kA + " 0 1 1 connected\n" + std::string(40, 'd') +
                   " 10.0.0.4:7000@17000 master,fail - 0 1 1 disconnected\n"),
            "a=10.0.0.1:7000 b=10.0.0.2:7000 c=10.0.0.3:7000 w0 0..99:a:c 100..199:b 200..200:a:c 201..16383:b ");
}

TEST(RedisClusterFile, SaysWhatItLeavesOut) {
  const std::string d(40, 'd'), e(40, 'e'), f(40, 'f');
  const std::string content = "\n" + kA + " 10.0.0.1:7000@17000 master,fail - 0 0 1 connected 0-16383 [300->-" + kB +
                              "]\n" + kB + " 10.0.0.2:7000@17000 slave,fail " + kA + " 0 1 2 connected\n" + kC +
                              " 10.0.0.3:7000@17000 slave,fail? " + kA + " 0 1 1 connected\n" + d +
                              " 10.0.0.4:7000@17000 master - 0 1 1 connected\n" + e + " 10.0.0.5:7000@17000 slave " +
                              d + " 0 1 1 connected\n" + f + " :0@0 slave,noaddr " + kA + " 0 1 1 disconnected\n";
  EXPECT_EQ(TextOf(content), "a=10.0.0.1:7000 c=10.0.0.3:7000 w0 0..16383:a:c ");
  EXPECT_THAT(
      ParseRedisCluster("f", content)->warnings,
      testing::ElementsAre("f:2: node " + kA + " has slots, and is master,fail",
                           "f:3: node " + kB + " is slave,fail, and is left out",
                           "f:5: node " + d + " is a master without slots, and is left out",
                           "f:6: node " + e + " is a replica of none that has slots, and is left out",
                           "f:7: node " + f + " is slave,noaddr, and is left out",
                           "f:2: a slot on its way, [300->-" + kB + "], is still that of the node that has it"));
}

// Redis 7 has an array of further names behind each id, which is an empty line in a pipe where there are none; so is a
// host that the node does not know.
TEST(RedisClusterFile, EmptyLinesOfAPipeAreHostsOrNoNames) {
  EXPECT_EQ(TextOf("0\n8191\n\n7000\n" + kA + "\n\n\n7001\n" + kC + "\n\n8192\n16383\n10.0.0.2\n7000\n" + kB + "\n\n"),
            "a= c= w0 b=10.0.0.2:7000 0..8191:a:c 8192..16383:b ");
  EXPECT_THAT(ParseRedisCluster("f", "0\n16383\n?\n7000\n" + kA + "\n")->warnings,
              testing::ElementsAre("f:3: node " + kA + " does not tell its address"));
  EXPECT_EQ(TextOf("0\n16383\n\n7000\n" + kA + "\n"), "a= 0..16383:a ");
}

// As Redis tells them, without brackets.
TEST(RedisClusterFile, AddressesOfIPv6MayBeginWithAColon) {
  EXPECT_EQ(TextOf(kA + " ::1:7000@17000 master - 0 0 1 connected 0-8191\n" + kB +
                   " 2001:db8::2:7000@17000 master - 0 0 1 connected 8192-16383\n"),
            "a=::1:7000 b=2001:db8::2:7000 0..8191:a 8192..16383:b ");
  EXPECT_EQ(TextOf("0\n16383\n::1\n7000\n" + kA + "\n"), "a=::1:7000 0..16383:a ");
}

TEST(RedisClusterFile, ReadsClusterSlotsOfAPipe) {
  EXPECT_EQ(TextOf("0\n8191\n10.0.0.1\n7000\n" + kA + "\nhostname\nhost-a\n10.0.0.3\n7000\n" + kC + "\n8192\n16383\n" +
                   "10.0.0.2\n7000\n" + kB + "\n"),
            "a=10.0.0.1:7000 c=10.0.0.3:7000 w0 b=10.0.0.2:7000 0..8191:a:c 8192..16383:b ");
}

TEST(RedisClusterFile, ReadsClusterSlotsOfATerminal) {
  EXPECT_EQ(TextOf("1) 1) (integer) 0\n   2) (integer) 8191\n   3) 1) \"10.0.0.1\"\n      2) (integer) 7000\n"
                   "      3) \"" +
                   kA +
                   "\"\n      4) (empty array)\n"
                   "2) 1) (integer) 8192\n   2) (integer) 16383\n   3) 1) \"10.0.0.2\"\n      2) (integer) 7000\n"
                   "      3) \"" +
                   kB + "\"\n      4) 1) \"hostname\"\n         2) \"host-b\"\n"),
            "a=10.0.0.1:7000 b=10.0.0.2:7000 0..8191:a 8192..16383:b ");
}

TEST(RedisClusterFile, TellsTheLineOfWhatItCannotRead) {
  EXPECT_THAT(TextOf(""), HasSubstr("f:1: "));
  EXPECT_THAT(TextOf("hello\n"), HasSubstr("f:1: this is neither"));
  EXPECT_THAT(TextOf(kA + " 10.0.0.1:7000@17000 master\n"), HasSubstr("f:1: a line of CLUSTER NODES has 8 words"));
  EXPECT_THAT(TextOf(kA + " 10.0.0.1:7000@17000 master - 0 0 1 connected 0-x\n"),
              HasSubstr("f:1: \"0-x\" are no slots"));
  EXPECT_THAT(TextOf(kA + " 10.0.0.1:7000@17000 master - 0 0 1 connected\n"), HasSubstr("no node has a slot"));
  const std::string a = "10.0.0.1\n7000\n" + kA + "\n";
  const std::string once = "f: a directory takes each of 16384 slots once; ";
  EXPECT_EQ(TextOf("0\n8192\n" + a + "8192\n16383\n" + a), once + "slot 8192 is told twice");
  EXPECT_EQ(TextOf("0\n8191\n" + a + "8192\n16384\n" + a), once + "8192..16384 is not in 0..16383");
  EXPECT_EQ(TextOf("0\n8191\n" + a + "16383\n8192\n" + a), once + "16383..8192 is not in 0..16383");
  EXPECT_EQ(TextOf("0\n8191\n" + a + "8193\n16383\n" + a), once + "slot 8192 is missing");
  EXPECT_EQ(TextOf("1\n16383\n" + a), once + "slot 0 is missing");
  EXPECT_THAT(TextOf("0\n8191\n8192\n"), HasSubstr("slots 0..8191 have no owner"));
  EXPECT_THAT(TextOf("0\n8191\n10.0.0.1\n7000\n"), HasSubstr("an owner has no host, port and id"));
}

}  // namespace
}  // namespace ringd::ctl
