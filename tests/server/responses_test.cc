// What the directory holds and what is said of it in messages agree; answers that have a bound keep it.
#include "server/responses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ring/checksum.h"
#include "tests/server/store_test_data.h"

namespace ringd::server {
namespace {

using Event = v1::WatchResponse::EventCase;
using ::testing::IsEmpty;

std::string NameOf(size_t i) { return "n" + std::to_string(10'000 + i); }

// A state of `count` nodes of weight 1, each with so many bytes of metadata.
RingStatePtr StateOf(size_t count, size_t metadata_bytes = 0) {
  std::vector<ring::Node> nodes;
  for (size_t i = 0; i < count; i++) {
    ring::Node node{.id = NameOf(i), .weight = 1, .hash_key = NameOf(i)};
    if (metadata_bytes > 0) node.metadata[""] = std::string(metadata_bytes, 'm');
    nodes.push_back(std::move(node));
  }
  RingHead head = TestHead("r", {7, 9});
  auto ring = ring::Ring::Create(head.settings, std::move(nodes));
  EXPECT_TRUE(ring.ok()) << ring.status();
  return std::make_shared<const RingState>(RingState{std::move(head), *std::move(ring), nullptr});
}

v1::WatchResponse Message(const WatchEvent& event) {
  v1::WatchResponse message;
  ToProto(event, &message);
  return message;
}

std::string VersionText(const v1::Version& version) {
  return std::to_string(version.epoch()) + "/" + std::to_string(version.revision());
}

TEST(Responses, ARingIsToldWithAllOfItsHead) {
  const RingStatePtr state = StateOf(3);
  v1::Ring ring;
  ToProto(*state, &ring);
  EXPECT_EQ(ring.name(), "r");
  EXPECT_EQ(VersionText(ring.version()), "7/9");
  EXPECT_EQ(ring.checksum().algorithm(), ring::kChecksumAlgorithm);
  EXPECT_EQ(ring.checksum().value(), state->head.checksum);
  EXPECT_TRUE(ring.placement().has_hashed());
  EXPECT_EQ(ring.default_weight(), 100u);
  EXPECT_EQ(std::map(ring.labels().begin(), ring.labels().end()).size(), 2u);
  EXPECT_EQ(ring.labels().at("team"), "storage");
  EXPECT_EQ(ring.create_time().seconds(), absl::ToUnixSeconds(At(0)));
  EXPECT_EQ(ring.update_time().seconds(), absl::ToUnixSeconds(At(9)));
  EXPECT_EQ(ring.node_count(), 3u);
  EXPECT_EQ(ring.total_weight(), 3u);
  EXPECT_EQ(ring.point_count(), state->ring.point_count());
  EXPECT_EQ(ring.imbalance(), state->ring.table()->BalanceOfNodes().max_ratio);
  EXPECT_GE(ring.imbalance(), 1.0);
}

TEST(Responses, HistoryLimitsComeBackAsTheyWereAndAbsentOnesStayAbsent) {
  RingHead head = TestHead("r", {1, 1});
  for (const HistoryLimits& limits :
       {HistoryLimits{}, HistoryLimits{.max_age = absl::Seconds(1)}, HistoryLimits{.max_changes = 1},
        HistoryLimits{absl::Milliseconds(1'500), UINT32_MAX}, HistoryLimits{absl::Seconds(315'576'000'000), 500}}) {
    head.history_limits = limits;
    v1::Ring ring;
    ToProto(head, ring::NodeTable{}, 0, &ring);
    EXPECT_EQ(ring.has_history_limits(), limits != HistoryLimits());
    EXPECT_EQ(ring.history_limits().has_max_age(), limits.max_age.has_value());
    EXPECT_EQ(ring.history_limits().has_max_changes(), limits.max_changes.has_value());
    EXPECT_EQ(FromProto(ring.history_limits()), limits);
  }
}

TEST(Responses, APageHoldsAsManyNodesAsWereAskedFor) {
  const RingStatePtr state = StateOf(10);
  const struct {
    size_t first, max, next;
  } pages[] = {{0, 10, 10}, {0, 11, 10}, {0, 9, 9}, {4, 3, 7}, {9, 1, 10}, {9, 5, 10}, {10, 5, 10}, {0, 0, 0}};
  for (const auto& page : pages) {
    google::protobuf::RepeatedPtrField<v1::Node> nodes;
    EXPECT_EQ(AddNodes(*state->ring.table(), page.first, page.max, 1 << 20, &nodes), page.next);
    ASSERT_EQ(static_cast<size_t>(nodes.size()), page.next - page.first);
    for (size_t i = page.first; i < page.next; i++) {
      const v1::Node& node = nodes[static_cast<int>(i - page.first)];
      EXPECT_EQ(node.id(), NameOf(i));
      EXPECT_EQ(node.share(), state->ring.table()->ShareOf(i));
    }
  }
}

TEST(Responses, APageEndsBeforeTheNodeThatPassesTheBytesButHoldsOne) {
  const RingStatePtr state = StateOf(10, 100);
  google::protobuf::RepeatedPtrField<v1::Node> all;
  AddNodes(*state->ring.table(), 0, 10, 1 << 20, &all);
  const size_t three = all[4].ByteSizeLong() + all[5].ByteSizeLong() + all[6].ByteSizeLong();
  const struct { size_t max_bytes, next; } pages[] = {{three, 7}, {three - 1, 6}, {1, 5}, {0, 5}};
  for (const auto& page : pages) {
    google::protobuf::RepeatedPtrField<v1::Node> nodes;
    EXPECT_EQ(AddNodes(*state->ring.table(), 4, 10, page.max_bytes, &nodes), page.next);
    EXPECT_EQ(static_cast<size_t>(nodes.size()), page.next - 4) << "the node that was too much is still there";
  }
}

TEST(Responses, APlanHoldsAThousandNodesOfThreeMebibytesAtMost) {
  // A node of 4,000 bytes of metadata has 4,000 and some tens.
  const struct {
    size_t nodes, metadata_bytes, least_shown, most_shown;
  } plans[] = {{1'000, 0, 1'000, 1'000}, {1'001, 0, 1'000, 1'000}, {750, 4'000, 750, 750}, {1'000, 4'000, 770, 786}};
  for (const auto& expected : plans) {
    v1::Plan plan;
    ToProto(Plan{.state = StateOf(expected.nodes, expected.metadata_bytes)}, &plan);
    EXPECT_GE(static_cast<size_t>(plan.nodes_size()), expected.least_shown);
    EXPECT_LE(static_cast<size_t>(plan.nodes_size()), expected.most_shown);
    EXPECT_EQ(plan.nodes_size() + plan.nodes_left_out(), expected.nodes);
    EXPECT_EQ(plan.ring().node_count(), expected.nodes);
    EXPECT_LT(plan.ByteSizeLong(), size_t{4} << 20);
  }
}

TEST(Responses, APlanSaysWhetherAndWhyForceIsNeeded) {
  v1::Plan plan;
  ToProto(Plan{.state = StateOf(1), .force_needed = true, .force_reason = "it is the last"}, &plan);
  EXPECT_TRUE(plan.force_needed());
  EXPECT_EQ(plan.force_reason(), "it is the last");
  EXPECT_EQ(VersionText(plan.ring().version()), "7/9");
  v1::Plan of_a_delete;
  ToProto(Plan{}, &of_a_delete);
  EXPECT_FALSE(of_a_delete.has_ring());
  EXPECT_FALSE(of_a_delete.force_needed());
}

TEST(Responses, ASnapshotChunkHoldsItsNodesWithShares) {
  const RingStatePtr state = StateOf(5);
  SnapshotChunk chunk{.head = state->head,
                      .table = state->ring.table(),
                      .points = 123,
                      .first = 2,
                      .last = 4,
                      .number = 1,
                      .complete = true,
                      .rewound = false};
  v1::WatchResponse message = Message(chunk);
  ASSERT_EQ(message.event_case(), Event::kSnapshot);
  const v1::Snapshot& snapshot = message.snapshot();
  EXPECT_EQ(snapshot.ring().name(), "r");
  EXPECT_EQ(snapshot.ring().node_count(), 5u);
  EXPECT_EQ(snapshot.ring().point_count(), 123u);
  ASSERT_EQ(snapshot.nodes_size(), 2);
  EXPECT_EQ(snapshot.nodes(0).id(), NameOf(2));
  EXPECT_EQ(snapshot.nodes(1).id(), NameOf(3));
  EXPECT_EQ(snapshot.nodes(1).share(), state->ring.table()->ShareOf(3));
  EXPECT_EQ(snapshot.chunk(), 1u);
  EXPECT_TRUE(snapshot.last());
  EXPECT_FALSE(snapshot.rewound());
  chunk.complete = false;
  chunk.rewound = true;
  message = Message(chunk);
  EXPECT_FALSE(message.snapshot().last());
  EXPECT_TRUE(message.snapshot().rewound());
}

TEST(Responses, AChangeOfSettingsHoldsThemAsTheyAreNow) {
  ChangeRecord record;
  record.version = {7, 9};
  record.ring_update = TestRingDelta();
  const v1::WatchResponse message =
      Message(std::make_shared<const PublishedChange>(PublishedChange{.ring = "r", .record = record}));
  EXPECT_THAT(message.change().nodes(), IsEmpty());
  const v1::RingUpdate& update = message.change().ring_update();
  EXPECT_EQ(update.default_weight(), 7u);
  EXPECT_EQ(update.labels().at("b"), "2");
  EXPECT_EQ(update.labels().size(), 1u);
  EXPECT_EQ(update.history_limits().max_age().seconds(), 3'600);
  EXPECT_EQ(update.history_limits().max_changes(), 9u);
  record.ring_update->after.history_limits = {};
  EXPECT_FALSE(Message(std::make_shared<const PublishedChange>(PublishedChange{.ring = "r", .record = record}))
                   .change()
                   .ring_update()
                   .has_history_limits());
}

TEST(Responses, AChangeHoldsWhatHappenedToEachNode) {
  ChangeRecord record;
  record.version = {7, 9};
  record.checksum = 77;
  record.time = At(5) + absl::Microseconds(3);
  record.nodes = {{nullptr, TestNode("new")}, {TestNode("old", 1), TestNode("old", 2)}, {TestNode("gone"), nullptr}};
  const v1::WatchResponse message =
      Message(std::make_shared<const PublishedChange>(PublishedChange{.ring = "r", .record = record}));
  ASSERT_EQ(message.event_case(), Event::kChange);
  const v1::Change& change = message.change();
  EXPECT_EQ(change.ring(), "r");
  EXPECT_EQ(change.from_revision(), 8u);
  EXPECT_EQ(VersionText(change.version()), "7/9");
  EXPECT_EQ(change.checksum().algorithm(), ring::kChecksumAlgorithm);
  EXPECT_EQ(change.checksum().value(), 77u);
  EXPECT_EQ(change.time().seconds(), absl::ToUnixSeconds(At(5)));
  EXPECT_EQ(change.time().nanos(), 3'000);
  ASSERT_EQ(change.nodes_size(), 3);
  EXPECT_EQ(change.nodes(0).added().id(), "new");
  EXPECT_EQ(change.nodes(1).updated().id(), "old");
  EXPECT_EQ(change.nodes(1).updated().weight(), 2u);
  EXPECT_EQ(change.nodes(2).removed(), "gone");
}

TEST(Responses, EveryOtherEventHasItsMessage) {
  const v1::WatchResponse ring_in_sync = Message(RingInSync{.ring = "r", .version = {7, 9}});
  ASSERT_EQ(ring_in_sync.event_case(), Event::kInSync);
  EXPECT_EQ(ring_in_sync.in_sync().ring(), "r");
  EXPECT_EQ(VersionText(ring_in_sync.in_sync().version()), "7/9");

  const v1::WatchResponse stream_in_sync = Message(StreamInSync{});
  ASSERT_EQ(stream_in_sync.event_case(), Event::kInSync);
  EXPECT_FALSE(stream_in_sync.in_sync().has_ring());
  EXPECT_FALSE(stream_in_sync.in_sync().has_version());

  const v1::WatchResponse heartbeat = Message(Heartbeat{.moved = {{"a", {1, 2}}, {"b", {3, 4}}}});
  ASSERT_EQ(heartbeat.event_case(), Event::kHeartbeat);
  ASSERT_EQ(heartbeat.heartbeat().moved_size(), 2);
  EXPECT_EQ(heartbeat.heartbeat().moved(1).ring(), "b");
  EXPECT_EQ(VersionText(heartbeat.heartbeat().moved(1).version()), "3/4");
  EXPECT_EQ(Message(Heartbeat{}).event_case(), Event::kHeartbeat) << "one that says nothing is still one";

  const v1::WatchResponse reconnect = Message(Reconnect{.within = std::chrono::seconds(30)});
  ASSERT_EQ(reconnect.event_case(), Event::kReconnect);
  EXPECT_EQ(reconnect.reconnect().within().seconds(), 30);

  const v1::WatchResponse absent = Message(Absent{.ring = "r"});
  ASSERT_EQ(absent.event_case(), Event::kAbsent);
  EXPECT_EQ(absent.absent().ring(), "r");

  const v1::WatchResponse deleted = Message(Deleted{.ring = "r", .version = {7, 9}});
  ASSERT_EQ(deleted.event_case(), Event::kDeleted);
  EXPECT_EQ(deleted.deleted().ring(), "r");
  EXPECT_EQ(VersionText(deleted.deleted().version()), "7/9");
}

}  // namespace
}  // namespace ringd::server
