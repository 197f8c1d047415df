#include "ring/slot_target.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ringd::ring {
namespace {

std::vector<SlotNode> Weighing(const std::vector<uint32_t>& weights) {
  std::vector<SlotNode> members;
  for (const uint32_t weight : weights) members.push_back({.weight = weight, .zone = 0});
  return members;
}

TEST(OwnerQuotas, AreSharesRoundedByTheLargerRemainder) {
  const std::vector<uint32_t> none(4);
  // 1024 * w / 10: 102.4, 204.8, 307.2, 409.6
  EXPECT_EQ(OwnerQuotas(1024, Weighing({1, 2, 3, 4}), none), (std::vector<uint32_t>{102, 205, 307, 410}));
  // 341.3 each: by index
  EXPECT_EQ(OwnerQuotas(1024, Weighing({7, 0, 7, 7}), none), (std::vector<uint32_t>{342, 0, 341, 341}));
  EXPECT_EQ(OwnerQuotas(1024, Weighing({0, 0, 0, 0}), none), none);
}

TEST(OwnerQuotas, AreRoundedUpWhereThatSavesAMove) {
  const std::vector<uint32_t> held = {341, 0, 341, 342};
  EXPECT_EQ(OwnerQuotas(1024, Weighing({7, 0, 7, 7}), held), held);
  // 102.4, 204.8, 307.2, 409.6: those with most to lose have the smaller remainders.
  EXPECT_EQ(OwnerQuotas(1024, Weighing({1, 2, 3, 4}), std::vector<uint32_t>{500, 0, 500, 24}),
            (std::vector<uint32_t>{103, 204, 308, 409}));
}

TEST(OwnerQuotas, HaveNoneForAShareOfLessThanASlotThatIsRoundedDown) {
  const std::vector<uint32_t> quotas =
      OwnerQuotas(1024, Weighing(std::vector<uint32_t>(3000, 9)), std::vector<uint32_t>(3000));
  for (size_t node = 0; node < quotas.size(); ++node) EXPECT_EQ(quotas[node], node < 1024 ? 1u : 0u);
}

std::string TargetsOf(size_t owners, const std::vector<SlotNode>& members) {
  std::string text;
  for (const MemberTarget& target : MemberTargets(1000, SpreadOf(owners, members), members)) {
    text += std::to_string(target.least);
    if (target.most != target.least) text += ".." + std::to_string(target.most);
    text += " ";
  }
  return text;
}

TEST(MemberTargets, AreInProportionToWeight) {
  EXPECT_EQ(TargetsOf(3, Weighing({1, 1, 1, 1})), "750 750 750 750 ");
  EXPECT_EQ(TargetsOf(2, Weighing({1, 2, 3, 0})), "333..334 666..667 1000 0 ");
}

TEST(MemberTargets, StopAtEverySlot) {
  EXPECT_EQ(TargetsOf(3, Weighing({100, 1, 1, 1})), "1000 666..667 666..667 666..667 ");
  EXPECT_EQ(TargetsOf(3, Weighing({100, 0, 7})), "1000 0 1000 ") << "fewer nodes than places";
  EXPECT_EQ(TargetsOf(2, Weighing({0})), "0 ");
}

// Three zones, and three members from three zones: each zone is in every slot.
TEST(MemberTargets, GiveWayToZones) {
  EXPECT_EQ(TargetsOf(3, {{1, 0}, {1, 1}, {1, 1}, {1, 2}, {3, 2}}), "1000 500 500 250 750 ");
  // Two members: zone 2 would have 2 * 4 / 7 of the slots by its weight, and has no more than one member in each.
  EXPECT_EQ(TargetsOf(2, {{1, 0}, {1, 1}, {1, 1}, {1, 2}, {3, 2}}), "333..334 333..334 333..334 250 750 ");
  // Nine of ten weights are in zone 0, and half of the members.
  EXPECT_EQ(TargetsOf(2, {{9, 0}, {9, 0}, {1, 1}, {1, 2}}), "500 500 500 500 ");
  // Three members from two zones: zone 1 is in every slot, and the rest is zone 0's.
  EXPECT_EQ(TargetsOf(3, {{9, 0}, {9, 0}, {9, 0}, {1, 1}, {1, 1}}), "666..667 666..667 666..667 500 500 ");
}

}  // namespace
}  // namespace ringd::ring
