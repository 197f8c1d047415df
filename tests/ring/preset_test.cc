#include "ring/preset.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ring/hashed_placement.h"

namespace ringd::ring {
namespace {

using Points = std::vector<std::pair<uint64_t, uint32_t>>;

std::vector<uint64_t> PointsPerNode(const Points& points, size_t nodes) {
  std::vector<uint64_t> counts(nodes);
  for (const auto& [position, node] : points) ++counts.at(node);
  return counts;
}

std::vector<uint64_t> PointsPerNode(const PresetSettings& settings, const std::vector<PresetNode>& nodes) {
  return PointsPerNode(PresetPoints(settings, nodes), nodes.size());
}

std::string Refusal(const absl::Status& status) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  return std::string(status.message());
}

TEST(FindPreset, KnowsEachByNumberAndName) {
  ASSERT_EQ(AllPresets().size(), 11U);
  for (const PresetTraits& traits : AllPresets()) {
    EXPECT_EQ(FindPreset(traits.preset), &traits);
    EXPECT_EQ(FindPreset(traits.name), &traits);
    EXPECT_TRUE(CheckPreset(DefaultsOf(traits.preset)).ok()) << traits.name;
  }
  EXPECT_EQ(FindPreset("java-crc32")->preset, Preset::kJavaCrc32);
  EXPECT_EQ(FindPreset("redis-cluster")->preset, Preset{11});
  EXPECT_EQ(FindPreset(Preset{0}), nullptr);
  EXPECT_EQ(FindPreset(Preset{12}), nullptr);
  EXPECT_EQ(FindPreset("java"), nullptr);
  EXPECT_EQ(FindPreset(""), nullptr);
}

TEST(CheckPreset, RefusesWhatThePresetDoesNotHave) {
  EXPECT_EQ(Refusal(CheckPreset({.preset = Preset{99}, .hash = HashFunction::kCrc32})), "preset 99 is unknown");
  EXPECT_EQ(Refusal(CheckPreset({.preset = Preset::kNginx, .hash = HashFunction::kMd5})),
            "preset nginx does not hash keys by function 11");
  EXPECT_EQ(Refusal(CheckPreset({.preset = Preset::kTwemproxy, .hash = HashFunction::kSha1})),
            "preset twemproxy does not hash keys by function 12");
  EXPECT_EQ(Refusal(CheckPreset({.preset = Preset::kKetama, .hash = HashFunction::kMd5, .hash_tag = "{}"})),
            "preset ketama takes no hash_tag, \"{}\" was given");
  EXPECT_EQ(Refusal(CheckPreset({.preset = Preset::kTwemproxy, .hash = HashFunction::kMd5, .hash_tag = "{"})),
            "hash_tag \"{\" is not two printable ASCII characters, such as \"{}\"");
  PresetSettings nginx = DefaultsOf(Preset::kNginx);
  nginx.minimum_ring_size = 12;
  EXPECT_EQ(Refusal(CheckPreset(nginx)), "preset nginx takes no ring sizes");
}

// B30 (envoyproxy/envoy#31724): a ring of size 0 has no points.
TEST(CheckPreset, BoundsTheRingSizesOfEnvoy) {
  const auto check = [](uint64_t minimum, uint64_t maximum) {
    PresetSettings envoy = DefaultsOf(Preset::kEnvoyRingHash);
    envoy.minimum_ring_size = minimum;
    envoy.maximum_ring_size = maximum;
    return CheckPreset(envoy);
  };
  EXPECT_TRUE(check(1, 1).ok());
  EXPECT_TRUE(check(8388608, 8388608).ok());
  EXPECT_EQ(Refusal(check(0, 8)), "minimum_ring_size 0 is out of 1..8388608");
  EXPECT_EQ(Refusal(check(1, 0)), "maximum_ring_size 0 is out of 1..8388608");
  EXPECT_EQ(Refusal(check(1, 8388609)), "maximum_ring_size 8388609 is out of 1..8388608");
  EXPECT_EQ(Refusal(check(9, 8)), "minimum_ring_size 9 is above maximum_ring_size 8");
}

TEST(CheckPresetNode, RefusesWeightsWhereThePresetHasNone) {
  for (const PresetTraits& traits : AllPresets()) {
    const PresetSettings settings = DefaultsOf(traits.preset);
    EXPECT_TRUE(CheckPresetNode(settings, {"n", 0}, 1).ok()) << traits.name;
    EXPECT_TRUE(CheckPresetNode(settings, {"n", 1}, 1).ok()) << traits.name;
    EXPECT_EQ(CheckPresetNode(settings, {"n", 2}, 1).ok(), traits.weighted) << traits.name;
    EXPECT_TRUE(CheckPresetNode(settings, {"n", 2}, 2).ok()) << traits.name;
  }
  EXPECT_EQ(Refusal(CheckPresetNode(DefaultsOf(Preset::kKetama), {"n", 3}, 1)),
            "preset ketama has no weights: weight 3 is neither 0 nor 1");
}

TEST(CheckPresetNode, RefusesNamesThatTwemproxyCutsOff) {
  const std::string longest(78, 'x');
  EXPECT_TRUE(CheckPresetNode(DefaultsOf(Preset::kTwemproxy), {longest, 1}, 1).ok());
  EXPECT_NE(Refusal(CheckPresetNode(DefaultsOf(Preset::kTwemproxy), {longest + "y", 1}, 1)).find("has 79"),
            std::string::npos);
  EXPECT_TRUE(CheckPresetNode(DefaultsOf(Preset::kKetamaWeighted), {std::string(255, 'x'), 1}, 1).ok());
}

TEST(PresetPointCount, IsTheNumberOfPoints) {
  const std::vector<PresetNode> nodes = {{"a", 1}, {"b", 0}, {"c", 3}, {"d", 1}, {"e", 65535}, {"f", 7}};
  for (const PresetTraits& traits : AllPresets()) {
    if (traits.preset == Preset::kRedisCluster) continue;
    const PresetSettings settings = DefaultsOf(traits.preset);
    for (size_t count = 0; count <= 4; ++count) {
      const std::span<const PresetNode> some(nodes.data(), count);
      EXPECT_EQ(PresetPointCount(settings, some), PresetPoints(settings, some).size()) << traits.name << " " << count;
    }
  }
  EXPECT_EQ(PresetPointCount(DefaultsOf(Preset::kNginx), nodes), 160U * (1 + 3 + 1 + 65535 + 7));
  EXPECT_EQ(PresetPointCount(DefaultsOf(Preset::kKetama), nodes), 500U);
}

// B25 (traefik/traefik#1294): weight 0 owns nothing, and changes nothing for the others, in presets that renormalise
// too.
TEST(PresetPoints, AreWithoutANodeOfWeightZeroWhatTheyAreWithoutTheNode) {
  const std::vector<PresetNode> with = {{"a", 1}, {"b", 0}, {"c", 1}, {"d", 0}};
  const std::vector<PresetNode> without = {{"a", 1}, {"c", 1}};
  for (const PresetTraits& traits : AllPresets()) {
    if (traits.preset == Preset::kRedisCluster) continue;
    Points expected = PresetPoints(DefaultsOf(traits.preset), without);
    for (auto& [position, node] : expected) node *= 2;
    EXPECT_EQ(PresetPoints(DefaultsOf(traits.preset), with), expected) << traits.name;
  }
}

TEST(PresetPoints, OfNodesThatAllHaveWeightZeroAreNone) {
  const std::vector<PresetNode> nodes = {{"a", 0}, {"b", 0}};
  for (const PresetTraits& traits : AllPresets()) {
    EXPECT_EQ(PresetPointCount(DefaultsOf(traits.preset), nodes), 0U) << traits.name;
    EXPECT_TRUE(PresetPoints(DefaultsOf(traits.preset), nodes).empty()) << traits.name;
  }
}

// What a table of presets promises: of the nodes that stay as they are, points stay where they are, or traits say so.
TEST(PresetPoints, MoveWithOtherNodesOnlyWhereTraitsSaySo) {
  const std::vector<PresetNode> before = {{"a", 1}, {"b", 2}, {"c", 1}};
  const std::vector<PresetNode> after = {{"a", 1}, {"b", 5}, {"c", 1}, {"d", 4}};
  for (const PresetTraits& traits : AllPresets()) {
    if (traits.preset == Preset::kRedisCluster) continue;
    const auto of_a_and_c = [&](const std::vector<PresetNode>& nodes) {
      Points points = PresetPoints(DefaultsOf(traits.preset), nodes);
      std::erase_if(points, [](const auto& point) { return point.second == 1 || point.second == 3; });
      return points;
    };
    EXPECT_EQ(of_a_and_c(before) != of_a_and_c(after), traits.renormalises) << traits.name;
  }
}

TEST(PresetPoints, DependOnTheOrderOfNodesOnlyWhereTraitsSaySo) {
  const std::vector<PresetNode> nodes = {{"a", 3}, {"b", 2}, {"c", 5}, {"d", 1}, {"e", 7}};
  const std::vector<PresetNode> reversed(nodes.rbegin(), nodes.rend());
  for (const PresetTraits& traits : AllPresets()) {
    if (traits.preset == Preset::kRedisCluster) continue;
    PresetSettings settings = DefaultsOf(traits.preset);
    if (traits.preset == Preset::kEnvoyRingHash) settings.maximum_ring_size = 1024;
    std::vector<uint64_t> turned = PointsPerNode(settings, reversed);
    std::reverse(turned.begin(), turned.end());
    EXPECT_EQ(PointsPerNode(settings, nodes) != turned, traits.reads_order) << traits.name;
  }
}

// The cases' ready-made inputs: B33 and the one-point collision of ketama.
TEST(PresetPoints, OfKetamaAreDigestsInLittleEndianWords) {
  const PresetSettings weighted = DefaultsOf(Preset::kKetamaWeighted);
  EXPECT_EQ(PresetKeyPosition(weighted, "a"), 3111502092U);
  EXPECT_EQ(PresetPoints(weighted, std::vector<PresetNode>{{"a", 1}}).front().first, 3522127265U);

  const std::vector<PresetNode> nodes = {{"172.31.1.0", 1}, {"172.31.1.125", 1}, {"172.31.1.202", 1}};
  const Points points = PresetPoints(weighted, nodes);
  EXPECT_EQ(points.size(), 480U);
  std::map<uint64_t, std::set<uint32_t>> claims;
  for (const auto& [position, node] : points) claims[position].insert(node);
  EXPECT_EQ(claims.size(), 479U);
  EXPECT_EQ(claims[1009926488], (std::set<uint32_t>{1, 2}));
  for (const char* key : {"key-1019", "key-2524", "key-2552"}) {
    EXPECT_EQ(claims.lower_bound(PresetKeyPosition(weighted, key))->first, 1009926488U) << key;
  }
}

// B38 (3rd-Eden/node-hashring#23)
TEST(PresetPoints, LeaveOutPort11211InKetamaAndNowhereElse) {
  const std::vector<PresetNode> with = {
      {"1.1.1.1:11211", 1}, {"2.2.2.2:11211", 1}, {"1.1.1.1:11212", 1}, {"::1:11211", 1}};
  const std::vector<PresetNode> without = {{"1.1.1.1", 1}, {"2.2.2.2", 1}, {"1.1.1.1:11212", 1}, {"::1", 1}};
  for (const PresetTraits& traits : AllPresets()) {
    if (traits.preset == Preset::kRedisCluster) continue;
    const PresetSettings settings = DefaultsOf(traits.preset);
    const bool ketama = traits.preset == Preset::kKetama || traits.preset == Preset::kKetamaWeighted;
    EXPECT_EQ(PresetPoints(settings, with) == PresetPoints(settings, without), ketama) << traits.name;
  }
  const PresetSettings ketama = DefaultsOf(Preset::kKetama);
  EXPECT_NE(PresetPoints(ketama, std::vector<PresetNode>{{":11211", 1}}),
            PresetPoints(ketama, std::vector<PresetNode>{{"", 1}}))
      << "nothing would be left";
}

// Shares of 160 points a node by weight, in floats, whole digests of four.
TEST(PresetPoints, OfWeightedKetamaAreSharedOutByWeight) {
  for (const Preset preset : {Preset::kKetamaWeighted, Preset::kTwemproxy}) {
    const PresetSettings settings = DefaultsOf(preset);
    EXPECT_EQ(PointsPerNode(settings, {{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}}),
              (std::vector<uint64_t>{64, 128, 192, 256}));
    EXPECT_EQ(PointsPerNode(settings, {{"a", 1}, {"b", 1}, {"c", 1}}), (std::vector<uint64_t>{160, 160, 160}));
    EXPECT_EQ(PointsPerNode(settings, {{"a", 1}, {"b", 100}}), (std::vector<uint64_t>{0, 316}));
  }
}

TEST(PresetPoints, OfNginxHashHostAndPortApart) {
  const auto same = [](std::string_view a, std::string_view b) {
    const PresetSettings nginx = DefaultsOf(Preset::kNginx);
    return PresetPoints(nginx, std::vector<PresetNode>{{a, 1}}) == PresetPoints(nginx, std::vector<PresetNode>{{b, 1}});
  };
  EXPECT_TRUE(same("unix:/run/a.sock", "/run/a.sock")) << "the path alone, no port";
  EXPECT_TRUE(same("UNIX:/run/a.sock", "/run/a.sock"));
  EXPECT_TRUE(same("unix:/run/a:80", "unix:/run/a:80"));
  EXPECT_FALSE(same("unix:/run/a:80", "/run/a:80")) << "here 80 is a port, there part of the path";
  EXPECT_TRUE(same("host:", "host")) << "an empty port is no port";
  EXPECT_FALSE(same("host:80", "host80"));
  EXPECT_FALSE(same("[::1]:80", "[::1]"));
  EXPECT_TRUE(same("9101", "9101"));
}

// The rules of Ring's constructor in Envoy's ring_hash_lb.cc, step by step.
std::vector<uint64_t> EnvoyStepByStep(const std::vector<PresetNode>& nodes, double minimum, double maximum) {
  double sum = 0;
  for (const PresetNode& node : nodes) sum += node.weight;
  double least = 1;
  for (const PresetNode& node : nodes) least = std::min(least, node.weight / sum);
  const double scale = std::min(std::ceil(least * minimum) / least, maximum);
  std::vector<uint64_t> counts;
  double current = 0;
  double target = 0;
  for (const PresetNode& node : nodes) {
    target += scale * (node.weight / sum);
    counts.push_back(0);
    for (; current < target; ++current) ++counts.back();
  }
  return counts;
}

TEST(PresetPoints, OfEnvoyAreScaledToTheRingSizes) {
  PresetSettings envoy = DefaultsOf(Preset::kEnvoyRingHash);
  EXPECT_EQ(PointsPerNode(envoy, {{"a", 1}, {"b", 1}, {"c", 1}}), (std::vector<uint64_t>{342, 342, 342}));
  EXPECT_EQ(PointsPerNode(envoy, {{"a", 1}, {"b", 2}, {"c", 1}}), (std::vector<uint64_t>{256, 512, 256}));
  envoy.minimum_ring_size = 1;
  envoy.maximum_ring_size = 6;  // the example in Envoy's comment
  EXPECT_EQ(PointsPerNode(envoy, {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}}), (std::vector<uint64_t>{1, 1, 1, 1}));
  envoy.minimum_ring_size = 6;
  EXPECT_EQ(PointsPerNode(envoy, {{"a", 1}, {"b", 1}, {"c", 1}, {"d", 1}}), (std::vector<uint64_t>{2, 1, 2, 1}));
  const std::vector<PresetNode> uneven = {{"a", 3}, {"b", 7}, {"c", 1}, {"d", 13}, {"e", 2}, {"f", 65535}, {"g", 11}};
  for (const uint64_t size : {1U, 7U, 100U, 1024U, 4099U, 65536U}) {
    for (const uint64_t more : {0U, 1U, 1000U, 100000U}) {
      envoy.minimum_ring_size = size;
      envoy.maximum_ring_size = size + more;
      EXPECT_EQ(PointsPerNode(envoy, uneven),
                EnvoyStepByStep(uneven, static_cast<double>(size), static_cast<double>(size + more)))
          << size;
    }
  }
}

