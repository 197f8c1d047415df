// Laws that hold in rings of every placement, over random histories. Seeds are fixed; a failure prints the placement,
// the seed and the step. What holds for hashed rings with ties by id alone is in ring_property_test.cc.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "ring/movement.h"
#include "ring/ranges.h"
#include "tests/ring/ring_builder.h"

namespace ringd::ring {
namespace {

PresetSettings SmallEnvoy() {
  PresetSettings settings = DefaultsOf(Preset::kEnvoyRingHash);
  settings.minimum_ring_size = 64;
  settings.maximum_ring_size = 512;
  return settings;
}

const std::vector<std::pair<std::string, Placement>>& Placements() {
  static const std::vector<std::pair<std::string, Placement>> placements = {
      {"hashed", HashedSettings{.points_per_weight = 9}},
      // Of 16 bits, so that points meet.
      {"later_join",
       HashedSettings{.hash = HashFunction::kCrc16, .points_per_weight = 40, .tie_rule = TieRule::kLaterJoin}},
      {"strictly_after", HashedSettings{.hash = HashFunction::kCrc16, .match = PointMatch::kStrictlyAfter}},
      {"ketama_weighted", DefaultsOf(Preset::kKetamaWeighted)},
      {"murmur3_weighted", DefaultsOf(Preset::kMurmur3Weighted)},
      {"envoy", SmallEnvoy()},
      {"slots", SlotsSettings{.slot_bits = 10, .hash_tag = ""}},
      {"slots_of_three", SlotsSettings{.slot_bits = 10, .owners = 3, .hash_tag = ""}},
      // A small circle, so that points meet.
      {"points", PointsSettings{.last_position = 99}},
      {"points_of_later_join",
       PointsSettings{.last_position = 999, .match = PointMatch::kStrictlyAfter, .tie_rule = TieRule::kLaterJoin}},
  };
  return placements;
}

class PlacementLaws : public testing::TestWithParam<std::tuple<size_t, uint64_t>> {
 protected:
  PlacementLaws()
      : ring_(EmptyRing({.placement = Placements()[std::get<0>(GetParam())].second, .default_weight = 1})),
        random_(std::get<1>(GetParam())) {}

  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(random_() % bound); }

  // One to three operations on different nodes; the ring hovers around six nodes.
  Applied Step() {
    std::map<std::string, Operation> operations;
    for (uint32_t count = 1 + Below(3); count > 0; --count) {
      if (Below(12) >= ring_.node_count()) {
        const std::string id = "10.0.0." + std::to_string(++added_);
        AddNode add = Add(id, Below(5), Below(3) == 0 ? "" : "z" + std::to_string(Below(3)));
        if (HasOwnPoints()) add.node.points = RandomPoints();
        operations.emplace(id, add);
        continue;
      }
      const std::string id = ring_.node(Below(static_cast<uint32_t>(ring_.node_count()))).id;
      if (Below(2) == 0) {
        operations.emplace(id, Remove(id));
      } else {
        UpdateNode update = Reweigh(id, Below(6));
        if (Below(3) == 0) update.zone = "z" + std::to_string(Below(3));
        if (Below(3) == 0) update.address = "h:" + std::to_string(Below(3));
        if (HasOwnPoints() && Below(3) == 0) update.points = RandomPoints();
        operations.emplace(id, update);
      }
    }
    std::vector<Operation> list;
    for (const auto& [id, operation] : operations) list.push_back(operation);
    Applied applied = Change(ring_, list);
    ring_ = applied.ring;
    return applied;
  }

  bool HasOwnPoints() const { return std::holds_alternative<PointsSettings>(ring_.settings().placement); }
  std::vector<uint64_t> RandomPoints() {
    const auto last = static_cast<uint32_t>(ring_.keys().circle().last_value());
    std::set<uint64_t> points;
    for (uint32_t count = Below(8); count > 0; --count) points.insert(Below(last + 1));
    return {points.rbegin(), points.rend()};
  }

  // That of a random key, where keys have one.
  uint64_t RandomPosition() {
    if (HasOwnPoints()) return random_();
    return ring_.Position("key-" + std::to_string(Below(1'000'000)));
  }

  // Where a ring's owner may be another one than right before, and the end of the circle.
  static std::set<uint64_t> Ends(const Ring& ring) {
    std::set<uint64_t> ends = {UINT64_MAX};
    for (const Point& point : ring.points().points()) ends.insert(point.position());
    if (ring.slots() != nullptr) {
      for (size_t slot = 0; slot < ring.slots()->slot_count(); ++slot) ends.insert(ring.slots()->LastOf(slot));
    }
    return ends;
  }
  static std::string Owner(const Ring& ring, uint64_t position) {
    return ring.HasOwners() ? OwnerId(ring, position) : "";
  }

  Ring ring_;

