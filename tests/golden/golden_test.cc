// The presets against the answers of the programs and articles they copy. tests/golden/README.md says how those were
// made.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/golden/golden_ring.h"

namespace ringd::ring {
namespace {

using Nodes = std::vector<GoldenRing::Node>;

Nodes Even(const std::vector<std::string>& keys) {
  Nodes nodes;
  for (const std::string& key : keys) nodes.push_back({key, 1});
  return nodes;
}

// `prefix` and the numbers from `first` to `last`.
Nodes Numbered(const std::string& prefix, int first, int last, const std::string& suffix = "") {
  Nodes nodes;
  for (int i = first; i <= last; ++i) nodes.push_back({prefix + std::to_string(i) + suffix, 1});
  return nodes;
}

Nodes Weighted(Nodes nodes, const std::vector<uint32_t>& weights) {
  for (size_t i = 0; i < nodes.size(); ++i) nodes[i].weight = weights.at(i);
  return nodes;
}

// The nodes behind the first column of the articles' files.
Nodes NodesOfArticle(const std::string& name) {
  const Nodes murmur3 = Even({"127.0.0.1", "192.168.4.175", "192.168.3.175", "172.147.0.101"});
  const std::map<std::string, Nodes> nodes = {
      {"java-crc32", Numbered("192.168.0.", 0, 4, ":111")},
      {"java-crc32-vn", Numbered("192.168.0.", 0, 4, ":111")},
      {"java-fnv-cluster", Numbered("cluster", 1, 3)},
      {"java-fnv1", Numbered("192.168.0.", 1, 10)},
      {"murmur3-weighted", murmur3},
      {"murmur3-weighted:1,2,1,3", Weighted(murmur3, {1, 2, 1, 3})},
      {"murmur3-weighted:20 consecutive", Numbered("10.0.0.", 1, 20)},
      {"java-fnv-cluster:20 consecutive", Numbered("cluster", 1, 20)},
  };
  EXPECT_TRUE(nodes.contains(name)) << name;
  return nodes.at(name);
}

PresetSettings SettingsOfArticle(const std::string& name) {
  return DefaultsOf(FindPreset(std::string_view(name).substr(0, name.find(':')))->preset);
}

GoldenRing RingOfArticle(const std::string& name, const std::string& phase) {
  constexpr std::string_view kMinus = "minus:";
  Nodes nodes = NodesOfArticle(name);
  if (phase.starts_with(kMinus)) {
    const size_t removed =
        std::erase_if(nodes, [&](const auto& node) { return node.hash_key == phase.substr(kMinus.size()); });
    EXPECT_EQ(removed, 1U) << phase;
  }
  return {SettingsOfArticle(name), nodes};
}

// The node that `phase` removes leaves a ring that it was a part of.
Ring RealRingOfArticle(const std::string& name, const std::string& phase) {
  const Ring all = GoldenRing(SettingsOfArticle(name), NodesOfArticle(name)).Real();
  constexpr std::string_view kMinus = "minus:";
  return phase.starts_with(kMinus) ? With(all, {Remove(phase.substr(kMinus.size()))}) : all;
}

// What the original calls the point of a key: it may own the keys before it alone.
uint64_t PointOf(const Ring& ring, std::string_view key, PointMatch match) {
  const PointTable& points = ring.points();
  const uint64_t last = points.points()[points.PointAt(ring.Position(key))].position();
  const Circle& circle = ring.keys().circle();
  if (match == PointMatch::kAtOrAfter) return circle.Value(last);
  return circle.Value(last) == circle.last_value() ? 0 : circle.Value(last) + 1;
}

constexpr std::string_view kSharedPoint = "shared point";

void ExpectArticles(const std::string& file, size_t keys) {
  size_t seen = 0;
  std::map<std::pair<std::string, std::string>, GoldenRing> rings;
  std::map<std::pair<std::string, std::string>, Ring> real_rings;
  for (const auto& row : GoldenRows(file, 6)) {
    if (row[1] == kSharedPoint) continue;
    ++seen;
    auto ring = rings.find({row[0], row[1]});
    if (ring == rings.end()) ring = rings.emplace(std::pair(row[0], row[1]), RingOfArticle(row[0], row[1])).first;
    EXPECT_EQ(std::to_string(PresetKeyPosition(SettingsOfArticle(row[0]), row[2])), row[3]) << row[0] << " " << row[2];
    const GoldenRing::Answer answer = ring->second.Owner(row[2]);
    EXPECT_EQ(std::to_string(answer.point), row[4]) << row[0] << " " << row[1] << " " << row[2];
    EXPECT_EQ(answer.owner, row[5]) << row[0] << " " << row[1] << " " << row[2];
    auto real = real_rings.find({row[0], row[1]});
    if (real == real_rings.end()) {
      real = real_rings.emplace(std::pair(row[0], row[1]), RealRingOfArticle(row[0], row[1])).first;
    }
    EXPECT_EQ(OwnerId(real->second, row[2]), row[5]) << row[0] << " " << row[1] << " " << row[2];
    EXPECT_EQ(std::to_string(PointOf(real->second, row[2], ring->second.traits().match)), row[4]);
    EXPECT_EQ(std::to_string(real->second.keys().circle().Value(real->second.Position(row[2]))), row[3]);
  }
  EXPECT_EQ(seen, keys);
}

TEST(Golden, Articles) { ExpectArticles("articles.tsv", 488); }

TEST(Golden, ArticlesWithNamesThatGlueToTheirIndex) { ExpectArticles("articles-glued.tsv", 600); }

TEST(Golden, SharedPointsOfGluedNamesAreTheNodesAddedLast) {
  std::map<std::string, std::map<std::string, std::string>> expected;
  for (const auto& row : GoldenRows("articles-glued.tsv", 6)) {
    if (row[1] == kSharedPoint) expected[row[0]][row[4]] = row[5];
  }
  EXPECT_EQ(expected.size(), 2U);
  for (const auto& [name, points] : expected) {
    std::map<std::string, std::string> ours;
    for (const auto& answer : RingOfArticle(name, "all").SharedPoints())
      ours[std::to_string(answer.point)] = answer.owner;
    EXPECT_EQ(ours, points) << name;
  }
}

void ExpectOwners(const std::string& file, size_t rows, const GoldenRing& ring) {
  const auto golden = GoldenRows(file, 2);
  EXPECT_EQ(golden.size(), rows);
  const Ring real = ring.Real();
  for (const auto& row : golden) {
    EXPECT_EQ(ring.Owner(row[0]).owner, row[1]) << file << ": " << row[0];
    EXPECT_EQ(OwnerId(real, row[0]), row[1]) << file << ": " << row[0];
  }
}

TEST(Golden, Ketama) {
  const Nodes nodes = Even({"10.0.0.1:11211", "10.0.0.2:11211", "10.0.0.3:11211", "10.0.0.4:12000"});
  ExpectOwners("ketama-even.tsv", 220, GoldenRing(DefaultsOf(Preset::kKetama), nodes));
  ExpectOwners("ketama-weighted.tsv", 220,
               GoldenRing(DefaultsOf(Preset::kKetamaWeighted), Weighted(nodes, {1, 2, 3, 4})));
}

TEST(Golden, Nginx) {
  const Nodes nodes = Numbered("127.0.0.1:", 9101, 9104);
  ExpectOwners("nginx.tsv", 220, GoldenRing(DefaultsOf(Preset::kNginx), nodes));
  ExpectOwners("nginx-weighted.tsv", 220, GoldenRing(DefaultsOf(Preset::kNginx), Weighted(nodes, {1, 2, 3, 4})));
}

TEST(Golden, Twemproxy) {
  const Nodes named = Even({"alpha", "beta", "gamma", "delta"});
  const PresetSettings fnv1a = DefaultsOf(Preset::kTwemproxy);
  ExpectOwners("twemproxy-fnv1a_64.tsv", 226, GoldenRing(fnv1a, Numbered("127.0.0.1:", 9201, 9204)));
  ExpectOwners("twemproxy-fnv1a_64-weighted.tsv", 226, GoldenRing(fnv1a, Weighted(named, {1, 2, 3, 4})));
  PresetSettings murmur = fnv1a;
  murmur.hash = HashFunction::kMurmur2_32;
  murmur.hash_tag = "{}";
  ExpectOwners("twemproxy-murmur-hashtag.tsv", 226, GoldenRing(murmur, named));
}

TEST(Golden, EnvoyRingHash) {
  PresetSettings envoy = DefaultsOf(Preset::kEnvoyRingHash);
  envoy.minimum_ring_size = 12;
  const GoldenRing ring(envoy, Numbered("127.0.0.1:", 90, 95));
  std::vector<std::pair<std::string, std::string>> golden;
  for (const auto& row : GoldenRows("envoy-ring-hash.tsv", 2)) golden.emplace_back(row[0], row[1]);
  std::vector<std::pair<std::string, std::string>> ours;
  for (const auto& point : ring.Points()) ours.emplace_back(point.owner, std::to_string(point.point));
  EXPECT_EQ(golden.size(), 12U);
  EXPECT_EQ(ours, golden);
}

TEST(Golden, RedisCluster) {
  const auto golden = GoldenRows("redis-cluster-keyslot.tsv", 2);
  EXPECT_EQ(golden.size(), 228U);
  for (const auto& row : golden) {
    EXPECT_EQ(std::to_string(PresetKeyPosition(DefaultsOf(Preset::kRedisCluster), row[0])), row[1]) << row[0];
  }
}

}  // namespace
}  // namespace ringd::ring
