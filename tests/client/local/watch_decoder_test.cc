// What a stream says of a ring's nodes and settings arrives whole.
#include "client/local/watch_decoder.h"

#include <gtest/gtest.h>

namespace ringd {
namespace {

v1::Node NodeMessage(const std::string& id) {
  v1::Node node;
  node.set_id(id);
  node.set_address("h:1");
  node.set_weight(3);
  node.set_zone("z");
  node.set_hash_key("key of " + id);
  (*node.mutable_metadata())["k"] = "v";
  node.set_join_number(17);
  node.set_share(0.5);
  return node;
}

ring::Node NodeValue(const std::string& id) {
  return {.id = id,
          .address = "h:1",
          .weight = 3,
          .zone = "z",
          .hash_key = "key of " + id,
          .metadata = {{"k", "v"}},
          .join_number = 17};
}

RingChange DecodedChange(const v1::WatchResponse& message) { return std::get<RingChange>(Decode(message)); }

TEST(WatchDecoder, TheNodesOfASnapshotHaveTheirJoinNumbers) {
  v1::WatchResponse message;
  message.mutable_snapshot()->mutable_ring()->mutable_placement()->mutable_hashed();
  *message.mutable_snapshot()->add_nodes() = NodeMessage("n");
  const auto chunk = std::get<SnapshotChunk>(Decode(message));
  ASSERT_EQ(chunk.nodes.size(), 1u);
  EXPECT_EQ(chunk.nodes[0], NodeValue("n"));
}

// A node that was updated may have got the hash_key and the join number of an earlier one, by a restore.
TEST(WatchDecoder, NodesThatAreAddedOrUpdatedAreTakenAsTheyAre) {
  v1::WatchResponse message;
  v1::Change& change = *message.mutable_change();
  *change.add_nodes()->mutable_added() = NodeMessage("a");
  *change.add_nodes()->mutable_updated() = NodeMessage("b");
  change.add_nodes()->set_removed("c");
  const RingChange decoded = DecodedChange(message);
  ASSERT_TRUE(decoded.operations.ok()) << decoded.operations.status();
  ASSERT_EQ(decoded.operations->size(), 3u);
  EXPECT_EQ(std::get<ring::PutNode>(decoded.operations->at(0)).node, NodeValue("a"));
  EXPECT_EQ(std::get<ring::PutNode>(decoded.operations->at(1)).node, NodeValue("b"));
  EXPECT_EQ(std::get<ring::RemoveNode>(decoded.operations->at(2)).id, "c");
  EXPECT_FALSE(decoded.default_weight.has_value());
}

TEST(WatchDecoder, ASettingThatACopyNeedsIsTaken) {
  v1::WatchResponse message;
  message.mutable_change()->mutable_ring_update()->set_default_weight(7);
  const RingChange decoded = DecodedChange(message);
  EXPECT_TRUE(decoded.operations.ok()) << decoded.operations.status();
  EXPECT_EQ(decoded.default_weight, 7u);
}

TEST(WatchDecoder, SlotsAreTaken) {
  v1::WatchResponse message;
  v1::SlotMove* move = message.mutable_change()->add_slot_moves();
  move->set_last(3);
  move->add_node_ids("n");
  const RingChange decoded = DecodedChange(message);
  EXPECT_TRUE(decoded.operations.ok()) << decoded.operations.status();
  EXPECT_EQ(decoded.slot_moves.runs, (std::vector<ring::SlotMoves::Run>{{0, 3}}));
  v1::WatchResponse snapshot;
  for (const uint32_t owner : {2u, 0u, 1u}) snapshot.mutable_snapshot()->add_slot_owners(owner);
  EXPECT_EQ(std::get<SnapshotChunk>(Decode(snapshot)).slot_places,
            (std::vector<uint32_t>{1, ring::SlotTable::kNobody, 0}));
}

TEST(WatchDecoder, AChangeOfAnotherKindIsNotGuessed) {
  v1::WatchResponse message;
  v1::SlotMove* move = message.mutable_change()->add_slot_moves();
  for (int i = 0; i < 9; ++i) move->add_node_ids("n");
  EXPECT_FALSE(DecodedChange(message).operations.ok());
  v1::WatchResponse of_node;
  of_node.mutable_change()->add_nodes();
  EXPECT_FALSE(DecodedChange(of_node).operations.ok());
}

}  // namespace
}  // namespace ringd