// Of the binary nutcracker 0.5.0-2 of Debian on x86, function by function; the last keys have bytes that it takes for
// negative numbers.
TEST(PresetKeyPosition, OfTwemproxyIsThatOfItsOwnFunctions) {
  const std::array<std::string, 5> keys = {"a", "ab", "user:42:profile", "ключ-9", "\x80\xFF\x7F"};
  struct Row {
    std::string_view name;
    std::array<uint32_t, 5> positions;
  };
  const std::vector<Row> rows = {
      {"md5", {0xB975C10C, 0x43F47E18, 0x7155E92C, 0xD1722F3E, 0x35DB6780}},
      {"crc16", {0x00007C87, 0x007C74FF, 0x5D68A3AD, 0x682792FF, 0x9105B7DD}},
      {"crc32a", {0xE8B7BE43, 0x9E83486D, 0x0C876432, 0x97B7001D, 0x4DEA534D}},
      {"fnv1_64", {0x8601B7BE, 0xB4EB37B8, 0x91F44491, 0x280A7A1B, 0x6B5C2A69}},
      {"fnv1a_64", {0x8601EC8C, 0xB545986A, 0x3716598D, 0xF0213867, 0x74FB962D}},
      {"fnv1_32", {0x050C5D7E, 0x70772D38, 0x9122D231, 0xD41BDCDB, 0x16548549}},
      {"fnv1a_32", {0xE40C292C, 0x4D2505CA, 0xCEBF12ED, 0x96BEEFA7, 0xEEABDF8D}},
      {"murmur", {0x4B41757C, 0xE3B54DFB, 0xD326DDD4, 0xC8CE4035, 0xBAAF55EB}},
  };
  EXPECT_EQ(rows.size(), 8U);
  for (const Row& row : rows) {
    const std::optional<HashFunction> hash = TwemproxyHash(row.name);
    ASSERT_TRUE(hash.has_value()) << row.name;
    for (size_t i = 0; i < keys.size(); ++i) {
      EXPECT_EQ(PresetKeyPosition({.preset = Preset::kTwemproxy, .hash = *hash}, keys[i]), row.positions[i])
          << row.name << " " << keys[i];
    }
  }
}

