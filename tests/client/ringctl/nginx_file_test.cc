#include "client/ringctl/nginx_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ringd::ctl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ImportedRing Parsed(const std::string& content, const std::string& upstream = "") {
  const absl::StatusOr<ImportedRing> ring = ParseNginxFile("n.conf", content, upstream);
  EXPECT_TRUE(ring.ok()) << ring.status() << "\n" << content;
  return ring.ok() ? *ring : ImportedRing();
}

std::string Error(const std::string& content, const std::string& upstream = "") {
  const absl::StatusOr<ImportedRing> ring = ParseNginxFile("n.conf", content, upstream);
  EXPECT_EQ(ring.status().code(), absl::StatusCode::kInvalidArgument) << content;
  return std::string(ring.status().message());
}

// An upstream with this line, and one server.
std::string With(const std::string& line) {
  return "upstream u {\nhash $k consistent;\n" + line + "\nserver h:1;\n}\n";
}

std::vector<std::string> Ids(const ImportedRing& ring) {
  std::vector<std::string> ids;
  for (const v1::Node& node : ring.nodes) ids.push_back(node.id());
  return ids;
}

TEST(NginxFile, HasAnUpstreamWithItsServers) {
  const ImportedRing ring = Parsed(
      "# a whole file\n"
      "user www-data;\n"
      "events { worker_connections 100; }\n"
      "http {\n"
      "  log_format main '$remote_addr; { \"';\n"
      "  map $uri $x { default \"}\"; }\n"
      "  upstream cache {\n"
      "    zone cache 64k; keepalive 16; keepalive_timeout 60s;\n"
      "    hash \"$arg_a${arg_b}\" consistent; # by two\n"
      "    server 10.0.0.2:9102 weight=3 max_fails=0\n"
      "           fail_timeout=10s;\n"
      "    server 10.0.0.1;server unix:/run/x.sock;\n"
      "    server 'c.example.net:80'\tweight=65535;\n"
      "  }\n"
      "  server { listen 80; location / { proxy_pass http://cache; } }\n"
      "}\n");
  EXPECT_EQ(ring.settings.placement().preset().preset(), v1::PRESET_NGINX);
  EXPECT_EQ(ring.origin, "upstream \"cache\" with keys \"$arg_a${arg_b}\"");
  EXPECT_THAT(ring.warnings, IsEmpty());
  EXPECT_THAT(Ids(ring), ElementsAre("10.0.0.2:9102", "10.0.0.1", "unix:/run/x.sock", "c.example.net:80"));
  EXPECT_EQ(ring.nodes[0].weight(), 3u);
  EXPECT_EQ(ring.nodes[1].weight(), 1u);
  EXPECT_EQ(ring.nodes[3].weight(), 65535u);
  EXPECT_EQ(ring.nodes[3].address(), "c.example.net:80");
}

TEST(NginxFile, WantsAnUpstreamNamedWhereThereAreSeveral) {
  const std::string two = With("") + "upstream v { hash $k consistent; server x:1; }\n";
  EXPECT_THAT(Ids(Parsed(two, "v")), ElementsAre("x:1"));
  EXPECT_EQ(Error(two), "n.conf:6: there are several upstreams: --upstream names the one to import, of \"u\", \"v\"");
  EXPECT_EQ(Error(two, "w"), "n.conf:6: the last upstream is \"v\", and none is \"w\"");
  EXPECT_EQ(Error(With("") + With(""), "u"), "n.conf:6: upstream \"u\" comes twice");
  EXPECT_EQ(Error("http { }"), "n.conf:1: the file has no block \"upstream NAME { ... }\"");
  EXPECT_THAT(Error(""), HasSubstr("n.conf:1: "));
}

TEST(NginxFile, RefusesWhatWouldMoveKeys) {
  EXPECT_THAT(Error("upstream u {\nserver h:1;\n}"),
              HasSubstr("n.conf:1: upstream \"u\" has no \"hash KEY consistent;\""));
  EXPECT_THAT(Error("\nupstream u { hash $k;\n}"), HasSubstr("n.conf:2: only \"hash KEY consistent;\""));
  EXPECT_THAT(Error(With("hash $l consistent;")), HasSubstr("n.conf:3: \"hash\" comes twice"));
  EXPECT_THAT(Error(With("server b:1 backup;")), HasSubstr("n.conf:3: \"b:1\" is a backup"));
}

TEST(NginxFile, RefusesOtherMethods) {
  for (const char* line : {"ip_hash;", "least_conn;", "random two;", "include servers.conf;", "state /x;",
                           "balancer_by_lua_block { return; }"}) {
    EXPECT_THAT(Error(With(line)), HasSubstr("n.conf:3: ")) << line;
  }
}

TEST(NginxFile, AServerThatIsDownHasWeight0) {
  const ImportedRing ring = Parsed(With("server d:1 weight=5 down;"));
  ASSERT_EQ(ring.nodes.size(), 2u);
  EXPECT_EQ(ring.nodes[0].weight(), 0u);
  EXPECT_THAT(ring.warnings, ElementsAre("n.conf:3: \"d:1\" is down and gets weight 0; give it 5 when it is back"));
}

TEST(NginxFile, WarnsOfWhatIsNotTakenOver) {
  EXPECT_THAT(Parsed(With("server d:1 max_conns=5;")).warnings,
              ElementsAre("n.conf:3: \"max_conns=5\" of \"d:1\" is passed over"));
  EXPECT_THAT(Parsed(With("queue 100;")).warnings, ElementsAre("n.conf:3: \"queue\" is passed over"));
}

TEST(NginxFile, SaysWhichServerIsWrong) {
  EXPECT_THAT(Error(With("server;")), HasSubstr("n.conf:3: \"server\" has no address"));
  EXPECT_THAT(Error(With("server b:1 weight=0;")), HasSubstr("n.conf:3: weight 0"));
  EXPECT_THAT(Error(With("server b:1 weight=two;")), HasSubstr("n.conf:3: weight \"two\""));
  EXPECT_THAT(Error(With("server h:1 weight=2;")), HasSubstr("n.conf:4: \"h:1\" comes twice, first in line 3"));
  EXPECT_THAT(Error("upstream u {\nhash $k consistent;\n}"), HasSubstr("n.conf:1: upstream \"u\" has no servers"));
}

TEST(NginxFile, RefusesWhatNginxCouldNotRead) {
  EXPECT_THAT(Error("http {\nupstream u { hash $k consistent; server h:1; }"),
              HasSubstr("n.conf:1: a block is not closed"));
  EXPECT_THAT(Error(With("") + "}"), HasSubstr("n.conf:6: `}` closes nothing"));
  EXPECT_THAT(Error(With("server 'b:1;")), HasSubstr("n.conf:3: a quote is not closed"));
  EXPECT_THAT(Error("upstream u {\nserver h:1\n}"), HasSubstr("n.conf:2: \"h:1\" is not ended by `;`"));
  EXPECT_THAT(Error(With(";")), HasSubstr("n.conf:3: nothing stands before `;`"));
  EXPECT_THAT(Error("upstream u"), HasSubstr("n.conf:1: \"u\" is not ended by `;`"));
}

}  // namespace
}  // namespace ringd::ctl
