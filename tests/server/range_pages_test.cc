// Pages of ListRanges, in values of the ring's hash function.
#include "server/range_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ring/error.h"
#include "ring/ranges.h"

namespace ringd::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

RingState StateOf(const ring::Placement& placement, const std::vector<std::string>& ids) {
  const ring::Settings settings{.placement = placement, .default_weight = 1};
  std::vector<ring::Node> nodes;
  for (const std::string& id : ids) {
    nodes.push_back({.id = id, .weight = 1, .hash_key = id, .join_number = nodes.size() + 1});
  }
  auto ring = ring::Ring::Create(settings, std::move(nodes), ids.size() + 1);
  EXPECT_TRUE(ring.ok()) << ring.status();
  return {.head = {.name = "r", .version = {7, 9}, .settings = settings}, .ring = *std::move(ring), .log = nullptr};
}

v1::ListRangesRequest RequestOf(const std::string& node, const std::string& token = "") {
  v1::ListRangesRequest request;
  request.set_ring("r");
  request.set_node_id(node);
  request.set_page_token(token);
  return request;
}

std::vector<v1::Range> AllRanges(const RingState& state, const std::string& node, size_t page) {
  std::vector<v1::Range> ranges;
  std::string token;
  do {
    v1::ListRangesResponse response;
    EXPECT_TRUE(AnswerListRanges(state, RequestOf(node, token), page, &response).ok());
    EXPECT_LE(static_cast<size_t>(response.ranges_size()), page);
    EXPECT_EQ(response.version().revision(), 9u);
    ranges.insert(ranges.end(), response.ranges().begin(), response.ranges().end());
    token = response.next_page_token();
  } while (!token.empty());
  return ranges;
}

// Whatever the circle, the ranges of all nodes are all of its values, each once, and owned from end to end.
TEST(ListRanges, CoversTheValuesOfEveryCircle) {
  for (const ring::Placement& placement :
       {ring::Placement(ring::HashedSettings{.points_per_weight = 20}),
        ring::Placement(ring::HashedSettings{.hash = ring::HashFunction::kCrc16, .points_per_weight = 20}),
        ring::Placement(ring::HashedSettings{.hash = ring::HashFunction::kMurmur3_32,
        .points_per_weight = 20,
        .match = ring::PointMatch::kStrictlyAfter}),
        ring::Placement(ring::DefaultsOf(ring::Preset::kJavaFnv1)),
        ring::Placement(ring::DefaultsOf(ring::Preset::kJavaCrc32Vn))}) {
    const RingState state = StateOf(placement, {"a", "b", "c"});
    const ring::Circle& circle = state.ring.keys().circle();
    absl::uint128 values = 0;
    for (const std::string node : {"a", "b", "c"}) {
      const std::vector<v1::Range> ranges = AllRanges(state, node, 3);
      for (const v1::Range& range : ranges) {
        ASSERT_LE(range.first(), range.last());
        ASSERT_LE(range.last(), circle.last_value());
        for (const uint64_t value : {range.first(), range.last()}) {
          EXPECT_EQ(state.ring.node(state.ring.Owner(circle.First(value))).id, node);
        }
        values += absl::uint128(range.last()) - range.first() + 1;
      }
      EXPECT_EQ(AllRanges(state, node, ranges.size()).size(), ranges.size()) << "a page that is just full is the last";
    }
    EXPECT_EQ(values, absl::uint128(circle.last_value()) + 1);
  }
}

TEST(ListRanges, OfANodeWithoutWeightIsEmpty) {
  RingState state = StateOf(ring::HashedSettings{}, {"a"});
  state.ring = state.ring.Apply(std::vector<ring::Operation>{ring::AddNode{.node = {.id = "idle"}}})->ring;
  EXPECT_THAT(AllRanges(state, "idle", 10), IsEmpty());
}

TEST(ListRanges, RefusesWhatItDoesNotHave) {
  const RingState state = StateOf(ring::HashedSettings{.hash = ring::HashFunction::kCrc16}, {"a"});
  v1::ListRangesResponse response;
  const absl::Status absent = AnswerListRanges(state, RequestOf("b"), 10, &response);
  EXPECT_TRUE(absl::IsNotFound(absent)) << absent;
  EXPECT_EQ(ring::ReasonOf(absent), ring::kNodeNotFound);
  for (const std::string token : {"x", "-1", "65536", "1 ", "18446744073709551616"}) {
    const absl::Status refused = AnswerListRanges(state, RequestOf("a", token), 10, &response);
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << token;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("page_token"));
  }
}

}  // namespace
}  // namespace ringd::server
