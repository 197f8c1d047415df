// What a node asks of its copy about ranges, against the owners of single values: in rings of every placement, over
// random histories. Seeds are fixed; a failure prints the placement and the step.
#include "ringd/ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "client/local/ring_copy.h"
#include "tests/ring/ring_builder.h"

namespace ringd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using CopyPtr = std::shared_ptr<const RingCopy>;

constexpr uint32_t kDefaultWeight = 3;

CopyPtr CopyOf(const ring::Ring& ring, uint64_t revision = 1) {
  return MakeCopy(std::make_shared<const HeldRing>(HeldRing{.version = {1, revision}, .ring = ring}), nullptr);
}

const std::vector<std::pair<std::string, ring::Placement>>& Placements() {
  static const auto placements = [] {
    using ring::HashFunction;
    std::vector<std::pair<std::string, ring::Placement>> all = {
        {"hashed", ring::HashedSettings{.points_per_weight = 9}},
        // Of 16 bits, so that points meet.
        {"hashed_crc16",
         ring::HashedSettings{
             .hash = HashFunction::kCrc16, .points_per_weight = 40, .tie_rule = ring::TieRule::kLaterJoin}},
        {"strictly_after",
         ring::HashedSettings{.hash = HashFunction::kCrc32, .match = ring::PointMatch::kStrictlyAfter}},
        {"slots", ring::SlotsSettings{.slot_bits = 10, .hash_tag = "{}"}},
        {"slots_of_three", ring::SlotsSettings{.slot_bits = 10, .owners = 3, .hash_tag = ""}},
        {"slots_of_crc16", ring::SlotsSettings{.slot_bits = 12, .hash = HashFunction::kCrc16, .hash_tag = ""}},
        {"points", ring::PointsSettings{.last_position = 99}},
        {"points_strictly_after",
         ring::PointsSettings{
             .last_position = 999, .match = ring::PointMatch::kStrictlyAfter, .tie_rule = ring::TieRule::kLaterJoin}},
        {"points_of_64_bits", ring::PointsSettings{}},
    };
    for (const ring::PresetTraits& preset : ring::AllPresets()) {
      std::string name(preset.name);
      std::replace(name.begin(), name.end(), '-', '_');
      all.emplace_back(name, ring::DefaultsOf(preset.preset));
    }
    return all;
  }();
  return placements;
}

// A ring that hovers around five nodes.
class History {
 public:
  History(const ring::Placement& placement, uint64_t seed)
      : ring_(ring::EmptyRing({.placement = placement, .default_weight = kDefaultWeight})), random_(seed) {}

  CopyPtr Step() {
    ring_ = ring::IsImported(placement()) ? Import() : Change();
    return CopyOf(ring_, ++revision_);
  }
  const ring::Ring& ring() const { return ring_; }
  uint64_t Below(uint64_t bound) { return random_() % bound; }
  uint64_t RandomValue() {
    const uint64_t last = ring_.keys().circle().last_value();
    return last == UINT64_MAX ? random_() : Below(last + 1);
  }

 private:
  const ring::Placement& placement() const { return ring_.settings().placement; }

  uint32_t RandomWeight() {
    const auto* preset = std::get_if<ring::PresetSettings>(&placement());
    const bool weighted = preset == nullptr || ring::FindPreset(preset->preset)->weighted;
    return weighted ? static_cast<uint32_t>(Below(5)) : Below(3) == 0 ? 0 : kDefaultWeight;
  }
  std::vector<uint64_t> RandomPoints() {
    std::set<uint64_t> points;
    if (std::holds_alternative<ring::PointsSettings>(placement())) {
      for (uint64_t count = Below(8); count > 0; --count) points.insert(RandomValue());
    }
    return {points.begin(), points.end()};
  }
  ring::Node RandomNode() {
    const std::string id = "10.0.0." + std::to_string(++added_) + ":1";
    return {.id = id, .weight = RandomWeight(), .hash_key = id, .points = RandomPoints()};
  }

