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

TEST(SlotMoves, AreRunsOfSlotsThatHadAndHaveTheSamePlaces) {
  std::vector<uint32_t> places(kSlots, 0);
  for (size_t slot = 512; slot < kSlots; ++slot) places[slot] = 1;
  const SlotTable before = TableOf(places);
  for (size_t slot = 510; slot < 514; ++slot) places[slot] = 2;  // one part was node 0's, one was node 1's
  places[kSlots - 1] = 0;
  const SlotTable after = TableOf(places);

  const SlotMoves moves = MovesBetween(before, std::vector<uint32_t>{0, 1}, after);
  EXPECT_EQ(moves.runs, (std::vector<SlotMoves::Run>{{510, 511}, {512, 513}, {1023, 1023}}));
  EXPECT_EQ(moves.before, (std::vector<uint32_t>{0, 1, 1}));
  EXPECT_EQ(moves.after, (std::vector<uint32_t>{2, 2, 0}));
  const absl::StatusOr<SlotTable> applied = ApplyMoves(before, std::vector<uint32_t>{0, 1}, 3, moves);
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(*applied, after);
}

// Node 1 goes, so node 2 becomes node 1: none of its slots moves for that.
TEST(SlotMoves, AreNotMadeByOtherIndices) {
  std::vector<uint32_t> places(kSlots, 2);
  places[7] = 1;
  const SlotTable before = TableOf(places);
  std::vector<uint32_t> now(kSlots, 1);
  now[7] = 0;
  const std::vector<uint32_t> new_index = {0, kNobody, 1};
  const SlotMoves moves = MovesBetween(before, new_index, TableOf(now));
  EXPECT_EQ(moves.runs, (std::vector<SlotMoves::Run>{{7, 7}}));
  EXPECT_EQ(moves.before, std::vector<uint32_t>{1}) << "by the index before";
  EXPECT_EQ(moves.after, std::vector<uint32_t>{0}) << "by the index after";
}

TEST(SlotMoves, NameTheSlotsOfTheLastNodeThatGoes) {
  const SlotTable before = TableOf(std::vector<uint32_t>(kSlots, 0));
  const SlotMoves moves = MovesBetween(before, std::vector<uint32_t>{kNobody}, SlotTable(10, 1));
  EXPECT_EQ(moves.runs, (std::vector<SlotMoves::Run>{{0, kSlots - 1}}));
  EXPECT_EQ(moves.after, std::vector<uint32_t>{kNobody});
  EXPECT_EQ(*ApplyMoves(before, std::vector<uint32_t>{kNobody}, 0, moves), SlotTable(10, 1));
}

TEST(SlotMoves, LeadFromATableToTheNext) {
  const SlotState before = Levelled(12, 3, EqualNodes(20, 4));
  SlotNodes nodes = before.nodes;
  nodes.erase(3);
  nodes[9].weight = 0;
  nodes[40] = {.weight = 250, .zone = 2};
  const SlotState after = before.With(nodes);
  const std::vector<uint32_t> new_index = NewIndex(before.nodes, nodes);
  const SlotMoves moves = MovesBetween(before.table, new_index, after.table);
  EXPECT_FALSE(moves.runs.empty());
  EXPECT_EQ(*ApplyMoves(before.table, new_index, nodes.size(), moves), after.table);
  EXPECT_TRUE(MovesBetween(after.table, NewIndex(nodes, nodes), after.table).runs.empty());
}

TEST(SlotMoves, ThatDoNotFitAreRefused) {
  const SlotTable before(10, 1, std::vector<uint32_t>(kSlots, 0));
  const auto error = [&](const SlotMoves& moves, uint32_t new_index = 0) {
    return std::string(ApplyMoves(before, std::vector<uint32_t>{new_index}, 2, moves).status().message());
  };
  const auto moves = [](std::vector<SlotMoves::Run> runs, std::vector<uint32_t> after) {
    SlotMoves made;
    made.runs = std::move(runs);
    made.after = std::move(after);
    return made;
  };
  EXPECT_EQ(error(moves({{3, 4}, {5, 9}}, {1, 1})), "");
  EXPECT_EQ(error(moves({{3, 4}, {4, 9}}, {1, 1})), "slots 4..9 are out of order, or out of 0..1023");
  EXPECT_EQ(error(moves({{4, 3}}, {1})), "slots 4..3 are out of order, or out of 0..1023");
  EXPECT_EQ(error(moves({{4, 1024}}, {1})), "slots 4..1024 are out of order, or out of 0..1023");
  EXPECT_EQ(error(moves({{4, UINT32_MAX}}, {1})), "slots 4..4294967295 are out of order, or out of 0..1023");
  EXPECT_EQ(error(moves({{4, 5}}, {2})), "slot 4 names node 2 of 2");
  EXPECT_EQ(error(moves({{4, 5}}, {kNobody})), "slot 4 has no owner, as others have");
  EXPECT_EQ(error(moves({{4, 5}}, {1, 1})), "slot moves of 1 owners with 2 places for 1 runs, in a table of 1 owners");
  EXPECT_EQ(error(moves({{4, 5}}, {1}), kNobody), "slots of a node that is gone did not move");
}

}  // namespace
}  // namespace ringd::ring
