// ListChanges: what a page holds, and that pages go on from one another whatever happens meanwhile.
#include "server/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/test_directory.h"

namespace ringd::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

absl::Status Wanted() { return absl::OkStatus(); }

v1::ListChangesResponse PageOf(TestDirectory& directory, int32_t size = 0, const std::string& token = "") {
  v1::ListChangesRequest request;
  request.set_ring("r");
  request.set_page_size(size);
  request.set_page_token(token);
  v1::ListChangesResponse response;
  const absl::Status status = AnswerListChanges(*directory, *directory.State("r"), request, Wanted, &response);
  EXPECT_TRUE(status.ok()) << status;
  return response;
}

std::vector<uint64_t> Revisions(const v1::ListChangesResponse& page) {
  std::vector<uint64_t> revisions;
  for (const v1::ChangeRecord& change : page.changes()) revisions.push_back(change.version().revision());
  return revisions;
}

TEST(ListChanges, AnswersTheKeptHistoryNewestFirst) {
  TestDirectory directory({.history_max = 3});
  directory.Make("r", {"a", "b", "c"});
  const v1::ListChangesResponse page = PageOf(directory);
  EXPECT_THAT(Revisions(page), ElementsAre(4, 3, 2));
  EXPECT_EQ(page.next_page_token(), "");
  EXPECT_EQ(page.version().epoch(), 1u);
  EXPECT_EQ(page.version().revision(), 4u);
}

TEST(ListChanges, PagesGoOnFromOneAnotherWhateverChangesCome) {
  TestDirectory directory;
  directory.Make("r", {"a", "b", "c", "d"});
  const v1::ListChangesResponse first = PageOf(directory, 2);
  EXPECT_THAT(Revisions(first), ElementsAre(5, 4));
  directory.Do(Add("r", "e"));
  const v1::ListChangesResponse second = PageOf(directory, 2, first.next_page_token());
  EXPECT_THAT(Revisions(second), ElementsAre(3, 2));
  EXPECT_EQ(second.version().revision(), 6u);
  const v1::ListChangesResponse third = PageOf(directory, 2, second.next_page_token());
  EXPECT_THAT(Revisions(third), ElementsAre(1));
  EXPECT_EQ(third.next_page_token(), "");
}

TEST(ListChanges, APageThatEndsWithTheOldestKeptChangeIsTheLast) {
  TestDirectory directory({.history_max = 4});
  directory.Make("r", {"a", "b", "c", "d"});
  EXPECT_EQ(PageOf(directory, 4).next_page_token(), "");
  const std::string token = PageOf(directory, 3).next_page_token();
  EXPECT_NE(token, "");
  EXPECT_THAT(Revisions(PageOf(directory, 3, token)), ElementsAre(2));
  directory.Do(Add("r", "e"));
  EXPECT_THAT(Revisions(PageOf(directory, 3, token)), IsEmpty()) << "gone since";
}

TEST(ListChanges, ATokenOfARingThatWasMadeAnewLeadsNowhere) {
  TestDirectory directory;
  directory.Make("r", {"a", "b"});
  const std::string token = PageOf(directory, 1).next_page_token();
  directory.Do(Forced(Delete("r")));
  directory.Make("r", {"a", "b"});
  const v1::ListChangesResponse page = PageOf(directory, 1, token);
  EXPECT_THAT(Revisions(page), IsEmpty());
  EXPECT_EQ(page.version().epoch(), 2u);
  EXPECT_EQ(page.next_page_token(), "");
}

TEST(ListChanges, ATokenAboveTheHeadIsTheHead) {
  TestDirectory directory;
  directory.Make("r", {"a"});
  EXPECT_THAT(Revisions(PageOf(directory, 0, "1/18446744073709551615")), ElementsAre(2, 1));
  EXPECT_THAT(Revisions(PageOf(directory, 0, "1/1")), IsEmpty());
}

