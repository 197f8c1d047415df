// The judge of Watches, fed with streams made by hand: good ones, of which it says nothing, and for each promise one
// that breaks it. Whoever weakens a check sees its test fail.
#include "tests/guarantees/watch_judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/codec.h"

namespace ringd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kEpoch = 7;
constexpr uint64_t kKept = 3;  // changes in the history of the ring
using Stream = std::vector<v1::WatchResponse>;

// The one ring, "r": each revision after the first added a node, a2, a3, ...
ring::Node NodeOf(uint64_t revision) {
  const std::string id = "a" + std::to_string(revision);
  return {.id = id, .weight = 10, .hash_key = id, .join_number = revision - 1};
}
ring::Ring RingAt(uint64_t revision) {
  std::vector<ring::Node> nodes;
  for (uint64_t made = 2; made <= revision; ++made) nodes.push_back(NodeOf(made));
  return *ring::Ring::Create({}, nodes, revision);
}
void SetVersion(uint64_t revision, v1::Version* out) { ToProto(ring::Version{kEpoch, revision}, out); }

v1::WatchResponse Change(uint64_t revision) {
  v1::WatchResponse message;
  v1::Change& change = *message.mutable_change();
  change.set_ring("r");
  change.set_from_revision(revision - 1);
  SetVersion(revision, change.mutable_version());
  ToProto(RingAt(revision).checksum(), change.mutable_checksum());
  ToProto(NodeOf(revision), 0, change.add_nodes()->mutable_added());
  return message;
}

// A chunk with the nodes first..last, by the revisions that added them.
v1::WatchResponse Chunk(uint64_t revision, uint32_t number, uint64_t first, uint64_t last) {
  v1::WatchResponse message;
  v1::Snapshot& snapshot = *message.mutable_snapshot();
  const ring::Ring ring = RingAt(revision);
  snapshot.mutable_ring()->set_name("r");
  SetVersion(revision, snapshot.mutable_ring()->mutable_version());
  ToProto(ring.checksum(), snapshot.mutable_ring()->mutable_checksum());
  ToProto(ring.settings().placement, snapshot.mutable_ring()->mutable_placement());
  snapshot.mutable_ring()->set_default_weight(ring.settings().default_weight);
  for (uint64_t made = first; made <= last; ++made) ToProto(NodeOf(made), 0, snapshot.add_nodes());
  snapshot.set_chunk(number);
  snapshot.set_last(last == revision);
  return message;
}
v1::WatchResponse Snapshot(uint64_t revision) { return Chunk(revision, 0, 2, revision); }

v1::WatchResponse RingInSync(uint64_t revision) {
  v1::WatchResponse message;
  message.mutable_in_sync()->set_ring("r");
  SetVersion(revision, message.mutable_in_sync()->mutable_version());
  return message;
}
v1::WatchResponse StreamInSync() {
  v1::WatchResponse message;
  message.mutable_in_sync();
  return message;
}
v1::WatchResponse Heartbeat(std::optional<uint64_t> moved_to) {
  v1::WatchResponse message;
  v1::Heartbeat& heartbeat = *message.mutable_heartbeat();
  if (!moved_to.has_value()) return message;
  heartbeat.add_moved()->set_ring("r");
  SetVersion(*moved_to, heartbeat.mutable_moved(0)->mutable_version());
  return message;
}

// What is said of streams, one after the other; before each, `published` was there.
WatchJudge Judged(const std::vector<Stream>& streams, uint64_t published = 1) {
  WatchJudge judge({{"r", kKept}});
  for (const Stream& stream : streams) {
    judge.Begin({{"r", {kEpoch, published}}});
    for (const v1::WatchResponse& message : stream) judge.Read(message);
  }
  return judge;
}
std::vector<std::string> Complaints(const std::vector<Stream>& streams, uint64_t published = 1) {
  return Judged(streams, published).complaints();
}

