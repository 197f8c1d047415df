// DiffVersions: that its ranges are what moved, told by asking both rings, and how they are shared out among messages.
#include "server/version_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "proto/codec.h"
#include "tests/server/test_directory.h"

namespace ringd::server {
namespace {

using ::testing::HasSubstr;

absl::Status Wanted() { return absl::OkStatus(); }

v1::DiffVersionsRequest RequestOf(const ring::Version& from, const std::optional<ring::Version>& to = {}) {
  v1::DiffVersionsRequest request;
  request.set_ring("r");
  ringd::ToProto(from, request.mutable_from());
  if (to) ringd::ToProto(*to, request.mutable_to());
  return request;
}

absl::StatusOr<std::unique_ptr<VersionDiff>> Open(TestDirectory& directory, const v1::DiffVersionsRequest& request,
                                                  const StillWanted& still_wanted = Wanted) {
  return VersionDiff::Open(*directory, *directory.State("r"), request, still_wanted);
}

std::vector<v1::DiffVersionsResponse> MessagesOf(TestDirectory& directory, const v1::DiffVersionsRequest& request) {
  const auto diff = Open(directory, request);
  EXPECT_TRUE(diff.ok()) << diff.status();
  std::vector<v1::DiffVersionsResponse> messages(1);
  while ((*diff)->Next(&messages.back())) messages.emplace_back();
  messages.pop_back();
  return messages;
}

std::vector<v1::MovedRange> RangesOf(const std::vector<v1::DiffVersionsResponse>& messages) {
  std::vector<v1::MovedRange> ranges;
  for (const auto& message : messages) ranges.insert(ranges.end(), message.ranges().begin(), message.ranges().end());
  return ranges;
}

std::string OwnerOf(const ring::Ring& ring, uint64_t position) {
  return ring.HasOwners() ? ring.node(ring.Owner(position)).id : "nobody";
}

// Asks both rings at and around the ends of every range, and in the middle of them and between them.
void ExpectTrue(const std::vector<v1::MovedRange>& ranges, const ring::Ring& from, const ring::Ring& to) {
  const ring::Circle& circle = from.keys().circle();
  uint64_t next = 0;  // the first value that no range has said anything of
  const auto expect_stays = [&](uint64_t value) {
    EXPECT_EQ(OwnerOf(from, circle.First(value)), OwnerOf(to, circle.First(value))) << value;
  };
  for (const v1::MovedRange& moved : ranges) {
    const uint64_t first = moved.range().first();
    const uint64_t last = moved.range().last();
    ASSERT_LE(first, last);
    ASSERT_LE(last, circle.last_value());
    ASSERT_GE(first, next);
    if (first > next) {
      for (const uint64_t value : {next, next + (first - next) / 2, first - 1}) expect_stays(value);
    }
    for (const uint64_t value : {first, first + (last - first) / 2, last}) {
      EXPECT_EQ(OwnerOf(from, circle.First(value)), moved.has_from() ? moved.from() : "nobody") << value;
      EXPECT_EQ(OwnerOf(to, circle.First(value)), moved.has_to() ? moved.to() : "nobody") << value;
    }
    next = last + 1;
  }
  if (next != 0 && next <= circle.last_value()) expect_stays(circle.last_value());
}

const std::vector<ring::Placement>& Placements() {
  static const std::vector<ring::Placement> placements = {
      ring::HashedSettings{.points_per_weight = 20},
      ring::HashedSettings{
          .hash = ring::HashFunction::kMurmur3_32, .points_per_weight = 20, .match = ring::PointMatch::kStrictlyAfter},
      ring::DefaultsOf(ring::Preset::kJavaFnv1),
      ring::DefaultsOf(ring::Preset::kKetamaWeighted),
      ring::SlotsSettings{.slot_bits = 10, .hash_tag = ""},
      ring::SlotsSettings{.slot_bits = 10, .owners = 3, .hash_tag = ""}};
  return placements;
}

TEST(DiffVersions, TellsWhatMovedBetweenAnyTwoKeptVersions) {
  for (const ring::Placement& placement : Placements()) {
    TestDirectory directory;
    directory.Do({.ring = "r", .what = CreateRing{.settings = {.placement = placement, .default_weight = 1}}});
    std::vector<RingStatePtr> states = {directory.State("r")};
    for (const Mutation& change : {Change("r", {AddOp("a"), AddOp("b"), AddOp("c")}), Add("r", "d"),
                                   Change("r", {RemoveOp("b")}), Change("r", {RemoveOp("a"), AddOp("b")})}) {
      directory.Do(Forced(change));
      states.push_back(directory.State("r"));
    }
    for (const RingStatePtr& from : states) {
      for (const RingStatePtr& to : states) {
        const auto messages = MessagesOf(directory, RequestOf(from->head.version, to->head.version));
        ASSERT_EQ(messages.size(), 1u);
        ExpectTrue(RangesOf(messages), from->ring, to->ring);
        v1::Movement movement;
        ringd::ToProto(ring::Compare(from->ring, to->ring), &movement);
        EXPECT_EQ(messages[0].movement().SerializeAsString(), movement.SerializeAsString());
        EXPECT_EQ(ToString(ringd::FromProto(messages[0].from())), ToString(from->head.version));
        EXPECT_EQ(ToString(ringd::FromProto(messages[0].to())), ToString(to->head.version));
      }
    }
  }
}

TEST(DiffVersions, FromAVersionToItselfNothingMoves) {
  TestDirectory directory;
  directory.Make("r", {"a", "b"});
  const auto messages = MessagesOf(directory, RequestOf({1, 3}));
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].ranges_size(), 0);
  ASSERT_TRUE(messages[0].has_movement());
  EXPECT_EQ(messages[0].movement().moved_share(), 0);
  EXPECT_GT(messages[0].movement().before().max_ratio(), 0);
}