TEST(ListChanges, SpansManyBatchesOfTheStore) {
  TestDirectory directory;
  directory.Make("r", {"a"});
  directory.ChangeUpTo("r", "a", 1'200);
  const v1::ListChangesResponse page = PageOf(directory);
  EXPECT_EQ(page.changes_size(), 1'000) << "the default";
  EXPECT_THAT(Revisions(PageOf(directory, 0, page.next_page_token())).size(), 200u);
  EXPECT_EQ(PageOf(directory, 10'001).changes_size(), 1'200);
}

TEST(ListChanges, SaysWhoChangedWhatAndWhy) {
  TestDirectory directory;
  directory.Make("r", {"a", "b"});
  directory.now += absl::Seconds(5);
  Mutation change = WithId(Change("r", {RemoveOp("a"), WeightOp("b", 2)}), "id", 1);
  change.actor = "spiffe://ops";
  change.reason = "disk";
  directory.Do(change);
  directory.Do(Update("r", {.default_weight = 7, .max_changes = 9}));
  const v1::ListChangesResponse page = PageOf(directory);
  const v1::ChangeRecord& record = page.changes(1);
  EXPECT_EQ(record.from_revision(), 3u);
  EXPECT_EQ(record.version().epoch(), 1u);
  EXPECT_EQ(record.checksum().value(), directory.State("r")->log->Get(4)->record.checksum);
  EXPECT_EQ(record.time().seconds(), 5);
  EXPECT_EQ(record.actor(), "spiffe://ops");
  EXPECT_EQ(record.reason(), "disk");
  EXPECT_EQ(record.request_id(), "id");
  ASSERT_EQ(record.nodes_size(), 2);
  EXPECT_EQ(record.nodes(0).before().id(), "a");
  EXPECT_FALSE(record.nodes(0).has_after());
  EXPECT_EQ(record.nodes(1).before().weight(), 1u);
  EXPECT_EQ(record.nodes(1).after().weight(), 2u);
  EXPECT_FALSE(record.has_ring_update());
  EXPECT_GT(record.movement().moved_share(), 0) << "what the answer to the change said";
  EXPECT_EQ(page.changes(0).ring_update().before().default_weight(), 100u);
  EXPECT_EQ(page.changes(0).ring_update().after().default_weight(), 7u);
  EXPECT_EQ(page.changes(0).ring_update().after().history_limits().max_changes(), 9u);
  EXPECT_EQ(page.changes(4).from_revision(), 0u) << "the creation";
}

// Answers stay under 4 MiB, however large a change was.
TEST(ListChanges, APageHasRoomForOneChangeAtLeastAndLeavesOutNodesOfALargeOne) {
  TestDirectory directory;
  directory.Make("r");
  std::vector<ring::Operation> operations;
  for (int i = 0; i < 2'000; i++) {
    ring::AddNode add = AddOp("n" + std::to_string(10'000 + i));
    add.node.metadata["m"] = std::string(4'000, 'x');
    operations.emplace_back(std::move(add));
  }
  directory.Do(Change("r", operations));
  const v1::ListChangesResponse page = PageOf(directory);
  EXPECT_THAT(Revisions(page), ElementsAre(2));
  EXPECT_LT(page.ByteSizeLong(), 4u << 20);
  EXPECT_GT(page.changes(0).nodes_size(), 700);
  EXPECT_EQ(page.changes(0).nodes_left_out(), 2'000u - static_cast<uint32_t>(page.changes(0).nodes_size()));
  EXPECT_EQ(page.changes(0).nodes(0).after().id(), "n10000");
  EXPECT_THAT(Revisions(PageOf(directory, 0, page.next_page_token())), ElementsAre(1));
}

TEST(ListChanges, ReadsNothingForACallerWhoHasGone) {
  TestDirectory directory;
  directory.Make("r", {"a"});
  v1::ListChangesRequest request;
  v1::ListChangesResponse response;
  const absl::Status status = AnswerListChanges(
      *directory, *directory.State("r"), request, [] { return absl::CancelledError("gone"); }, &response);
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_EQ(response.changes_size(), 0);
}

}  // namespace
}  // namespace ringd::server