 private:
  std::mt19937_64 random_;
  int added_ = 0;
};

TEST_P(PlacementLaws, SharesAreWhatKeysMeet) {
  for (int step = 0; step < 25; ++step) {
    Step();
    std::map<std::string, absl::uint128> arcs;
    absl::uint128 begin = 0;
    for (const uint64_t last : Ends(ring_)) {
      arcs[Owner(ring_, last)] += absl::uint128(last) + 1 - begin;
      begin = absl::uint128(last) + 1;
    }
    absl::uint128 sum = 0;
    for (size_t i = 0; i < ring_.node_count(); ++i) {
      ASSERT_EQ(ring_.table()->arcs[i], arcs[ring_.node(i).id]) << "step " << step << ", " << ring_.node(i).id;
      sum += ring_.table()->arcs[i];
      absl::uint128 listed = 0;
      for (const Range& range : RangesOf(ring_, i, 0, SIZE_MAX)) listed += absl::uint128(range.last) - range.first + 1;
      ASSERT_EQ(listed, ring_.table()->arcs[i]) << "step " << step << ", " << ring_.node(i).id;
    }
    ASSERT_EQ(sum, ring_.HasOwners() ? WholeCircle() : absl::uint128(0));
  }
}

TEST_P(PlacementLaws, MovementIsWhatKeysMeet) {
  for (int step = 0; step < 25; ++step) {
    const Ring before = ring_;
    for (uint32_t count = 1 + Below(2); count > 0; --count) Step();
    std::set<uint64_t> ends = Ends(before);
    ends.merge(Ends(ring_));
    std::map<std::pair<std::string, std::string>, absl::uint128> wanted;
    absl::uint128 begin = 0;
    for (const uint64_t last : ends) {
      const std::pair<std::string, std::string> pair(Owner(before, last), Owner(ring_, last));
      if (pair.first != pair.second) wanted[pair] += absl::uint128(last) + 1 - begin;
      begin = absl::uint128(last) + 1;
    }
    std::map<std::pair<std::string, std::string>, absl::uint128> found;
    ForEachMovedRange(before, ring_, [&](const MovedRange& range) {
      found[{range.from == nullptr ? "" : range.from->id, range.to == nullptr ? "" : range.to->id}] +=
          absl::uint128(range.last) - range.first + 1;
    });
    ASSERT_EQ(found, wanted) << "step " << step;
    const Movement movement = Compare(before, ring_);
    ASSERT_EQ(movement.pairs.size(), wanted.size());
    for (const MovedPair& pair : movement.pairs) {
      ASSERT_EQ(pair.share, std::ldexp(static_cast<double>(wanted[{pair.from, pair.to}]), -64));
    }
  }
}

// A copy is told each node as it is, and moves where there are slots; a store keeps nodes and slots.
TEST_P(PlacementLaws, CopiesAndStoresHaveTheSameRing) {
  Ring copy = ring_;
  for (int step = 0; step < 40; ++step) {
    const Applied applied = Step();
    std::vector<Operation> told;
    for (const NodeDelta& delta : applied.deltas) {
      if (delta.after != nullptr) {
        told.emplace_back(PutNode{.node = *delta.after});
      } else {
        told.emplace_back(Remove(delta.before->id));
      }
    }
    const auto followed = copy.Apply(told, applied.moves);
    ASSERT_TRUE(followed.ok()) << followed.status();
    copy = followed->ring;
    ASSERT_EQ(copy.checksum(), ring_.checksum()) << "step " << step;
    std::vector<uint32_t> places;
    if (ring_.slots() != nullptr) places.assign(ring_.slots()->places().begin(), ring_.slots()->places().end());
    const auto loaded = Ring::Create(ring_.settings(), NodesOf(ring_), ring_.next_join_number(), kUnlimited, places);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    ASSERT_EQ(loaded->checksum(), ring_.checksum()) << "step " << step;
    for (int i = 0; i < 50; ++i) {
      const uint64_t position = RandomPosition();
      ASSERT_EQ(OwnerIds(copy, position, 3), OwnerIds(ring_, position, 3)) << position;
      ASSERT_EQ(OwnerIds(*loaded, position, 3), OwnerIds(ring_, position, 3)) << position;
    }
  }
}

// Two states of a history have one checksum where nodes and table are the same, and nowhere else.
TEST_P(PlacementLaws, ChecksumsTellContentsApart) {
  std::map<uint64_t, std::string> content_of;
  std::map<std::string, uint64_t> checksum_of;
  const bool joins_count = NodeOrderOf(ring_.settings().placement) != NodeOrder::kById;
  for (int step = 0; step < 60; ++step) {
    Step();
    std::string content;
    for (size_t i = 0; i < ring_.node_count(); ++i) {
      const Node& node = ring_.node(i);
      content += node.id + "/" + node.zone + "/" + node.address + "/" + std::to_string(node.weight) + "/";
      if (joins_count) content += std::to_string(node.join_number);
      for (const uint64_t point : node.points) content += "," + std::to_string(point);
      content += "\n";
    }
    if (ring_.slots() != nullptr) {
      for (const uint32_t place : ring_.slots()->places()) content += std::to_string(place) + ",";
    }
    const auto [known, fresh] = content_of.emplace(ring_.checksum(), content);
    ASSERT_EQ(known->second, content) << "step " << step;
    ASSERT_EQ(checksum_of.emplace(content, ring_.checksum()).first->second, ring_.checksum()) << "step " << step;
  }
}

INSTANTIATE_TEST_SUITE_P(All, PlacementLaws,
                         testing::Combine(testing::Range<size_t>(0, Placements().size()),
                                          testing::Range<uint64_t>(1, 6)),
                         [](const auto& parameter) {
                           return Placements()[std::get<0>(parameter.param)].first + "_" +
                                  std::to_string(std::get<1>(parameter.param));
                         });

}  // namespace
}  // namespace ringd::ring
