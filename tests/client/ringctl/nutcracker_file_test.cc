#include "client/ringctl/nutcracker_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ring/preset.h"

namespace ringd::ctl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ImportedRing Parsed(const std::string& content, const std::string& pool = "") {
  const absl::StatusOr<ImportedRing> ring = ParseNutcrackerFile("n.yml", content, pool);
  EXPECT_TRUE(ring.ok()) << ring.status() << "\n" << content;
  return ring.ok() ? *ring : ImportedRing();
}

std::string Error(const std::string& content, const std::string& pool = "") {
  const absl::StatusOr<ImportedRing> ring = ParseNutcrackerFile("n.yml", content, pool);
  EXPECT_EQ(ring.status().code(), absl::StatusCode::kInvalidArgument) << content;
  return std::string(ring.status().message());
}

// A pool with this line, and one server.
std::string With(const std::string& line) { return "a:\n  " + line + "\n  servers:\n  - h:1:1\n"; }

std::vector<std::string> HashKeys(const ImportedRing& ring) {
  std::vector<std::string> keys;
  for (const v1::Node& node : ring.nodes) keys.push_back(node.hash_key());
  return keys;
}

TEST(NutcrackerFile, HasAPoolWithItsServers) {
  const ImportedRing ring = Parsed(
      "alpha:\n"
      "  listen: 127.0.0.1:22121\n"
      "  hash: murmur\n"
      "  hash_tag: \"{}\"\n"
      "  distribution: ketama\n"
      "  auto_eject_hosts: false\n"
      "  servers:\n"
      "   - 10.0.0.1:6379:1 one\n"
      "   - 10.0.0.2:6380:2\n"
      "   - cache.example.net:11211:3\n"
      "   - /run/redis.sock:4\n"
      "   - /run/b.sock:5 b\n");
  const v1::PresetPlacement& preset = ring.settings.placement().preset();
  EXPECT_EQ(preset.preset(), v1::PRESET_TWEMPROXY);
  EXPECT_EQ(preset.hash(), v1::HASH_FUNCTION_MURMUR2_32);
  EXPECT_EQ(preset.hash_tag(), "{}");
  EXPECT_EQ(ring.origin, "pool \"alpha\"");
  EXPECT_THAT(ring.warnings, IsEmpty());
  // Shorter texts first, as nutcracker sorts them.
  EXPECT_THAT(HashKeys(ring), ElementsAre("b", "one", "10.0.0.2:6380", "/run/redis.sock:", "cache.example.net"));
  const v1::Node& named = ring.nodes[1];
  EXPECT_EQ(named.id(), "one");
  EXPECT_EQ(named.address(), "10.0.0.1:6379");
  EXPECT_EQ(named.weight(), 1u);
  EXPECT_EQ(ring.nodes[2].id(), "10.0.0.2:6380");
  EXPECT_EQ(ring.nodes[3].id(), "/run/redis.sock");
  EXPECT_EQ(ring.nodes[4].id(), "cache.example.net:11211");
  EXPECT_EQ(ring.nodes[4].weight(), 3u);
}

TEST(NutcrackerFile, DefaultsAreThoseOfNutcracker) {
  const ImportedRing ring = Parsed("a:\n  servers:\n  - h:1:1\n");
  EXPECT_EQ(ring.settings.placement().preset().hash(), v1::HASH_FUNCTION_FNV1A_64);
  EXPECT_EQ(ring.settings.placement().preset().hash_tag(), "");
}

// The names of the hashes are those that ring/ knows.
TEST(NutcrackerFile, EveryHashOfThePresetHasItsName) {
  for (const char* name : {"one_at_a_time", "md5", "crc16", "crc32", "crc32a", "fnv1_64", "fnv1a_64", "fnv1_32",
                           "fnv1a_32", "hsieh", "murmur", "jenkins", "MD5", ""}) {
    const absl::StatusOr<ImportedRing> ring =
        ParseNutcrackerFile("n.yml", With(std::string("hash: '") + name + "'"), "");
    const auto served = ring::TwemproxyHash(name);
    ASSERT_EQ(ring.ok(), served.has_value()) << name;
    if (!served) {
      EXPECT_THAT(std::string(ring.status().message()), HasSubstr("n.yml:2: hash \"" + std::string(name) + "\""));
    } else {
      EXPECT_EQ(static_cast<int>(ring->settings.placement().preset().hash()), static_cast<int>(*served)) << name;
    }
  }
}

