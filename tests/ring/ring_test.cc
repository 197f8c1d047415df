#include "ring/ring.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ring/error.h"
#include "tests/ring/ring_builder.h"

namespace ringd::ring {
namespace {

struct Refusal {
  absl::StatusCode code;
  std::string reason;
  std::string text;

  bool operator==(const Refusal&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Refusal& refusal) {
  return out << absl::StatusCodeToString(refusal.code) << " " << refusal.reason << ": " << refusal.text;
}

// What the ring says to operations that it must refuse.
Refusal RefusalOf(const Ring& ring, const std::vector<Operation>& operations, const Limits& limits = {}) {
  const absl::StatusOr<Applied> applied = ring.Apply(operations, limits);
  EXPECT_FALSE(applied.ok());
  const absl::Status status = applied.status();
  return {status.code(), ReasonOf(status), std::string(status.message())};
}

AddNode AddWithHashKey(const std::string& id, const std::string& hash_key) {
  AddNode add = Add(id);
  add.node.hash_key = hash_key;
  return add;
}

TEST(RingCreate, MakesAnEmptyRing) {
  const Ring ring = EmptyRing(Settings{});
  EXPECT_EQ(ring.node_count(), 0u);
  EXPECT_EQ(ring.point_count(), 0u);
  EXPECT_EQ(ring.total_weight(), 0u);
  EXPECT_EQ(ring.next_join_number(), 1u);
  EXPECT_EQ(ring.table()->BalanceOfNodes().max_ratio, 0.0);
  EXPECT_EQ(ring.Find("n1"), 0u);
}

TEST(RingCreate, RefusesSettingsThatAreNotServed) {
  const Settings settings{.placement = HashedSettings{.hash_tag = "{"}};
  EXPECT_EQ(Ring::Create(settings, {}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(RingCreate, RefusesNodesThatBreakItsInvariants) {
  const auto status_of = [](std::vector<Node> nodes) { return Ring::Create(Settings{}, std::move(nodes)).status(); };
  Node a = Add("a").node;
  a.hash_key = "k";
  Node b = Add("b").node;
  b.hash_key = "k";
  Node unnamed = Add("").node;
  unnamed.hash_key = "u";
  EXPECT_EQ(std::string(status_of({a, b}).message()),
            "ring cannot be built: hash_key \"k\" of node \"b\" is taken by node \"a\"");
  EXPECT_EQ(std::string(status_of({a, a}).message()), "ring cannot be built: two nodes have the id \"a\"");
  EXPECT_EQ(std::string(status_of({unnamed}).message()), "ring cannot be built: a node has no id");
  EXPECT_EQ(std::string(status_of({Add("c").node}).message()), "ring cannot be built: node \"c\" has no hash_key");
  EXPECT_EQ(status_of({a, b}).code(), absl::StatusCode::kInternal);
}

TEST(RingCreate, RefusesMorePointsThanATableCanHoldBeforeTakingMemory) {
  Settings settings = SettingsOf(65'536);
  Node huge = Add("huge", 1u << 31).node;
  huge.hash_key = "huge";
  const absl::Status status = Ring::Create(settings, {huge}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(std::string(status.message()), "140737488355328 points are over the limit of 4294967295");
}

TEST(RingApply, AddsNodesInOrderOfId) {
  const Ring empty = EmptyRing(SettingsOf(10));
  const Applied applied = Change(empty, {Add("b", 2), Add("a", 3), Add("c", 0)});
  const Ring& ring = applied.ring;
  ASSERT_EQ(ring.node_count(), 3u);
  EXPECT_EQ(ring.node(0).id, "a");
  EXPECT_EQ(ring.node(1).id, "b");
  EXPECT_EQ(ring.node(2).id, "c");
  EXPECT_EQ(ring.node(0).hash_key, "a");
  EXPECT_EQ(ring.node(1).join_number, 1u) << "in the order of the operations";
  EXPECT_EQ(ring.node(0).join_number, 2u);
  EXPECT_EQ(ring.next_join_number(), 4u);
  EXPECT_EQ(ring.total_weight(), 5u);
  EXPECT_EQ(ring.point_count(), 50u);
  EXPECT_EQ(ring.Find("b"), 1u);
  EXPECT_EQ(ring.Find("bb"), 3u);
  ASSERT_EQ(applied.deltas.size(), 3u);
  EXPECT_EQ(applied.deltas[0].before, nullptr);
  EXPECT_EQ(applied.deltas[0].after->id, "a");
  EXPECT_EQ(empty.node_count(), 0u) << "the old ring stays as it is";
}

TEST(RingApply, FillsInTheDefaultWeight) {
  const Ring empty = EmptyRing(SettingsOf(2, 100));
  AddNode add = Add("a", 7);
  add.default_weight = true;
  const Ring ring = With(empty, {add});
  EXPECT_EQ(ring.node(0).weight, 100u);
  UpdateNode update = Reweigh("a", 3);
  EXPECT_EQ(With(ring, {update}).node(0).weight, 3u);
  update.default_weight = true;
  EXPECT_EQ(With(With(ring, {Reweigh("a", 3)}), {update}).node(0).weight, 100u);
}

TEST(RingApply, SetsTheFieldsThatHaveAValue) {
  AddNode add = Add("a", 2, "z1");
  add.node.address = "h:1";
  add.node.metadata = {{"k", "v"}};
  const Ring ring = With(EmptyRing(SettingsOf(4)), {add});
  UpdateNode update;
  update.id = "a";
  update.zone = "z2";
  const Applied applied = Change(ring, {update});
  Node expected = ring.node(0);
  expected.zone = "z2";
  EXPECT_EQ(applied.ring.node(0), expected);
  ASSERT_EQ(applied.deltas.size(), 1u);
  EXPECT_EQ(*applied.deltas[0].before, ring.node(0));
  EXPECT_EQ(*applied.deltas[0].after, expected);
  EXPECT_NE(applied.ring.checksum(), ring.checksum());
  EXPECT_EQ(&applied.ring.points(), &ring.points()) << "shared: no point moved";

  update.address = "h:2";
  update.metadata.emplace();
  update.weight = 0;
  const Ring cleared = With(ring, {update});
  EXPECT_EQ(cleared.node(0).address, "h:2");
  EXPECT_TRUE(cleared.node(0).metadata.empty());
  EXPECT_EQ(cleared.node(0).weight, 0u);
  EXPECT_EQ(cleared.point_count(), 0u);
}

TEST(RingApply, SharesNodesBetweenVersions) {
  const Ring ring = RingOf(4, {"a", "b", "c"});
  const Ring next = With(ring, {Remove("b")});
  EXPECT_EQ(next.table()->nodes[1], ring.table()->nodes[2]);
}

TEST(RingApply, LeavesNoDeltaWhereNothingChanges) {
  const Ring ring = RingOf(4, {"a", "b"});
  UpdateNode same_address;
  same_address.id = "b";
  same_address.address = "";
  const Applied applied = Change(ring, {Reweigh("a", 1), same_address});
  EXPECT_TRUE(applied.deltas.empty());
  EXPECT_EQ(applied.ring.table(), ring.table()) << "the very same nodes";
  EXPECT_EQ(&applied.ring.points(), &ring.points());
  EXPECT_EQ(applied.ring.checksum(), ring.checksum());
  EXPECT_TRUE(Change(ring, {}).deltas.empty());
  EXPECT_EQ(Change(ring, {Reweigh("a", 1), Reweigh("b", 2)}).deltas.size(), 1u);
}

TEST(RingApply, GivesAReaddedNodeANewJoinNumber) {
  const Ring ring = RingOf(4, {"a", "b"});
  const Ring without = With(ring, {Remove("a")});
  EXPECT_EQ(without.next_join_number(), 3u);
  const Ring again = With(without, {Add("a")});
  EXPECT_EQ(again.node(0).join_number, 3u);
  EXPECT_EQ(again.next_join_number(), 4u);
  EXPECT_EQ(again.checksum(), ring.checksum()) << "join numbers are no content where ties go by id";
}

TEST(RingApply, PutsANodeJustAsItIs) {
  const Ring ring = RingOf(4, {"a", "b"});
  const Ring without = With(ring, {Remove("a")});
  const Ring back = With(without, {PutNode{.node = ring.node(0)}});
  EXPECT_EQ(NodesOf(back), NodesOf(ring));
  EXPECT_EQ(back.next_join_number(), 3u);
  EXPECT_EQ(back.checksum(), ring.checksum());
  EXPECT_TRUE(Change(ring, {PutNode{.node = ring.node(0)}}).deltas.empty());
  Node later = ring.node(0);
  later.join_number = 9;
  EXPECT_EQ(With(without, {PutNode{.node = later}}).next_join_number(), 10u) << "above every one";
  EXPECT_EQ(With(ring, {PutNode{.node = {.id = "c", .weight = 1}}}).node(2).hash_key, "c");
}

TEST(RingApply, PutsANodeInThePlaceOfTheOneOfItsId) {
  const Ring ring = RingOf(4, {"a", "b"});
  Node other = ring.node(0);
  other.hash_key = "x";
  const Applied applied = Change(ring, {PutNode{.node = other}});
  EXPECT_EQ(*applied.deltas.at(0).before, ring.node(0));
  EXPECT_EQ(applied.ring.node(0), other);
  const Ring built = *Ring::Create(ring.settings(), NodesOf(applied.ring));
  EXPECT_EQ(applied.ring.checksum(), built.checksum()) << "its points are those of its new hash_key";
  other.hash_key = "b";
  EXPECT_EQ(RefusalOf(ring, {PutNode{.node = other}}).reason, "HASH_KEY_TAKEN");
  Node b = ring.node(1);
  b.hash_key = "a";
  const Ring swapped = With(ring, {PutNode{.node = other}, PutNode{.node = b}});
  EXPECT_EQ(swapped.node(0).hash_key, "b");
}

TEST(Ring, GetsAnotherDefaultWeightAndKeepsNodesAndPoints) {
  const Ring ring = RingOf(4, {"a", "b"});
  const Ring next = ring.WithDefaultWeight(7);
  EXPECT_EQ(next.settings().default_weight, 7u);
  EXPECT_EQ(next.table(), ring.table());
  EXPECT_EQ(&next.points(), &ring.points());
  EXPECT_EQ(next.checksum(), Ring::Create(next.settings(), NodesOf(ring))->checksum());
  EXPECT_NE(next.checksum(), ring.checksum());
  EXPECT_EQ(next.WithDefaultWeight(1).checksum(), ring.checksum());
}

TEST(RingApply, NamesNodeAndReasonWhenItRefuses) {
  const Ring ring = RingOf(2, {"a", "b"});
  using Code = absl::StatusCode;
  EXPECT_EQ(RefusalOf(ring, {Remove("n9")}), (Refusal{Code::kNotFound, "NODE_NOT_FOUND", "node \"n9\" not found"}));
  EXPECT_EQ(RefusalOf(ring, {Reweigh("n9", 1)}), (Refusal{Code::kNotFound, "NODE_NOT_FOUND", "node \"n9\" not found"}));
  EXPECT_EQ(RefusalOf(ring, {Add("a")}), (Refusal{Code::kAlreadyExists, "NODE_EXISTS", "node \"a\" already exists"}));
  EXPECT_EQ(RefusalOf(ring, {Remove("a"), Add("a")}),
            (Refusal{Code::kInvalidArgument, "DUPLICATE_OPERATION", "two operations on node \"a\""}));
  EXPECT_EQ(RefusalOf(ring, {Add("")}), (Refusal{Code::kInvalidArgument, "INVALID_FIELD", "node id is empty"}));
}

TEST(RingApply, KeepsHashKeysUnique) {
  const Ring ring = With(EmptyRing(SettingsOf(2)), {AddWithHashKey("b", "x"), Add("c")});
  const auto taken = [](const std::string& text) {
    return Refusal{absl::StatusCode::kAlreadyExists, "HASH_KEY_TAKEN", text};
  };
  EXPECT_EQ(RefusalOf(ring, {AddWithHashKey("a", "x")}), taken("hash_key \"x\" of node \"a\" is taken by node \"b\""));
  EXPECT_EQ(RefusalOf(ring, {AddWithHashKey("a", "c")}), taken("hash_key \"c\" of node \"a\" is taken by node \"c\""));
  EXPECT_EQ(RefusalOf(ring, {Add("x")}), taken("hash_key \"x\" of node \"x\" is taken by node \"b\""));
  EXPECT_EQ(RefusalOf(ring, {AddWithHashKey("d", "y"), AddWithHashKey("e", "y")}),
            taken("hash_key \"y\" of node \"e\" is taken by node \"d\""));
  // Freed and taken in one change.
  const Ring renamed = With(ring, {AddWithHashKey("a", "x"), Remove("b")});
  EXPECT_EQ(renamed.node(0).hash_key, "x");
  EXPECT_EQ(std::vector<Point>(renamed.points().points().begin(), renamed.points().points().end()),
            std::vector<Point>(ring.points().points().begin(), ring.points().points().end()))
      << "the points stay where they are: a node took the place of another";
}

// B28 (nginx/nginx#191): refused before memory is taken.
TEST(RingApply, RefusesOnePastEachLimit) {
  const Ring ring = RingOf(2, {"a", "b"});
  const Limits limits = {.max_nodes = 3, .max_points = 10};
  const auto over = [](const std::string& text) {
    return Refusal{absl::StatusCode::kResourceExhausted, "LIMIT_EXCEEDED", text};
  };
  EXPECT_TRUE(ring.Apply(std::vector<Operation>{Add("c", 3)}, limits).ok());
  EXPECT_EQ(RefusalOf(ring, {Add("c", 4)}, limits), over("12 points are over the limit of 10"));
  EXPECT_EQ(RefusalOf(ring, {Reweigh("a", 5)}, limits), over("12 points are over the limit of 10"));
  EXPECT_EQ(RefusalOf(ring, {Add("c", 0), Add("d", 0)}, limits), over("4 nodes are over the limit of 3"));
  EXPECT_TRUE(ring.Apply(std::vector<Operation>{Add("c", 0), Add("d", 0), Remove("a")}, limits).ok());
  EXPECT_EQ(RefusalOf(ring, {Add("c", UINT32_MAX)}), over("8589934594 points are over the limit of 4194304"));
  EXPECT_EQ(RefusalOf(RingOf(65'536, {"a"}), {Reweigh("a", 65)}), over("4259840 points are over the limit of 4194304"));
}

TEST(RingApply, LetsARingShrinkThatIsOverALoweredLimit) {
  const Ring ring = RingOf(2, {"a", "b", "c", "d"});
  const Limits limits = {.max_nodes = 2, .max_points = 4};
  EXPECT_TRUE(ring.Apply(std::vector<Operation>{Remove("a")}, limits).ok());
  UpdateNode move;
  move.id = "a";
  move.address = "h:2";
  EXPECT_TRUE(ring.Apply(std::vector<Operation>{move}, limits).ok());
  EXPECT_FALSE(ring.Apply(std::vector<Operation>{Add("e", 0)}, limits).ok());
  EXPECT_FALSE(ring.Apply(std::vector<Operation>{Reweigh("a", 2)}, limits).ok());
}

TEST(Ring, HoldsOnToNodesWithoutPoints) {
  std::shared_ptr<const NodeTable> table;
  {
    const Ring ring = RingOf(2, {"a"});
    table = ring.table();
  }
  EXPECT_EQ(table->nodes.at(0)->id, "a");
}

TEST(Ring, MeasuresImbalanceAgainstWeights) {
  const Ring one = RingOf(3, {"a"});
  EXPECT_EQ(one.table()->arcs[0], WholeCircle());
  EXPECT_EQ(one.table()->ShareOf(0), 1.0);
  EXPECT_EQ(one.table()->BalanceOfNodes().max_ratio, 1.0);
  const Ring ring = With(EmptyRing(SettingsOf(100)), {Add("a", 1), Add("b", 3), Add("c", 0)});
  EXPECT_EQ(ring.table()->ShareOf(2), 0.0);
  EXPECT_NEAR(ring.table()->ShareOf(1), 0.75, 0.06);
  EXPECT_DOUBLE_EQ(ring.table()->BalanceOfNodes().max_ratio,
                   std::max(ring.table()->ShareOf(0) / 0.25, ring.table()->ShareOf(1) / 0.75));
}

TEST(WeightTaken, CountsRemovedAndLoweredAndNothingElse) {
  const Ring ring = With(EmptyRing(SettingsOf(1)), {Add("a", 5), Add("b", 7), Add("c", 1)});
  EXPECT_EQ(WeightTaken(Change(ring, {Remove("a"), Reweigh("b", 3), Reweigh("c", 9), Add("d", 50)}).deltas), 5u + 4u);
  EXPECT_EQ(WeightTaken(Change(ring, {Reweigh("c", 2)}).deltas), 0u);
  EXPECT_EQ(WeightTaken({}), 0u);
}

}  // namespace
}  // namespace ringd::ring
