// Rings of every placement, and random histories of them, for tests of copies.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/ring/ring_builder.h"

namespace ringd {

// With names that a test may have.
inline const std::vector<std::pair<std::string, ring::Placement>>& Placements() {
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

// A ring that hovers around five nodes, at times has none.
class RingHistory {
 public:
  RingHistory(const ring::Placement& placement, uint64_t seed)
      : ring_(ring::EmptyRing({.placement = placement, .default_weight = kDefaultWeight})), random_(seed) {}

  const ring::Ring& Step() {
    ring_ = ring::IsImported(placement()) ? Import() : Change();
    return ring_;
  }
  const ring::Ring& ring() const { return ring_; }
  uint64_t Below(uint64_t bound) { return random_() % bound; }
  uint64_t RandomValue() {
    const uint64_t last = ring_.keys().circle().last_value();
    return last == UINT64_MAX ? random_() : Below(last + 1);
  }

 private:
  static constexpr uint32_t kDefaultWeight = 3;

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
    return {.id = id,
            .address = id,
            .weight = RandomWeight(),
            .zone = std::string(Below(3), 'z'),
            .hash_key = id,
            .metadata = {{"rack", std::to_string(Below(9))}, {"\xc3\xa9", ""}},
            .points = RandomPoints()};
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
      const uint64_t replica = (owner + 1) % nodes.size();
      if (replica != owner && slot % 3 == 0) places[slot * shape.owners + 1] = static_cast<uint32_t>(replica);
    }
    auto made = ring::Ring::Create(ring_.settings(), nodes, /*next_join_number=*/1, ring::kUnlimited, places);
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  }

  ring::Ring ring_;
  std::mt19937_64 random_;
  uint64_t added_ = 0;
};

}  // namespace ringd