  ring::Ring Change() {
    if (Below(10) == 0) {  // all go, so that nobody owns anything
      std::vector<ring::Operation> removals;
      for (const ring::NodePtr& node : ring_.table()->nodes) removals.emplace_back(ring::Remove(node->id));
      return ring::With(ring_, removals);
    }
    std::map<std::string, ring::Operation> operations;
    for (uint64_t count = 1 + Below(3); count > 0; --count) {
      if (Below(10) >= ring_.node_count()) {
        const ring::Node node = RandomNode();
        operations.emplace(node.id, ring::AddNode{.node = node});
        continue;
      }
      const std::string& id = ring_.node(Below(ring_.node_count())).id;
      ring::UpdateNode update = ring::Reweigh(id, RandomWeight());
      if (std::holds_alternative<ring::PointsSettings>(placement())) update.points = RandomPoints();
      if (Below(2) == 0) {
        operations.emplace(id, ring::Remove(id));
      } else {
        operations.emplace(id, update);
      }
    }
    std::vector<ring::Operation> list;
    for (const auto& [id, operation] : operations) list.push_back(operation);
    return ring::With(ring_, list);
  }

  // Some of the nodes and some new ones, with slots as runs of any length.
  ring::Ring Import() {
    std::vector<ring::Node> nodes;
    for (const ring::Node& node : ring::NodesOf(ring_)) {
      if (Below(3) > 0) nodes.push_back(node);
    }
    for (uint64_t count = Below(4); count > 0; --count) nodes.push_back(RandomNode());
    const ring::SlotShape shape = *ring::SlotShapeOf(placement());
    std::vector<uint32_t> places((size_t{1} << shape.slot_bits) * shape.owners, ring::SlotTable::kNobody);
    uint64_t owner = 0;
    for (size_t slot = 0; slot < places.size() / shape.owners && !nodes.empty(); ++slot) {
      if (slot == 0 || Below(500) == 0) owner = Below(nodes.size());
      places[slot * shape.owners] = static_cast<uint32_t>(owner);
    }
    auto made = ring::Ring::Create(ring_.settings(), nodes, /*next_join_number=*/1, ring::kUnlimited, places);
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }

  ring::Ring ring_;
  std::mt19937_64 random_;
  uint64_t revision_ = 0;
  uint64_t added_ = 0;
};

using OptionalId = std::optional<std::string>;
OptionalId OwnerAt(const RingCopy& copy, uint64_t value) {
  const Node* owner = nullptr;
  return copy.OwnersAt(value, std::span(&owner, 1)) == 0 ? std::nullopt : OptionalId(owner->id);
}

class RangesOfCopies : public ::testing::TestWithParam<size_t> {
 protected:
  static constexpr int kSteps = 40;

  uint64_t last_value() const { return history_.ring().keys().circle().last_value(); }

  // All values of a small circle; else those where ranges may end, those beside them, and some others.
  void AddProbes(const ring::Ring& ring, std::set<uint64_t>& probes) {
    if (last_value() <= UINT16_MAX) {
      for (uint64_t value = 0; value <= last_value(); ++value) probes.insert(probes.end(), value);
      return;
    }
    const auto add = [&](uint64_t position) {
      const uint64_t value = ring.keys().circle().Value(position);
      probes.insert({value, value == 0 ? 0 : value - 1, value == last_value() ? value : value + 1});
    };
    add(0);
    add(UINT64_MAX);
    for (const ring::Point& point : ring.points().points()) add(point.position());
    for (size_t slot = 0; ring.slots() != nullptr && slot < ring.slots()->slot_count(); ++slot) {
      add(ring.slots()->FirstOf(slot));
    }
    for (int i = 0; i < 200; ++i) probes.insert(history_.RandomValue());
  }

  History history_{Placements()[GetParam()].second, GetParam() + 1};
};

