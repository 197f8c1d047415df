#include "ring/label.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ring/hash.h"

namespace ringd::ring {
namespace {

std::string Refusal(std::string_view label) {
  const absl::Status status = CheckLabel(label);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << label;
  return std::string(status.message());
}

TEST(CheckLabel, TakesKeyOnceAndIndexAtMostOnce) {
  for (const std::string_view label : {"{key}#{index}", "{key}", "{index}-{key}", "{key}{index}", "{key}&&VN{index}",
                                       "a{key}b{index}c", "节点{key}/{index}"}) {
    EXPECT_TRUE(CheckLabel(label).ok()) << label;
  }
  EXPECT_EQ(Refusal(""), R"(label "" has {key} 0 times, once is needed)");
  EXPECT_EQ(Refusal("node-{index}"), R"(label "node-{index}" has {key} 0 times, once is needed)");
  EXPECT_EQ(Refusal("{key}{key}{index}"), R"(label "{key}{key}{index}" has {key} 2 times, once is needed)");
  EXPECT_EQ(Refusal("{key}{index}{index}"),
            R"(label "{key}{index}{index}" has {index} 2 times, at most once is allowed)");
}

TEST(CheckLabel, RefusesBracesThatAreOfNeither) {
  for (const std::string_view label : {"{key}{i}", "{key}{", "{key}}", "{{key}}", "{key}{Index}", "{key}{index"}) {
    EXPECT_NE(Refusal(label).find("a brace that is not of {key} or {index}"), std::string::npos) << label;
  }
}

TEST(CheckLabel, RefusesWhatIsTooLongOrNoText) {
  EXPECT_TRUE(CheckLabel("{key}" + std::string(250, 'x')).ok());
  EXPECT_NE(Refusal("{key}" + std::string(251, 'x')).find("has 256 bytes, at most 255 are allowed"), std::string::npos);
  EXPECT_EQ(Refusal("{key}\xFF"), "label \"{key}\\xFF\" is not UTF-8");
}

TEST(NodeLabels, WritesKeyAndIndexWhereTheTemplateSays) {
  const auto written = [](std::string_view label, std::string_view key, uint64_t index) {
    NodeLabels labels(LabelTemplate(label), key);
    labels.At(1234567);  // of which nothing may be left
    return std::string(labels.At(index));
  };
  EXPECT_EQ(written("{key}#{index}", "n1", 0), "n1#0");
  EXPECT_EQ(written("{key}", "n1", 7), "n1");
  EXPECT_EQ(written("<{key}>", "n1", 7), "<n1>");
  EXPECT_EQ(written("{key}{index}", "10.0.0.1", 15), "10.0.0.115");
  EXPECT_EQ(written("a{key}b{index}c", "K", 10), "aKb10c");
  EXPECT_EQ(written("a{index}b{key}c", "K", 10), "a10bKc");
  EXPECT_EQ(written("{key}#{index}", "{index}", 3), "{index}#3") << "a key is no template";
  EXPECT_EQ(written("{key}-{index}", "n", 18446744073709551615U), "n-18446744073709551615");
}

// A label glues if, and only if, two of many keys and indices have one text.
TEST(LabelTemplate, MayGlueWhereTwoPairsOfKeyAndIndexCanHaveOneText) {
  const std::vector<std::string_view> keys = {"",   "a",   "a1",  "a11", "1",    "11", "a0",  "a01", "a1-",
                                              "-1", "-11", "a-1", "1-1", "a101", "1a", "11a", "101a"};
  for (const std::string_view label :
       {"{key}{index}", "{key}#{index}", "{key}1{index}", "{key}0{index}", "{key}-1{index}", "{key}1-{index}",
        "{key}{index}x", "x{key}{index}", "{index}{key}", "{index}-{key}", "{index}1{key}", "{index}1-{key}",
        "{index}-1{key}", "7{index}{key}", "{key}VN{index}", "{key}\xD9\xA1{index}"}) {
    ASSERT_TRUE(CheckLabel(label).ok()) << label;
    std::map<std::string, std::pair<std::string_view, uint64_t>, std::less<>> seen;
    bool glued = false;
    for (const std::string_view key : keys) {
      NodeLabels labels(LabelTemplate(label), key);
      for (uint64_t index = 0; index < 1200; ++index)
        glued |= !seen.try_emplace(std::string(labels.At(index)), key, index).second;
    }
    EXPECT_EQ(LabelTemplate(label).MayGlue(), glued) << label;
  }
  EXPECT_FALSE(LabelTemplate("{key}").MayGlue());
  EXPECT_FALSE(LabelTemplate("{key}").has_index());
  EXPECT_TRUE(LabelTemplate("{index}{key}").has_index());
}

size_t DistinctPositions(HashFunction hash, std::string_view label, const std::vector<std::string_view>& keys) {
  std::set<uint64_t> positions;
  for (const std::string_view key : keys) {
    NodeLabels labels(LabelTemplate(label), key);
    for (uint64_t index = 0; index < 100; ++index) positions.insert(HashBytes(hash, labels.At(index)));
  }
  return positions.size();
}

// B12 (uber-node/ringpop-node#241)
TEST(LabelTemplate, WithASeparatorKeepsThePointsOfGluedNamesApart) {
  const std::vector<std::string_view> ports = {"s1:1", "s1:11", "s2:2", "s2:5"};
  const std::vector<std::string_view> ones = {"a1", "a", "a11", "a111"};
  for (const HashFunction hash : {HashFunction::kCrc32, HashFunction::kFnv1_32, HashFunction::kMurmur3_32}) {
    for (const char* label :
         {"{key}#{index}", "{key}-{index}", "{key}:{index}", "{key}_{index}", "{key}@{index}", "{key}/{index}"}) {
      EXPECT_EQ(DistinctPositions(hash, label, ports), 400U) << label;
      EXPECT_EQ(DistinctPositions(hash, label, ones), 400U) << label;
    }
    EXPECT_EQ(DistinctPositions(hash, "{key}{index}", ports), 390U);
    EXPECT_EQ(DistinctPositions(hash, "{key}{index}", ones), 370U);
  }
}

// The cases' ready-made node ids: their hashes are in one state, which no suffix can part.
TEST(HashBytes, CollidesOnEveryPointOfTheReadyMadeNodeIds) {
  const auto collide = [](HashFunction hash, std::string_view a, std::string_view b) {
    NodeLabels labels_of_a(LabelTemplate("{key}#{index}"), a);
    NodeLabels labels_of_b(LabelTemplate("{key}#{index}"), b);
    for (uint64_t index = 0; index < 500; ++index) {
      EXPECT_EQ(HashBytes(hash, labels_of_a.At(index)), HashBytes(hash, labels_of_b.At(index))) << a << " " << index;
    }
  };
  collide(HashFunction::kCrc32, "cache-yolrhmnb", "cache-8bx30gkf");
  collide(HashFunction::kFnv1_32, "node-etgqek", "node-lcnygj");
  collide(HashFunction::kMurmur3_32, "shard0095071", "shard0712366");
  const auto murmur3 = [](std::string_view label) { return HashBytes(HashFunction::kMurmur3_32, label); };
  EXPECT_EQ(murmur3("node-682#139"), murmur3("node-804#136"));
  EXPECT_EQ(murmur3("node-14-20"), murmur3("node-520-124"));
  EXPECT_EQ(murmur3("node-151:16"), murmur3("node-364:67"));
  EXPECT_EQ(murmur3("node-442_131"), murmur3("node-710_136"));
  EXPECT_EQ(murmur3("node-468@112"), murmur3("node-687@35"));
}

}  // namespace
}  // namespace ringd::ring