TEST(DiffVersions, WithoutToItIsTheRingAsItWasWhenItWasAsked) {
  TestDirectory directory;
  directory.Make("r", {"a", "b"});
  const RingStatePtr then = directory.State("r");
  directory.Do(Add("r", "c"));
  const auto diff = VersionDiff::Open(*directory, *then, RequestOf({1, 2}), Wanted);
  v1::DiffVersionsResponse message;
  ASSERT_TRUE((*diff)->Next(&message));
  EXPECT_EQ(message.to().revision(), 3u);
}

TEST(DiffVersions, MessagesAreSmallInOrderAndTheLastAloneHasTheMovement) {
  TestDirectory directory;
  directory.Do({.ring = "r",
                .what = CreateRing{
                    .settings = {.placement = ring::HashedSettings{.points_per_weight = 20}, .default_weight = 1}}});
  std::vector<ring::Operation> adds;
  for (int i = 0; i < 200; ++i) adds.emplace_back(AddOp(std::string(200, 'n') + std::to_string(i)));
  directory.Do(Change("r", adds));
  std::vector<ring::Operation> removes;
  for (int i = 0; i < 200; i += 2) removes.emplace_back(RemoveOp(std::string(200, 'n') + std::to_string(i)));
  directory.Do(Forced(Change("r", removes)));
  const auto messages = MessagesOf(directory, RequestOf({1, 2}));
  ASSERT_GT(messages.size(), 5u);
  for (size_t i = 0; i < messages.size(); ++i) {
    EXPECT_LT(messages[i].ByteSizeLong(), VersionDiff::kMessageBytes + messages[i].movement().ByteSizeLong() + 1'000);
    EXPECT_EQ(messages[i].has_movement(), i + 1 == messages.size());
    EXPECT_EQ(messages[i].from().revision(), 2u);
    EXPECT_EQ(messages[i].to().revision(), 3u);
  }
  const RingStatePtr after = directory.State("r");
  directory.Do(Restore("r", {1, 2}));
  ExpectTrue(RangesOf(messages), directory.State("r")->ring, after->ring);
}

TEST(DiffVersions, BothVersionsMustBeKept) {
  TestDirectory directory({.history_max = 2});
  directory.Make("r", {"a", "b", "c"});
  const ring::Version head{1, 4};
  for (const ring::Version& gone : {ring::Version{1, 1}, ring::Version{1, 5}, ring::Version{2, 4}}) {
    for (const auto& request : {RequestOf(gone), RequestOf(head, gone)}) {
      const absl::Status status = Open(directory, request).status();
      EXPECT_TRUE(absl::IsNotFound(status)) << status;
      EXPECT_EQ(ring::ReasonOf(status), kVersionNotKept);
      EXPECT_THAT(std::string(status.message()), HasSubstr(ToString(gone)));
    }
  }
}

// A limit that was lowered is one on changes.
TEST(DiffVersions, TellsOfVersionsThatAreOverALimitOfNow) {
  MemoryStore store;
  TestDirectory first(store, {});
  first.Make("r", {"a", "b", "c"});
  first.Do(Change("r", {RemoveOp("a")}));
  TestDirectory now(store, {.ring_limits = {.max_nodes = 1}});
  EXPECT_TRUE(Open(now, RequestOf({1, 4})).ok());
}

TEST(DiffVersions, ReadsNoFurtherForACallerWhoHasGone) {
  TestDirectory directory;
  directory.Make("r", {"a"});
  const auto diff = Open(directory, RequestOf({1, 1}), [] { return absl::CancelledError("gone"); });
  EXPECT_TRUE(absl::IsCancelled(diff.status())) << diff.status();
}

}  // namespace
}  // namespace ringd::server
