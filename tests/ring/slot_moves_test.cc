#include "ring/slot_moves.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/ring/slot_history.h"

namespace ringd::ring {
namespace {

constexpr uint32_t kNobody = SlotTable::kNobody;
constexpr uint32_t kSlots = 1024;

SlotTable TableOf(std::vector<uint32_t> places) { return SlotTable(10, 1, std::move(places)); }

std::vector<NodePtr> Named(const std::vector<std::string>& ids) {
  std::vector<NodePtr> nodes;
  for (const std::string& id : ids) {
    Node node;
    node.id = id;
    nodes.push_back(std::make_shared<const Node>(std::move(node)));
  }
  return nodes;
}

TEST(SlotMoves, AreRunsOfSlotsThatHadAndHaveTheSamePlaces) {
  std::vector<uint32_t> places(kSlots, 0);
  for (size_t slot = 512; slot < kSlots; ++slot) places[slot] = 1;
  const SlotTable before = TableOf(places);
  for (size_t slot = 510; slot < 514; ++slot) places[slot] = 2;  // one part was node a's, one was node b's
  places[kSlots - 1] = 0;
  const SlotTable after = TableOf(places);

  const SlotMoves moves = MovesBetween(before, Named({"a", "b"}), after, Named({"a", "b", "c", "d"}));
  EXPECT_EQ(moves.nodes, (std::vector<std::string>{"a", "b", "c"})) << "those that had or have one of the slots";
  EXPECT_EQ(moves.runs, (std::vector<SlotMoves::Run>{{510, 511}, {512, 513}, {1023, 1023}}));
  EXPECT_EQ(moves.before, (std::vector<uint32_t>{0, 1, 1}));
  EXPECT_EQ(moves.after, (std::vector<uint32_t>{2, 2, 0}));
  const auto applied = ApplyMoves(before, Named({"a", "b"}), Named({"a", "b", "c", "d"}), moves);
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(*applied, after);
}

// Node b goes, so node c becomes the second: none of its slots moves for that.
TEST(SlotMoves, AreNotMadeByOtherIndices) {
  std::vector<uint32_t> places(kSlots, 2);
  places[7] = 1;
  std::vector<uint32_t> now(kSlots, 1);
  now[7] = 0;
  const SlotMoves moves = MovesBetween(TableOf(places), Named({"a", "b", "c"}), TableOf(now), Named({"a", "c"}));
  EXPECT_EQ(moves.runs, (std::vector<SlotMoves::Run>{{7, 7}}));
  EXPECT_EQ(moves.nodes, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(moves.before, std::vector<uint32_t>{1});
  EXPECT_EQ(moves.after, std::vector<uint32_t>{0});
}

TEST(SlotMoves, NameTheSlotsOfTheLastNodeThatGoes) {
  const SlotTable before = TableOf(std::vector<uint32_t>(kSlots, 0));
  const SlotMoves moves = MovesBetween(before, Named({"a"}), SlotTable(10, 1), {});
  EXPECT_EQ(moves.runs, (std::vector<SlotMoves::Run>{{0, kSlots - 1}}));
  EXPECT_EQ(moves.after, std::vector<uint32_t>{kNobody});
  EXPECT_EQ(*ApplyMoves(before, Named({"a"}), {}, moves), SlotTable(10, 1));
}

TEST(SlotMoves, LeadFromATableToTheNextAndBack) {
  std::vector<SlotState> states = {Levelled(12, 3, EqualNodes(20, 4))};
  std::vector<SlotMoves> changes;
  const auto change = [&](const SlotNodes& nodes) {
    const SlotState& before = states.back();
    const SlotState after = before.With(nodes);
    changes.push_back(MovesBetween(before.table, NodePtrsOf(before.nodes), after.table, NodePtrsOf(nodes)));
    EXPECT_FALSE(changes.back().runs.empty());
    EXPECT_EQ(*ApplyMoves(before.table, NodePtrsOf(before.nodes), NodePtrsOf(nodes), changes.back()), after.table);
    states.push_back(after);
  };
  SlotNodes nodes = states.back().nodes;
  nodes.erase(3);
  nodes[9].weight = 0;
  nodes[40] = {.weight = 250, .zone = 2};
  change(nodes);
  nodes[3] = {.weight = 30, .zone = 1};
  change(nodes);
  nodes.erase(40);
  change(nodes);
  const std::vector<NodePtr> now = NodePtrsOf(nodes);
  EXPECT_TRUE(MovesBetween(states.back().table, now, states.back().table, now).runs.empty());

  SlotRewind rewind(states.back().table, now);
  for (size_t i = changes.size(); i-- > 0;) {
    ASSERT_TRUE(rewind.Undo(changes[i]).ok());
    const auto back = ApplyMoves(states.back().table, now, NodePtrsOf(states[i].nodes), rewind.Moves());
    ASSERT_TRUE(back.ok()) << back.status();
    EXPECT_EQ(*back, states[i].table) << "as it was " << changes.size() - i << " changes ago";
  }
}

TEST(SlotMoves, ThatDoNotFitAreRefused) {
  const SlotTable before(10, 1, std::vector<uint32_t>(kSlots, 0));
  const auto error = [&](const SlotMoves& moves, const std::vector<std::string>& after = {"a", "b"}) {
    return std::string(ApplyMoves(before, Named({"a"}), Named(after), moves).status().message());
  };
  const auto moves = [](std::vector<SlotMoves::Run> runs, std::vector<uint32_t> after) {
    SlotMoves made;
    made.nodes = {"a", "b"};
    made.runs = std::move(runs);
    made.before.assign(after.size(), 0);
    made.after = std::move(after);
    return made;
  };
  EXPECT_EQ(error(moves({{3, 4}, {5, 9}}, {1, 1})), "");
  EXPECT_EQ(error(moves({{3, 4}, {4, 9}}, {1, 1})), "slots 4..9 are out of order, or out of 0..1023");
  EXPECT_EQ(error(moves({{4, 3}}, {1})), "slots 4..3 are out of order, or out of 0..1023");
  EXPECT_EQ(error(moves({{4, 1024}}, {1})), "slots 4..1024 are out of order, or out of 0..1023");
  EXPECT_EQ(error(moves({{4, UINT32_MAX}}, {1})), "slots 4..4294967295 are out of order, or out of 0..1023");
  EXPECT_EQ(error(moves({{4, 5}}, {2})), "slot moves name node 2 of 2");
  EXPECT_EQ(error(moves({{4, 5}}, {1}), {"a"}), "slot 4 moves to a node that is gone");
  EXPECT_EQ(error(moves({{4, 5}}, {kNobody})), "slot 4 has no owner, as others have");
  EXPECT_EQ(error(moves({{4, 5}}, {1}), {"b"}), "slots of a node that is gone did not move");
  EXPECT_EQ(error(moves({{4, 5}}, {1, 1})),
            "slot moves of 1 owners with 2 and 2 places for 1 runs, in a table of 1 owners");
  SlotMoves of_two = moves({{4, 5}}, {1, kNobody});
  of_two.owners = 2;
  EXPECT_EQ(error(of_two), "slot moves of 2 owners with 2 and 2 places for 1 runs, in a table of 1 owners");
  SlotRewind rewind(before, Named({"a"}));
  EXPECT_FALSE(rewind.Undo(moves({{4, 1024}}, {1})).ok());
}

}  // namespace
}  // namespace ringd::ring
