// Pages of GetRing: nodes, and the table of slots behind them.
#include "server/ring_pages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ring/error.h"

namespace ringd::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr size_t kStockMessage = 4 << 20;
const std::string kMark = "\x01";

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

v1::GetRingRequest RequestOf(bool slot_owners, const std::string& token = "") {
  v1::GetRingRequest request;
  request.set_ring("r");
  request.set_slot_owners(slot_owners);
  request.set_page_token(token);
  return request;
}

std::vector<v1::GetRingResponse> AllPages(const RingState& state, bool slot_owners) {
  constexpr size_t kNodesOfPage = 2;
  std::vector<v1::GetRingResponse> pages;
  std::string token;
  do {
    v1::GetRingResponse& page = pages.emplace_back();
    EXPECT_TRUE(AnswerGetRing(state, RequestOf(slot_owners, token), kNodesOfPage, &page).ok());
    EXPECT_EQ(page.version().revision(), 9u);
    EXPECT_EQ(page.ring().node_count(), state.ring.node_count()) << "each page has the ring";
    EXPECT_LT(page.ByteSizeLong(), kStockMessage);
    token = page.next_page_token();
  } while (!token.empty());
  return pages;
}

std::vector<size_t> CountsOf(const std::vector<v1::GetRingResponse>& pages, const auto& count) {
  std::vector<size_t> counts;
  for (const v1::GetRingResponse& page : pages) counts.push_back(static_cast<size_t>(count(page)));
  return counts;
}

TEST(GetRing, TheTableFollowsTheNodes) {
  const RingState state = StateOf(ring::SlotsSettings{.slot_bits = 20, .hash_tag = ""}, {"a", "b", "c"});
  const std::vector<v1::GetRingResponse> pages = AllPages(state, true);
  EXPECT_THAT(CountsOf(pages, [](const auto& page) { return page.nodes_size(); }), ElementsAre(2, 1, 0, 0, 0));
  EXPECT_THAT(CountsOf(pages, [](const auto& page) { return page.slot_owners_size(); }),
              ElementsAre(0, 0, kPlacesOfPage, kPlacesOfPage, (1 << 20) - 2 * kPlacesOfPage));
  std::vector<uint32_t> places;
  for (const v1::GetRingResponse& page : pages) {
    for (const uint32_t owner : page.slot_owners()) places.push_back(owner - 1);
  }
  EXPECT_TRUE(std::ranges::equal(places, state.ring.slots()->places()));
}

TEST(GetRing, ATableWithoutNodesIsNobodys) {
  const RingState state = StateOf(ring::SlotsSettings{.slot_bits = 10, .hash_tag = ""}, {});
  const std::vector<v1::GetRingResponse> pages = AllPages(state, true);
  ASSERT_EQ(pages.size(), 2u);
  EXPECT_THAT(std::vector<uint32_t>(pages[1].slot_owners().begin(), pages[1].slot_owners().end()),
              std::vector<uint32_t>(1 << 10, 0));
}

TEST(GetRing, NoTableFollowsWhereThereIsNoneOrNobodyAsks) {
  const std::vector<std::string> ids = {"a", "b", "c"};
  const RingState slots = StateOf(ring::SlotsSettings{.slot_bits = 10, .hash_tag = ""}, ids);
  const RingState hashed = StateOf(ring::HashedSettings{}, ids);
  for (const auto& pages : {AllPages(slots, false), AllPages(hashed, false), AllPages(hashed, true)}) {
    EXPECT_THAT(CountsOf(pages, [](const auto& page) { return page.nodes_size(); }), ElementsAre(2, 1));
    EXPECT_THAT(CountsOf(pages, [](const auto& page) { return page.slot_owners_size(); }), ElementsAre(0, 0));
  }
}

TEST(GetRing, RefusesATokenOfPlacesThatItDidNotGive) {
  const RingState slots = StateOf(ring::SlotsSettings{.slot_bits = 10, .hash_tag = ""}, {"a"});
  const RingState hashed = StateOf(ring::HashedSettings{}, {"a"});
  const auto refused = [](const RingState& state, const std::string& token) {
    v1::GetRingResponse response;
    const absl::Status status = AnswerGetRing(state, RequestOf(true, token), 10, &response);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << token;
    EXPECT_EQ(ring::ReasonOf(status), ring::kInvalidField);
    EXPECT_THAT(std::string(status.message()), HasSubstr("page_token"));
  };
  for (const std::string text : {"", "x", "-1", "1024", "1 ", "18446744073709551616"}) refused(slots, kMark + text);
  refused(hashed, kMark + "0");
  v1::GetRingResponse last;
  EXPECT_TRUE(AnswerGetRing(slots, RequestOf(true, kMark + "1023"), 10, &last).ok());
  EXPECT_EQ(last.slot_owners_size(), 1);
}

}  // namespace
}  // namespace ringd::server