TEST(NutcrackerFile, WantsAPoolNamedWhereThereAreSeveral) {
  const std::string two = With("hash: md5") + "beta:\n  servers: [\"h:2:1 x\"]\n";
  EXPECT_EQ(Parsed(two, "beta").nodes[0].id(), "x");
  EXPECT_EQ(Error(two), "n.yml:5: there are several pools: --pool names the one to import, of \"a\", \"beta\"");
  EXPECT_EQ(Error(two, "bета"), "n.yml:5: the file ends without a pool \"bета\"");
  EXPECT_THAT(Error(two, "betta"), HasSubstr("did you mean \"beta\"?"));
  EXPECT_EQ(Error(With("hash: md5") + With("hash: md5"), "a"), "n.yml:5: pool \"a\" comes twice");
}

TEST(NutcrackerFile, RefusesWhatWouldMoveKeys) {
  EXPECT_THAT(Error(With("distribution: modula")), HasSubstr("n.yml:2: distribution \"modula\" is not served"));
  EXPECT_THAT(Error(With("distribution: random")), HasSubstr("\"random\""));
  EXPECT_THAT(Error(With("hash_tag: \"{\"")), HasSubstr("n.yml:2: hash_tag \"{\" has not two characters"));
  EXPECT_THAT(Error(With("hash_tag: {}")), HasSubstr("n.yml:2: the value of hash_tag is no text"));
  EXPECT_THAT(Error(With("hash: md5\n  hash: crc16")), HasSubstr("n.yml:3: \"hash\" comes twice, first in line 2"));
}

TEST(NutcrackerFile, WarnsOfWhatIsNotTakenOver) {
  EXPECT_THAT(Parsed(With("auto_eject_hosts: true")).warnings, ElementsAre(HasSubstr("n.yml:2: auto_eject_hosts")));
  EXPECT_THAT(Parsed(With("hash_tags: '{}'")).warnings,
              ElementsAre(HasSubstr("n.yml:2: \"hash_tags\" is passed over")));
}

TEST(NutcrackerFile, SaysWhichServerIsWrong) {
  for (const char* line : {"h:1", "h", ":1:1", "h:0:1", "h:65536:1", "h:x:1", "h:1:1 ", "", "/s", "[a]"}) {
    EXPECT_THAT(Error("a:\n  servers:\n  - h:1:1\n  - '" + std::string(line) + "'\n"), HasSubstr("n.yml:4: ")) << line;
  }
  EXPECT_THAT(Error("a:\n  servers:\n  - h:1:0\n"), HasSubstr("n.yml:3: weight 0"));
  EXPECT_THAT(Error("a:\n  servers:\n  - h:1:one\n"), HasSubstr("n.yml:3: weight \"one\""));
  EXPECT_THAT(Error("a:\n  servers:\n  - h:1:1 x\n  - h:2:1 x\n"),
              HasSubstr("n.yml:4: \"x\" comes twice, first in line 3"));
  EXPECT_THAT(Error("a:\n  servers:\n  - h:11211:1\n  - i:1:1 h\n"),
              HasSubstr("n.yml:4: \"h\" is hashed as \"h\", as the one in line 3 is"));
}

TEST(NutcrackerFile, RefusesAnotherForm) {
  for (const char* content :
       {"", "# nothing\n", "text", "[]", "{}", "a: 1", "a:\n", "a:\n  servers: 1\n", "a:\n  servers: []\n",
        "a:\n  listen: x\n", "a:\n  - b\n", "[a]: 1\n", "a:\n  servers:\n  - {b: c}\n", "a:\n  hash: 'md5\n",
        "a:\n b\nc:", "a: {servers: ['h:1:1']}\n---\nb: 1\n"}) {
    EXPECT_THAT(Error(content), HasSubstr("n.yml:")) << content;
  }
}

}  // namespace
}  // namespace ringd::ctl