// The ranges of all nodes are the whole circle, each value once, and of the value's owner.
TEST_P(RangesOfCopies, WhatANodeOwns) {
  for (int step = 0; step < kSteps; ++step) {
    SCOPED_TRACE(step);
    const CopyPtr copy = history_.Step();
    std::map<uint64_t, std::pair<KeyRange, std::string>> owned;  // by where they begin
    for (size_t i = 0; i < copy->node_count(); ++i) {
      const std::string& id = copy->node(i).id;
      uint64_t end = 0;
      const std::vector<KeyRange> ranges = OwnedRanges(*copy, id);
      for (const KeyRange& range : ranges) {
        ASSERT_LE(range.first, range.last);
        ASSERT_TRUE(range == ranges.front() || range.first > end + 1) << "in order, and as long as they can be";
        end = range.last;
        ASSERT_TRUE(owned.emplace(range.first, std::pair(range, id)).second);
      }
    }
    ASSERT_EQ(owned.empty(), !history_.ring().HasOwners());
    ASSERT_THAT(OwnedRanges(*copy, "of no ring"), IsEmpty());
    if (owned.empty()) continue;
    ASSERT_EQ(owned.begin()->first, 0u);
    ASSERT_EQ(owned.rbegin()->second.first.last, last_value());
    for (auto at = owned.begin(); std::next(at) != owned.end(); ++at) {
      ASSERT_EQ(at->second.first.last + 1, std::next(at)->first);
    }
    std::set<uint64_t> probes;
    AddProbes(history_.ring(), probes);
    for (const uint64_t value : probes) {
      ASSERT_EQ(std::prev(owned.upper_bound(value))->second.second, OwnerAt(*copy, value)) << value;
    }
  }
}

TEST_P(RangesOfCopies, WhatMovedBetweenTwo) {
  ring::Ring ring_before = history_.ring();
  CopyPtr before = CopyOf(ring_before);
  for (int step = 0; step < kSteps; ++step) {
    SCOPED_TRACE(step);
    const CopyPtr after = history_.Step();
    std::vector<MovedRange> moved;
    const auto keep = [&](const MovedRange& range) { moved.push_back(range); };
    ASSERT_EQ(ForEachMovedRange(*before, *after, keep), absl::OkStatus());
    for (size_t i = 0; i < moved.size(); ++i) {
      ASSERT_LE(moved[i].first, moved[i].last);
      ASSERT_NE(moved[i].from, moved[i].to);
      if (i == 0) continue;
      ASSERT_LT(moved[i - 1].last, moved[i].first);
      const bool touch = moved[i - 1].last + 1 == moved[i].first;
      ASSERT_FALSE(touch && moved[i - 1].from == moved[i].from && moved[i - 1].to == moved[i].to)
          << "as long as they can be";
    }
    std::set<uint64_t> probes;
    AddProbes(ring_before, probes);
    AddProbes(history_.ring(), probes);
    for (const uint64_t value : probes) {
      const auto at = std::ranges::lower_bound(moved, value, {}, &MovedRange::last);
      const bool told = at != moved.end() && at->first <= value;
      const OptionalId from = OwnerAt(*before, value);
      const OptionalId to = OwnerAt(*after, value);
      ASSERT_EQ(told, from != to) << value;
      if (!told) continue;
      ASSERT_EQ(std::pair(at->from, at->to), std::pair(from, to)) << value;
    }

    std::set<std::string> ids = {"of no ring"};
    for (const CopyPtr& copy : {before, after}) {
      for (size_t i = 0; i < copy->node_count(); ++i) ids.insert(copy->node(i).id);
    }
    for (const std::string& id : ids) {
      NodeMoves expected;
      for (const MovedRange& range : moved) {
        if (range.to == id) expected.gained.push_back(range);
        if (range.from == id) expected.lost.push_back(range);
      }
      const absl::StatusOr<NodeMoves> moves = GainedAndLost(*before, *after, id);
      ASSERT_TRUE(moves.ok()) << moves.status();
      ASSERT_EQ(*moves, expected) << id;
    }
    before = after;
    ring_before = history_.ring();
  }
}

