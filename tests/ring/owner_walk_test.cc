#include "ring/owner_walk.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/ring/model.h"
#include "tests/ring/ring_builder.h"

namespace ringd::ring {
namespace {

// One point a node, at 10, 20, 30, ... in the order given; ids n0, n1, ...
struct Walk {
  explicit Walk(const std::vector<std::string>& zones) {
    std::vector<Point> points;
    std::vector<NodePtr> nodes;
    for (uint32_t i = 0; i < zones.size(); ++i) {
      nodes.push_back(std::make_shared<const Node>(Add("n" + std::to_string(i), 1, zones[i]).node));
      points.emplace_back((i + 1) * 10, i);
    }
    table = PointTable(points);
    spread = ZoneSpread(nodes, std::vector<bool>(nodes.size(), true));
  }
  std::vector<uint32_t> Owners(uint64_t position, size_t n) const {
    std::vector<uint32_t> owners(n);
    owners.resize(spread.Owners(table, position, owners));
    return owners;
  }

  PointTable table;
  ZoneSpread spread;
};

using Indices = std::vector<uint32_t>;

// B47 (uber/ringpop-go#213): in order of first appearance, clockwise.
TEST(ZoneSpread, WalksInOrderWithoutZones) {
  const Walk circle({"", "", "", ""});
  EXPECT_EQ(circle.Owners(15, 3), (Indices{1, 2, 3}));
  EXPECT_EQ(circle.Owners(35, 3), (Indices{3, 0, 1})) << "past the wrap";
  EXPECT_EQ(circle.Owners(41, 1), (Indices{0}));
  EXPECT_EQ(circle.Owners(15, 0), (Indices{}));
}

TEST(ZoneSpread, TakesOneOfEachZoneBeforeASecondOfAny) {
  const Walk circle({"a", "a", "a", "b", "b", "c"});
  EXPECT_EQ(circle.Owners(0, 2), (Indices{0, 3}));
  EXPECT_EQ(circle.Owners(0, 3), (Indices{0, 3, 5}));
  EXPECT_EQ(circle.Owners(0, 4), (Indices{0, 3, 5, 1}));
  EXPECT_EQ(circle.Owners(0, 5), (Indices{0, 3, 5, 1, 4}));
  EXPECT_EQ(circle.Owners(0, 6), (Indices{0, 3, 5, 1, 4, 2}));
  EXPECT_EQ(circle.Owners(0, 64), (Indices{0, 3, 5, 1, 4, 2}));
}

TEST(ZoneSpread, TreatsNodesWithoutZoneAsOneZone) {
  const Walk circle({"", "", "a", ""});
  EXPECT_EQ(circle.Owners(0, 3), (Indices{0, 2, 1}));
}

TEST(ZoneSpread, IsPrefixStable) {
  const Walk circle({"a", "b", "a", "", "c", "a", "b", ""});
  for (uint64_t position = 0; position < 90; position += 5) {
    const Indices all = circle.Owners(position, 8);
    for (size_t n = 1; n < 8; ++n) {
      EXPECT_EQ(circle.Owners(position, n), Indices(all.begin(), all.begin() + static_cast<long>(n)));
    }
  }
}

// B49 (cortexproject/cortex#5411): 3 zones of 4 nodes, n = 1..13; and one zone of 2.
TEST(ZoneSpread, NeverAnswersFewerThanThereAre) {
  const Walk circle({"a", "a", "a", "a", "b", "b", "b", "b", "c", "c", "c", "c"});
  for (size_t n = 1; n <= 13; ++n) {
    const Indices owners = circle.Owners(25, n);
    ASSERT_EQ(owners.size(), std::min<size_t>(n, 12));
    std::map<uint32_t, size_t> of_zone = {{0, 0}, {1, 0}, {2, 0}};
    for (const uint32_t owner : owners) ++of_zone[owner / 4];
    EXPECT_LE(std::max({of_zone[0], of_zone[1], of_zone[2]}) - std::min({of_zone[0], of_zone[1], of_zone[2]}), 1u);
  }
  EXPECT_EQ(Walk({"a", "a"}).Owners(0, 2), (Indices{0, 1}));
}

TEST(ZoneSpread, FindsAll64) {
  const Walk one_zone(std::vector<std::string>(100, "a"));
  EXPECT_EQ(one_zone.Owners(0, 64).size(), 64u);
  std::vector<std::string> zones;
  for (int i = 0; i < 100; ++i) zones.push_back("z" + std::to_string(i));
  const Indices owners = Walk(zones).Owners(0, 64);
  ASSERT_EQ(owners.size(), 64u);
  EXPECT_EQ(owners[63], 63u);
}

// Nearly all points are those of one node, so that the walk to the others is long.
TEST(ZoneSpread, FindsLightNodesAmongThePointsOfHeavyOnes) {
  Ring ring = EmptyRing(SettingsOf(1));
  std::vector<Operation> operations = {Add("heavy", 60'000, "z1"), Add("heavier", 65'000, "z2")};
  for (int i = 0; i < 70; ++i)
    operations.emplace_back(Add("light-" + std::to_string(i), 1, "z" + std::to_string(i % 4)));
  ring = With(ring, operations);
  const Model model(NodesOf(ring), 1, HashKey);
  for (const uint64_t position : {uint64_t{0}, uint64_t{1} << 63, UINT64_MAX}) {
    for (const size_t n : {2, 5, 64}) EXPECT_EQ(OwnerIds(ring, position, n), model.Owners(position, n)) << n;
  }
}

}  // namespace
}  // namespace ringd::ring
