// What a node asks of its copy about ranges, against the owners of single values: in rings of every placement, over
// random histories. Seeds are fixed; a failure prints the placement and the step.
#include "ringd/ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "client/local/ring_copy.h"
#include "tests/client/local/ring_history.h"
#include "tests/ring/ring_builder.h"

namespace ringd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using CopyPtr = std::shared_ptr<const RingCopy>;

CopyPtr CopyOf(const ring::Ring& ring, uint64_t revision = 1) {
  return MakeCopy(std::make_shared<const HeldRing>(HeldRing{.version = {1, revision}, .ring = ring}), nullptr);
}

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

  RingHistory history_{Placements()[GetParam()].second, GetParam() + 1};
};

// The ranges of all nodes are the whole circle, each value once, and of the value's owner.
TEST_P(RangesOfCopies, WhatANodeOwns) {
  for (int step = 0; step < kSteps; ++step) {
    SCOPED_TRACE(step);
    const CopyPtr copy = CopyOf(history_.Step());
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
    const CopyPtr after = CopyOf(history_.Step());
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
    const CopyPtr copy = CopyOf(history_.Step());
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
