#include "ring/hashed_placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "ring/error.h"
#include "ring/label.h"

namespace ringd::ring {
namespace {

constexpr uint64_t kTop = UINT64_MAX;

std::vector<Point> PointsOf(const PointTable& table) { return {table.points().begin(), table.points().end()}; }

TEST(CheckHashed, ServesTheDefaults) {
  EXPECT_TRUE(CheckHashed(HashedSettings{}).ok());
  HashedSettings settings;
  for (const uint32_t value : {1u, 160u, 65'536u}) {
    settings.points_per_weight = value;
    EXPECT_TRUE(CheckHashed(settings).ok()) << value;
  }
}

// B30 (envoyproxy/envoy#31724): a legal-looking configuration must not make a ring without points.
TEST(CheckHashed, RefusesPointsPerWeightOutOfBounds) {
  HashedSettings settings;
  for (const uint32_t value : {0u, 65'537u, 1u << 31}) {
    settings.points_per_weight = value;
    const absl::Status status = CheckHashed(settings);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(ReasonOf(status), kInvalidField);
    EXPECT_EQ(std::string(status.message()), "points_per_weight " + std::to_string(value) + " is out of 1..65536");
  }
}

absl::Status StatusWith(const std::function<void(HashedSettings&)>& change) {
  HashedSettings settings;
  change(settings);
  return CheckHashed(settings);
}

TEST(CheckHashed, TakesEveryChoice) {
  EXPECT_TRUE(StatusWith([](auto& s) { s.hash = HashFunction::kMd5; }).ok());
  EXPECT_TRUE(StatusWith([](auto& s) { s.label = "{index}/{key}"; }).ok());
  EXPECT_TRUE(StatusWith([](auto& s) { s.match = PointMatch::kStrictlyAfter; }).ok());
  EXPECT_TRUE(StatusWith([](auto& s) { s.tie_rule = TieRule::kLaterJoin; }).ok());
  EXPECT_TRUE(StatusWith([](auto& s) { s.hash_tag = "{}"; }).ok());
  EXPECT_TRUE(StatusWith([](auto& s) { s.label = "{key}", s.points_per_weight = 1; }).ok());
}

TEST(CheckHashed, SaysWhatItDoesNotKnow) {
  const auto refused = [](auto change) {
    const absl::Status status = StatusWith(change);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(ReasonOf(status), kNotServedYet);
    return std::string(status.message());
  };
  EXPECT_EQ(refused([](auto& s) { s.hash = static_cast<HashFunction>(99); }), "hash function 99 is not served yet");
  EXPECT_EQ(refused([](auto& s) { s.match = static_cast<PointMatch>(3); }), "point match 3 is not served yet");
  EXPECT_EQ(refused([](auto& s) { s.tie_rule = static_cast<TieRule>(3); }), "tie rule 3 is not served yet");
}

TEST(CheckHashed, RefusesALabelThatPutsAllPointsInOnePlace) {
  const absl::Status status = StatusWith([](auto& s) { s.label = "node {key}"; });
  EXPECT_EQ(ReasonOf(status), kInvalidField);
  EXPECT_EQ(
      std::string(status.message()),
      "label \"node {key}\" without {index} gives all points of a node one position; points_per_weight must be 1");
  EXPECT_EQ(ReasonOf(StatusWith([](auto& s) { s.label = "{index}"; })), kInvalidField);
  EXPECT_EQ(ReasonOf(StatusWith([](auto& s) { s.hash_tag = "{"; })), kInvalidField);
}

TEST(PointTable, IsEmptyWithoutPoints) {
  EXPECT_EQ(PointTable().size(), 0u);
  EXPECT_EQ(PointTable(std::vector<Point>{}).size(), 0u);
  EXPECT_TRUE(PointTable(std::vector<Point>{}).points().empty());
}

TEST(PointTable, OwnsTheWholeCircleWithOnePoint) {
  for (const uint64_t at : {uint64_t{0}, uint64_t{1}, uint64_t{1} << 63, kTop - 1, kTop}) {
    const PointTable table(std::vector<Point>{Point(at, 3)});
    for (const uint64_t position : {uint64_t{0}, uint64_t{1}, at - 1, at, at + 1, kTop - 1, kTop}) {
      EXPECT_EQ(table.Owner(position), 3u);
      EXPECT_EQ(table.PointAt(position), 0u);
    }
  }
}

// The ring as a table, probed at both ends of the circle, at each point, and right beside it.
//   position  0  10  10  20  top
//   node      4   1   2   3    0
TEST(PointTable, AnswersTheFirstPointAtOrAfter) {
  const PointTable table(std::vector<Point>{Point(10, 2), Point(kTop, 0), Point(20, 3), Point(0, 4), Point(10, 1)});
  EXPECT_EQ(table.Owner(0), 4u);
  EXPECT_EQ(table.Owner(1), 1u);
  EXPECT_EQ(table.Owner(9), 1u);
  EXPECT_EQ(table.Owner(10), 1u);
  EXPECT_EQ(table.Owner(11), 3u);
  EXPECT_EQ(table.Owner(20), 3u);
  EXPECT_EQ(table.Owner(21), 0u);
  EXPECT_EQ(table.Owner(kTop - 1), 0u);
  EXPECT_EQ(table.Owner(kTop), 0u);
  EXPECT_EQ(PointsOf(table),
            (std::vector<Point>{Point(0, 4), Point(10, 1), Point(10, 2), Point(20, 3), Point(kTop, 0)}));
}

// B07 (grpc/grpc-java#13054): a key beyond the last point belongs to the first.
TEST(PointTable, WrapsBeyondTheLastPoint) {
  const PointTable table(std::vector<Point>{Point(10, 5), Point(20, 6)});
  EXPECT_EQ(table.Owner(21), 5u);
  EXPECT_EQ(table.Owner(kTop - 1), 5u);
  EXPECT_EQ(table.Owner(kTop), 5u);
  EXPECT_EQ(table.Owner(0), 5u);
  EXPECT_EQ(table.PointAt(kTop), 0u);
}

// Tables of every shape against a plain search: spread points, few distinct positions, all in one bucket, at the ends.
TEST(PointTable, AgreesWithAPlainSearchWhereverPointsCluster) {
  std::mt19937_64 random(1);
  const auto check = [&](const char* shape, size_t size, auto position_of) {
    std::vector<Point> points;
    for (size_t i = 0; i < size; ++i) points.emplace_back(position_of(), static_cast<uint32_t>(random() % 5));
    const PointTable table(points);
    std::sort(points.begin(), points.end());
    ASSERT_EQ(PointsOf(table), points) << shape << " " << size;
    std::vector<uint64_t> probes = {0, 1, kTop - 1, kTop};
    for (const Point& point : points) {
      probes.insert(probes.end(), {point.position() - 1, point.position(), point.position() + 1, random()});
    }
    for (const uint64_t probe : probes) {
      const auto found =
          std::find_if(points.begin(), points.end(), [&](const Point& p) { return p.position() >= probe; });
      const size_t expected = found != points.end() ? static_cast<size_t>(found - points.begin()) : 0;
      ASSERT_EQ(table.PointAt(probe), expected) << shape << " " << size << " at " << probe;
      ASSERT_EQ(table.Owner(probe), points[expected].node()) << shape << " " << size << " at " << probe;
    }
  };
  for (const size_t size : {1, 2, 3, 4, 5, 7, 8, 9, 31, 64, 65, 300}) {
    check("spread", size, [&] { return random(); });
    check("8 bits", size, [&] { return random() << 56; });
    check("one position", size, [&] { return uint64_t{1} << 40; });
    check("bottom", size, [&] { return random() % 16; });
    check("top", size, [&] { return kTop - random() % 16; });
    check("one bucket", size, [&] { return (uint64_t{1} << 63) + random() % 1000; });
  }
}

TEST(PointTable, MergesWhatComesAndLeavesOutWhatGoes) {
  const PointTable old(std::vector<Point>{Point(10, 0), Point(10, 1), Point(10, 2), Point(20, 1), Point(30, 2)});
  // Node 1 goes, a node comes in before node 0, node 2 gets a point more.
  const std::vector<uint32_t> new_index = {1, PointTable::kGone, 2};
  const PointTable merged = old.Merge(new_index, {Point(40, 0), Point(10, 0), Point(5, 2)});
  EXPECT_EQ(PointsOf(merged),
            (std::vector<Point>{Point(5, 2), Point(10, 0), Point(10, 1), Point(10, 2), Point(30, 2), Point(40, 0)}));
  EXPECT_EQ(merged.Owner(41), 2u);
  EXPECT_EQ(old.size(), 5u) << "the old table stays as it is";
}

TEST(PointTable, MergesToAndFromNothing) {
  const PointTable one = PointTable().Merge({}, {Point(7, 0)});
  EXPECT_EQ(PointsOf(one), (std::vector<Point>{Point(7, 0)}));
  EXPECT_EQ(one.Owner(8), 0u);
  EXPECT_EQ(one.Merge(std::vector<uint32_t>{PointTable::kGone}, {}).size(), 0u);
}

TEST(PointTable, OrdersSharedPositionsByRank) {
  const std::vector<Point> points = {Point(7, 0), Point(7, 1), Point(7, 2), Point(5, 0), Point(9, 1)};
  const std::vector<uint64_t> ranks = {3, 1, 2};
  EXPECT_EQ(PointsOf(PointTable(points, ranks)),
            (std::vector<Point>{Point(5, 0), Point(7, 1), Point(7, 2), Point(7, 0), Point(9, 1)}));
}

TEST(Arcs, SumDistancesToThePointBefore) {
  const PointTable table(std::vector<Point>{Point(10, 0), Point(30, 1), Point(35, 0), Point(35, 1)});
  const std::vector<absl::uint128> arcs = Arcs(table, 3);
  EXPECT_EQ(arcs[1], absl::uint128(20));
  EXPECT_EQ(arcs[0], absl::MakeUint128(1, 0) - 20);
  EXPECT_EQ(arcs[2], absl::uint128(0));
}

TEST(Arcs, GiveTheWholeCircleToTheFirstOfEqualPoints) {
  const PointTable table(std::vector<Point>{Point(9, 1), Point(9, 2), Point(9, 1)});
  EXPECT_EQ(Arcs(table, 3), (std::vector<absl::uint128>{0, absl::MakeUint128(1, 0), 0}));
  EXPECT_EQ(Arcs(PointTable(), 2), (std::vector<absl::uint128>{0, 0}));
}

// B12 (uber-node/ringpop-node#241): key and index are joined so that no two (key, index) share a label.
TEST(DefaultLabel, NeverGluesTwoPointsTogether) {
  const LabelTemplate label(kDefaultLabel);
  EXPECT_FALSE(label.MayGlue());
  for (const std::vector<std::string>& keys : {std::vector<std::string>{"s1:1", "s1:11", "s2:2", "s2:5"},
                                               {"a1", "a", "a11", "a111"},
                                               {"a#1", "a", "a#", "#"}}) {
    std::set<std::string> labels;
    for (const std::string& key : keys) {
      NodeLabels of_key(label, key);
      for (uint32_t i = 0; i < 100; ++i) labels.emplace(of_key.At(i));
    }
    EXPECT_EQ(labels.size(), 400u);
  }
}

// Few positions, so that points meet, and now and then all of them at one.
TEST(ArcsAfterAdding, AreThoseOfTheWholeTable) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2'000; ++round) {
    const uint64_t positions = 1 + random() % 12;
    const auto position = [&] { return (random() % positions) * 0x1111'1111'1111'1111u; };
    const auto nodes = static_cast<uint32_t>(1 + random() % 4);
    std::vector<Point> points;
    for (uint32_t node = 0; node < nodes; ++node) points.emplace_back(position(), node);
    const PointTable before(points);
    // Another node comes in somewhere in the order of ids.
    const auto place = static_cast<uint32_t>(random() % (nodes + 1));
    std::vector<uint32_t> new_index;
    for (uint32_t node = 0; node < nodes; ++node) new_index.push_back(node + (node >= place ? 1 : 0));
    std::vector<Point> added;
    std::vector<uint64_t> added_at;
    for (uint64_t count = random() % 5; count > 0; --count) {
      added_at.push_back(position());
      added.emplace_back(added_at.back(), place);
    }
    const PointTable after = before.Merge(new_index, added);
    ASSERT_EQ(ArcsAfterAdding(before, Arcs(before, nodes), new_index, added_at, after, nodes + 1),
              Arcs(after, nodes + 1))
        << "round " << round;
  }
}

}  // namespace
}  // namespace ringd::ring