TEST(TwemproxyHash, IsNoneForWhatIsNotServed) {
  for (const std::string_view name : {"", "one_at_a_time", "crc32", "hsieh", "jenkins", "random", "FNV1A_64"}) {
    EXPECT_FALSE(TwemproxyHash(name).has_value()) << name;
  }
}

TEST(PresetKeyPosition, LooksAtTheHashTag) {
  const PresetSettings twemproxy = {.preset = Preset::kTwemproxy, .hash = HashFunction::kMurmur2_32, .hash_tag = "<>"};
  EXPECT_EQ(PresetKeyPosition(twemproxy, "a<b>c"), PresetKeyPosition(twemproxy, "b"));
  EXPECT_NE(PresetKeyPosition(twemproxy, "a{b}c"), PresetKeyPosition(twemproxy, "b"));
  const PresetSettings redis = DefaultsOf(Preset::kRedisCluster);
  EXPECT_EQ(PresetKeyPosition(redis, "{user1000}.following"), PresetKeyPosition(redis, "user1000"));
  EXPECT_EQ(PresetKeyPosition(redis, "123456789"), 0x31C3U) << "of the specification of Redis Cluster";
}

TEST(PresetKeyPosition, IsOnTheCircle) {
  for (const PresetTraits& traits : AllPresets()) {
    const PresetSettings settings = DefaultsOf(traits.preset);
    for (int i = 0; i < 1000; ++i) {
      const uint64_t position = PresetKeyPosition(settings, "key" + std::to_string(i));
      ASSERT_EQ(traits.circle_bits < 64 ? position >> traits.circle_bits : 0, 0U) << traits.name;
    }
  }
}

}  // namespace
}  // namespace ringd::ring
