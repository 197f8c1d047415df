#include "client/ringctl/node_difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ringd::ctl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

v1::Node NodeOf(const std::string& id, uint32_t weight) {
  v1::Node node;
  node.set_id(id);
  node.set_weight(weight);
  return node;
}

// A ring of default_weight 100, with nodes as the server tells them.
v1::GetRingResponse RingOf(const std::vector<v1::Node>& nodes) {
  v1::GetRingResponse ring;
  ring.mutable_ring()->set_default_weight(100);
  for (const v1::Node& node : nodes) {
    v1::Node& held = *ring.add_nodes();
    held = node;
    if (held.hash_key().empty()) held.set_hash_key(held.id());
    held.set_join_number(7);
    held.set_share(0.5);
  }
  return ring;
}

NodeFile FileOf(const std::vector<v1::Node>& nodes) {
  NodeFile file{.name = "f.yaml", .entries = {}};
  for (const v1::Node& node : nodes) file.entries.push_back({node, static_cast<int>(file.entries.size()) + 2});
  return file;
}

NodeDifference Difference(const std::vector<v1::Node>& held, const std::vector<v1::Node>& wanted) {
  const absl::StatusOr<NodeDifference> difference = DifferenceOf(RingOf(held), FileOf(wanted));
  EXPECT_TRUE(difference.ok()) << difference.status();
  return difference.ok() ? *difference : NodeDifference();
}

TEST(NodeDifference, OfWhatIsTheSameIsNothing) {
  v1::Node node = NodeOf("b", 5);
  node.set_zone("z");
  (*node.mutable_metadata())["k"] = "v";
  node.add_points(3);
  node.add_points(7);
  v1::Node with_output = node;
  with_output.mutable_points()->SwapElements(0, 1);
  with_output.set_share(0.1);
  with_output.set_join_number(1);
  const NodeDifference difference = Difference({NodeOf("a", 1), node}, {with_output, NodeOf("a", 1)});
  EXPECT_THAT(difference.nodes, IsEmpty());
  EXPECT_THAT(DifferenceRows(difference).cells, IsEmpty());
  EXPECT_EQ(CountText(difference), "");
}

TEST(NodeDifference, HasWhatIsAddedUpdatedAndRemovedInOrderOfId) {
  v1::Node moved = NodeOf("b", 5);
  moved.set_address("new:1");
  const NodeDifference difference =
      Difference({NodeOf("a", 1), NodeOf("b", 4), NodeOf("c", 1)}, {NodeOf("d", 9), moved, NodeOf("c", 1)});
  EXPECT_THAT(
      DifferenceRows(difference).cells,
      ElementsAre(ElementsAre("remove", "a", "weight", "1", ""), ElementsAre("update", "b", "address", "", "new:1"),
                  ElementsAre("update", "b", "weight", "4", "5"), ElementsAre("add", "d", "weight", "", "9")));
  EXPECT_EQ(CountText(difference), "1 added, 1 updated, 1 removed");

  const v1::ApplyChangesRequest request = RequestOf("r", difference);
  EXPECT_EQ(request.ring(), "r");
  ASSERT_EQ(request.operations_size(), 3);
  EXPECT_EQ(request.operations(0).remove().node_id(), "a");
  const v1::UpdateOperation& update = request.operations(1).update();
  EXPECT_EQ(update.node().id(), "b");
  EXPECT_EQ(update.node().address(), "new:1");
  EXPECT_EQ(update.node().weight(), 5u);
  EXPECT_THAT(update.update_mask().paths(), ElementsAre("weight", "address"));
  EXPECT_EQ(request.operations(2).add().node().id(), "d");
  EXPECT_EQ(request.operations(2).add().node().weight(), 9u);
}

TEST(NodeDifference, FieldsThatAreNotWrittenHaveTheirDefaults) {
  v1::Node held = NodeOf("a", 5);
  held.set_address("h:1");
  held.set_zone("z");
  (*held.mutable_metadata())["k"] = "v";
  v1::Node bare;
  bare.set_id("a");
  const NodeDifference difference = Difference({held}, {bare});
  EXPECT_THAT(
      DifferenceRows(difference).cells,
      ElementsAre(ElementsAre("update", "a", "address", "h:1", ""), ElementsAre("update", "a", "metadata.k", "v", ""),
                  ElementsAre("update", "a", "weight", "5", "100"), ElementsAre("update", "a", "zone", "z", "")));
  const v1::UpdateOperation update = RequestOf("r", difference).operations(0).update();
  EXPECT_THAT(update.update_mask().paths(), ElementsAre("weight", "address", "zone", "metadata"));
  EXPECT_EQ(update.node().weight(), 100u);
  EXPECT_TRUE(update.node().metadata().empty());

  EXPECT_EQ(RequestOf("r", Difference({}, {bare})).operations(0).add().node().weight(), 100u);
}

TEST(NodeDifference, AnEmptyTextOfTheMetadataIsNotAMissingOne) {
  v1::Node with_empty = NodeOf("a", 1);
  (*with_empty.mutable_metadata())["k"] = "";
  const NodeDifference difference = Difference({NodeOf("a", 1)}, {with_empty});
  EXPECT_EQ(difference.updated, 1);
  EXPECT_THAT(DifferenceRows(difference).cells, ElementsAre(ElementsAre("update", "a", "metadata.k", "", "")));
}

TEST(NodeDifference, AHashKeyOfANodeThatIsThereCannotChange) {
  v1::Node imported = NodeOf("a", 1);
  imported.set_hash_key("k");
  EXPECT_THAT(Difference({imported}, {imported}).nodes, IsEmpty());
  const absl::Status status = DifferenceOf(RingOf({imported}), FileOf({NodeOf("b", 1), NodeOf("a", 1)})).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "f.yaml:3: node \"a\" has the hash_key \"k\", which cannot be changed to \"a\": write it as it is, or "
            "remove the node first");
}

// The key of a node that leaves is free for one that comes: they change in one step.
TEST(NodeDifference, AHashKeyMayGoToAnotherNode) {
  v1::Node heir = NodeOf("b", 1);
  heir.set_hash_key("a");
  const NodeDifference difference = Difference({NodeOf("a", 1)}, {heir});
  EXPECT_THAT(DifferenceRows(difference).cells,
              ElementsAre(ElementsAre("remove", "a", "weight", "1", ""), ElementsAre("add", "b", "hash_key", "", "a"),
                          ElementsAre("add", "b", "weight", "", "1")));
  EXPECT_EQ(RequestOf("r", difference).operations(1).add().node().hash_key(), "a");
}

}  // namespace
}  // namespace ringd::ctl