TEST(WatchJudge, SaysNothingOfWhatKeepsThePromises) {
  const WatchJudge judge =
      Judged({{Chunk(5, 0, 2, 3)},  // cut within a snapshot
              {Chunk(5, 0, 2, 3), Chunk(5, 1, 4, 5), Change(6), RingInSync(6), StreamInSync(), Heartbeat(6), Change(7)},
              {Change(8)},
              {RingInSync(8), StreamInSync(), Heartbeat({}), Change(9), Change(10), Heartbeat(10)},
              {Snapshot(14), RingInSync(14), StreamInSync()}},
             /*published=*/5);
  EXPECT_THAT(judge.complaints(), IsEmpty());
  EXPECT_TRUE(judge.in_sync());
  EXPECT_EQ(judge.counts().changes, 5u);
  EXPECT_EQ(judge.counts().snapshots, 2u);
  EXPECT_EQ(judge.counts().half_snapshots, 1u);
  EXPECT_EQ(judge.StoryOf("r").size(), 7u);
}

TEST(WatchJudge, ANewStreamAsksForWhatComesAfterWhatIsHeld) {
  WatchJudge judge = Judged({{Snapshot(3), Change(4), Chunk(9, 0, 2, 3)}});
  const v1::WatchRequest request = judge.Begin({});
  ASSERT_EQ(request.held_size(), 1);
  EXPECT_EQ(request.held(0).position().version().revision(), 4u);
  EXPECT_EQ(request.held(0).position().checksum().value(), RingAt(4).checksum());
}

TEST(WatchJudge, FindsAGap) {
  const WatchJudge judge = Judged({{Snapshot(3), Change(5), Change(6)}});
  EXPECT_THAT(judge.complaints(), ElementsAre("r: a gap: the change to 7/5 on 7/3"));
  EXPECT_EQ(judge.counts().gaps, 1u);
}

TEST(WatchJudge, FindsAGapAfterAResume) {
  EXPECT_THAT(Complaints({{Snapshot(3), Change(4)}, {Change(6)}}), ElementsAre(HasSubstr("a gap")));
}

TEST(WatchJudge, FindsAChangeThatComesTwice) {
  EXPECT_THAT(Complaints({{Snapshot(3), Change(4), Change(4)}}), ElementsAre(HasSubstr("again")));
  EXPECT_THAT(Complaints({{Snapshot(3), Change(4)}, {Change(4)}}), ElementsAre(HasSubstr("again")));
}

TEST(WatchJudge, FindsAChangeBeforeAnySnapshot) {
  EXPECT_THAT(Complaints({{Change(4)}}), ElementsAre(HasSubstr("before any snapshot")));
}

TEST(WatchJudge, FindsASnapshotOfWhatTheHistoryHas) {
  // The last of the kept changes may have been forgotten for a change that is not published yet.
  EXPECT_THAT(Complaints({{Snapshot(3)}, {Snapshot(3 + kKept)}}), IsEmpty());
  EXPECT_THAT(Complaints({{Snapshot(3)}, {Snapshot(3 + kKept - 1)}}), ElementsAre(HasSubstr("still in the history")));
  EXPECT_THAT(Complaints({{Snapshot(3)}, {Snapshot(3)}}), ElementsAre(HasSubstr("still in the history")));
}

TEST(WatchJudge, FindsASnapshotThatIsNotWhole) {
  EXPECT_THAT(Complaints({{Chunk(5, 1, 4, 5)}}), ElementsAre(HasSubstr("at its beginning")));
  EXPECT_THAT(Complaints({{Chunk(5, 0, 2, 3), Chunk(5, 2, 4, 5)}}), ElementsAre(HasSubstr("a chunk is missing")));
  EXPECT_THAT(Complaints({{Chunk(5, 0, 2, 3), Chunk(6, 1, 4, 6)}}), ElementsAre(HasSubstr("are mixed")));
  EXPECT_THAT(Complaints({{Chunk(5, 0, 2, 3), RingInSync(5)}}), ElementsAre(HasSubstr("within a snapshot")));
  EXPECT_THAT(Complaints({{Chunk(5, 0, 3, 5)}}), ElementsAre(HasSubstr("another checksum")));
  EXPECT_THAT(Complaints({{Chunk(5, 0, 2, 3)}, {Chunk(5, 1, 4, 5)}}), ElementsAre(HasSubstr("at its beginning")));
}

