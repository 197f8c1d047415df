// What the tests here have in common: the golden files, and a ring by brute force.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "ring/hashed_placement.h"
#include "ring/preset.h"
#include "ring/ring.h"
#include "tests/ring/ring_builder.h"

namespace ringd::ring {

// The rows of a file, heads left out, each of `columns` columns.
inline std::vector<std::vector<std::string>> GoldenRows(const std::string& file, size_t columns) {
  std::ifstream in(std::string(RINGD_GOLDEN_DIR "/") + file);
  EXPECT_TRUE(in.is_open()) << file;
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("#")) continue;
    std::vector<std::string> row(1);
    for (const char c : line) {
      if (c == '\t') {
        row.emplace_back();
      } else {
        row.back().push_back(c);
      }
    }
    EXPECT_EQ(row.size(), columns) << file << ": " << line;
    rows.push_back(row);
  }
  return rows;
}

// A preset's points in order, kept in the simplest way. Nodes are in the order of the original's list.
class GoldenRing {
 public:
  struct Node {
    std::string hash_key;
    uint32_t weight;
  };
  struct Answer {
    uint64_t point;
    std::string owner;  // its hash_key
  };

  GoldenRing(PresetSettings settings, std::vector<Node> nodes)
      : settings_(std::move(settings)), nodes_(std::move(nodes)) {
    EXPECT_TRUE(CheckPreset(settings_).ok()) << CheckPreset(settings_);
    std::vector<PresetNode> views;
    for (const Node& node : nodes_) {
      views.push_back({node.hash_key, node.weight});
      EXPECT_TRUE(CheckPresetNode(settings_, views.back(), 1).ok()) << node.hash_key;
    }
    const bool last_wins = traits().shared_point == SharedPoint::kLastNode;
    for (const auto& [position, node] : PresetPoints(settings_, views)) {
      points_.insert({position, last_wins ? -int64_t{node} : int64_t{node}, node});
    }
  }

  // The same nodes in a Ring, added one after the other.
  Ring Real() const {
    Ring ring = EmptyRing({.placement = settings_, .default_weight = 1});
    for (const Node& node : nodes_) ring = With(ring, {Add(node.hash_key, node.weight)});
    return ring;
  }

  const PresetTraits& traits() const { return *FindPreset(settings_.preset); }

  Answer Owner(std::string_view key) const {
    uint64_t position = PresetKeyPosition(settings_, key);
    if (traits().match == PointMatch::kStrictlyAfter) ++position;
    auto point = points_.lower_bound({position, INT64_MIN, 0});
    if (point == points_.end()) point = points_.begin();
    return {std::get<0>(*point), nodes_[std::get<2>(*point)].hash_key};
  }

  // Positions that several nodes have a point at, with the one that owns it.
  std::vector<Answer> SharedPoints() const {
    std::vector<Answer> shared;
    for (auto point = points_.begin(); point != points_.end();) {
      auto next = point;
      while (next != points_.end() && std::get<0>(*next) == std::get<0>(*point)) ++next;
      if (std::distance(point, next) > 1) shared.push_back({std::get<0>(*point), nodes_[std::get<2>(*point)].hash_key});
      point = next;
    }
    return shared;
  }

  // Every point, in order of position.
  std::vector<Answer> Points() const {
    std::vector<Answer> all;
    for (const auto& [position, tie, node] : points_) all.push_back({position, nodes_[node].hash_key});
    return all;
  }

 private:
  PresetSettings settings_;
  std::vector<Node> nodes_;
  std::set<std::tuple<uint64_t, int64_t, uint32_t>> points_;  // position, tie, node
};

}  // namespace ringd::ring
