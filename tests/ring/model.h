// The brute-force oracle: lists every (position, node id, index), sorts by that whole triple, walks. Slow and plain; it
// shares no code with the ring but the hash.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "absl/numeric/int128.h"
#include "ring/node.h"

namespace ringd::ring {

class Model {
 public:
  template <typename HashLabel>
  Model(const std::vector<Node>& nodes, uint32_t points_per_weight, HashLabel hash_label) {
    for (const Node& node : nodes) {
      zones_[node.id] = node.zone;
      const std::string& key = node.hash_key.empty() ? node.id : node.hash_key;
      for (uint64_t i = 0; i < uint64_t{node.weight} * points_per_weight; ++i) {
        points_.emplace_back(hash_label(key + "#" + std::to_string(i)), node.id, i);
      }
    }
    std::sort(points_.begin(), points_.end());
  }

  std::vector<std::string> Owners(uint64_t position, size_t n) const {
    const size_t first = FirstAtOrAfter(position);
    std::vector<std::pair<size_t, std::string>> ranked;
    std::map<std::string, size_t> met;  // by zone
    for (size_t i = 0; i < points_.size(); ++i) {
      const std::string& id = std::get<1>(points_[(first + i) % points_.size()]);
      const auto same = [&](const auto& entry) { return entry.second == id; };
      if (std::none_of(ranked.begin(), ranked.end(), same)) ranked.emplace_back(met[zones_.at(id)]++, id);
    }
    std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> owners;
    for (size_t i = 0; i < std::min(n, ranked.size()); ++i) owners.push_back(ranked[i].second);
    return owners;
  }

  std::string Owner(uint64_t position) const {
    return std::get<1>(points_.at(FirstAtOrAfter(position) % points_.size()));
  }

  // By summing the ranges (previous position, position] of each point.
  absl::uint128 Arc(const std::string& id) const {
    const absl::uint128 circle = absl::MakeUint128(1, 0);
    absl::uint128 arc = 0;
    for (size_t i = 0; i < points_.size(); ++i) {
      if (std::get<1>(points_[i]) != id) continue;
      const absl::uint128 here = std::get<0>(points_[i]);
      const absl::uint128 last = std::get<0>(points_.back());
      arc += i > 0 ? here - std::get<0>(points_[i - 1]) : here + circle - last;
    }
    return arc;
  }

  size_t point_count() const { return points_.size(); }
  // Every position of a point, and those right before and after it.
  std::vector<uint64_t> Edges() const {
    std::vector<uint64_t> edges = {0, UINT64_MAX};
    for (const auto& [position, id, index] : points_) edges.insert(edges.end(), {position - 1, position, position + 1});
    return edges;
  }

 private:
  size_t FirstAtOrAfter(uint64_t position) const {
    size_t first = 0;
    while (first < points_.size() && std::get<0>(points_[first]) < position) ++first;
    return first;
  }

  std::map<std::string, std::string> zones_;
  std::vector<std::tuple<uint64_t, std::string, uint64_t>> points_;
};

}  // namespace ringd::ring