TEST(WatchJudge, FindsAChangeWithAnotherContent) {
  v1::WatchResponse change = Change(4);
  change.mutable_change()->mutable_nodes(0)->mutable_added()->set_address("elsewhere");
  EXPECT_THAT(Complaints({{Snapshot(3), change}}), ElementsAre(HasSubstr("another checksum")));
}

TEST(WatchJudge, FindsAnotherEpochAndAWayBack) {
  v1::WatchResponse change = Change(4);
  change.mutable_change()->mutable_version()->set_epoch(kEpoch + 1);
  EXPECT_THAT(Complaints({{Snapshot(3), change}}), ElementsAre(HasSubstr("another epoch")));
  v1::WatchResponse rewound = Snapshot(3);
  rewound.mutable_snapshot()->set_rewound(true);
  EXPECT_THAT(Complaints({{Snapshot(5)}, {rewound}}), ElementsAre(HasSubstr("went back")));
}

TEST(WatchJudge, FindsAnInSyncThatIsNotTrue) {
  EXPECT_THAT(Complaints({{RingInSync(3)}}), ElementsAre(HasSubstr("another version")));
  EXPECT_THAT(Complaints({{Snapshot(3), RingInSync(4)}}), ElementsAre(HasSubstr("another version")));
  EXPECT_THAT(Complaints({{Snapshot(3), RingInSync(3)}}, /*published=*/4), ElementsAre(HasSubstr("without what")));
  EXPECT_THAT(Complaints({{Snapshot(3), RingInSync(3), RingInSync(3)}}), ElementsAre(HasSubstr("twice")));
  EXPECT_THAT(Complaints({{Snapshot(3), StreamInSync()}}), ElementsAre(HasSubstr("before its ring")));
  EXPECT_THAT(Complaints({{Snapshot(3), RingInSync(3), StreamInSync(), StreamInSync()}}), ElementsAre("in sync twice"));
}

TEST(WatchJudge, FindsAHeartbeatThatIsNotTrue) {
  EXPECT_THAT(Complaints({{Snapshot(3), Heartbeat(4)}}), ElementsAre(HasSubstr("another version")));
  EXPECT_THAT(Complaints({{Snapshot(3), Heartbeat({})}}), ElementsAre(HasSubstr("just what moved")));
  EXPECT_THAT(Complaints({{Snapshot(3), Heartbeat(3), Heartbeat(3)}}), ElementsAre(HasSubstr("just what moved")));
  EXPECT_THAT(Complaints({{Snapshot(3), Heartbeat(3)}}, /*published=*/4), ElementsAre(HasSubstr("published before")));
}

TEST(WatchJudge, FindsARingThatIsSaidToHaveGone) {
  v1::WatchResponse absent;
  absent.mutable_absent()->set_ring("r");
  EXPECT_THAT(Complaints({{absent}}), ElementsAre("r: absent, and it is there"));
  v1::WatchResponse deleted;
  deleted.mutable_deleted()->set_ring("r");
  EXPECT_THAT(Complaints({{Snapshot(3), deleted}}), ElementsAre("r: deleted, and it is there"));
}

TEST(WatchJudge, GoesOnWithTheNextStream) {
  EXPECT_THAT(
      Complaints({{Snapshot(3), Change(5)}, {Change(4), Change(5), RingInSync(5), StreamInSync()}, {Change(7)}}),
      ElementsAre(HasSubstr("7/5 on 7/3"), HasSubstr("7/7 on 7/5")));
}

}  // namespace
}  // namespace ringd