TEST_P(RangesOfCopies, WhereAKeyLies) {
  for (int step = 0; step < kSteps; ++step) {
    const CopyPtr copy = history_.Step();
    for (int i = 0; i < 100; ++i) {
      const std::string key = "{user:" + std::to_string(history_.Below(1'000)) + "}.name";
      const std::optional<uint64_t> value = HashOf(*copy, key);
      const Node* owner = copy->Owner(key);
      ASSERT_EQ(value.has_value(), history_.ring().keys().has_hash());
      if (!value.has_value()) continue;
      ASSERT_LE(*value, last_value());
      ASSERT_EQ(owner == nullptr ? std::nullopt : OptionalId(owner->id), OwnerAt(*copy, *value));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RangesOfCopies, ::testing::Range<size_t>(0, Placements().size()),
                         [](const auto& parameter) { return Placements()[parameter.param].first; });

ring::AddNode AddWithPoints(const std::string& id, std::vector<uint64_t> points) {
  ring::AddNode add = ring::Add(id);
  add.node.points = std::move(points);
  return add;
}

// Told by hand: keys belong to the first point at or after them, beyond the last to the first.
TEST(Ranges, OfASmallRing) {
  const ring::Ring empty = ring::EmptyRing({.placement = ring::PointsSettings{.last_position = 99}});
  const ring::Ring two = ring::With(empty, {AddWithPoints("a", {9, 59}), AddWithPoints("b", {29})});
  const ring::Ring three = ring::With(two, {AddWithPoints("c", {4, 49})});
  const CopyPtr before = CopyOf(two);
  const CopyPtr after = CopyOf(three);
  EXPECT_THAT(OwnedRanges(*before, "a"), ElementsAre(KeyRange{0, 9}, KeyRange{30, 99}));
  EXPECT_THAT(OwnedRanges(*before, "b"), ElementsAre(KeyRange{10, 29}));
  EXPECT_THAT(OwnedRanges(*after, "c"), ElementsAre(KeyRange{0, 4}, KeyRange{30, 49}, KeyRange{60, 99}));
  const MovedRange first{.first = 0, .last = 4, .from = "a", .to = "c"};
  const MovedRange second{.first = 30, .last = 49, .from = "a", .to = "c"};
  const MovedRange third{.first = 60, .last = 99, .from = "a", .to = "c"};
  const absl::StatusOr<NodeMoves> of_c = GainedAndLost(*before, *after, "c");
  ASSERT_TRUE(of_c.ok()) << of_c.status();
  EXPECT_THAT(of_c->gained, ElementsAre(first, second, third));
  EXPECT_THAT(of_c->lost, IsEmpty());
  const absl::StatusOr<NodeMoves> of_a = GainedAndLost(*before, *after, "a");
  ASSERT_TRUE(of_a.ok()) << of_a.status();
  EXPECT_THAT(of_a->gained, IsEmpty());
  EXPECT_THAT(of_a->lost, ElementsAre(first, second, third));
  const absl::StatusOr<NodeMoves> from_nobody = GainedAndLost(*CopyOf(empty), *before, "b");
  ASSERT_TRUE(from_nobody.ok()) << from_nobody.status();
  EXPECT_THAT(from_nobody->gained, ElementsAre(MovedRange{.first = 10, .last = 29, .from = {}, .to = "b"}));
}

TEST(Ranges, OfTwoPlacementsCannotBeCompared) {
  const CopyPtr hashed = CopyOf(ring::RingOf(1, {"a"}));
  const CopyPtr slots =
      CopyOf(ring::With(ring::EmptyRing({.placement = ring::SlotsSettings{.slot_bits = 10}}), {ring::Add("a")}), 7);
  const absl::Status compared =
      ForEachMovedRange(*hashed, *slots, [](const MovedRange&) { FAIL() << "nothing is visited"; });
  EXPECT_EQ(compared.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(compared.message().find("of versions 1/1 and 1/7 have different placements"), absl::string_view::npos)
      << compared;
  EXPECT_EQ(GainedAndLost(*hashed, *slots, "a").status(), compared);
}

// It is no part of the placement.
TEST(Ranges, ADefaultWeightMovesNothing) {
  const ring::Ring ring = ring::RingOf(3, {"a", "b"});
  const absl::StatusOr<NodeMoves> moves = GainedAndLost(*CopyOf(ring), *CopyOf(ring.WithDefaultWeight(7)), "a");
  ASSERT_TRUE(moves.ok()) << moves.status();
  EXPECT_EQ(*moves, NodeMoves());
}

}  // namespace
}  // namespace ringd
