// Short words for building rings in tests. Each fails the test when the ring refuses.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ring/ring.h"

namespace ringd::ring {

inline Settings SettingsOf(uint32_t points_per_weight, uint32_t default_weight = 1) {
  return {.placement = HashedSettings{.points_per_weight = points_per_weight}, .default_weight = default_weight};
}

inline Ring EmptyRing(const Settings& settings) {
  absl::StatusOr<Ring> ring = Ring::Create(settings, {});
  EXPECT_TRUE(ring.ok()) << ring.status();
  return *std::move(ring);
}

inline AddNode Add(const std::string& id, uint32_t weight = 1, const std::string& zone = "") {
  return AddNode{.node = {.id = id, .address = "", .weight = weight, .zone = zone, .hash_key = "", .metadata = {}}};
}

inline RemoveNode Remove(const std::string& id) { return RemoveNode{.id = id}; }

inline UpdateNode Reweigh(const std::string& id, uint32_t weight) {
  UpdateNode update;
  update.id = id;
  update.weight = weight;
  return update;
}

inline Applied Change(const Ring& ring, const std::vector<Operation>& operations) {
  absl::StatusOr<Applied> applied = ring.Apply(operations);
  EXPECT_TRUE(applied.ok()) << applied.status();
  return *std::move(applied);
}

inline Ring With(const Ring& ring, const std::vector<Operation>& operations) { return Change(ring, operations).ring; }

inline Ring RingOf(uint32_t points_per_weight, const std::vector<std::string>& ids) {
  Ring ring = EmptyRing(SettingsOf(points_per_weight));
  for (const std::string& id : ids) ring = With(ring, {Add(id)});
  return ring;
}

inline std::vector<Node> NodesOf(const Ring& ring) {
  std::vector<Node> nodes;
  for (const NodePtr& node : ring.table()->nodes) nodes.push_back(*node);
  return nodes;
}

inline std::string OwnerId(const Ring& ring, uint64_t position) { return ring.node(ring.Owner(position)).id; }
inline std::string OwnerId(const Ring& ring, const std::string& key) { return OwnerId(ring, ring.Position(key)); }

inline std::vector<std::string> OwnerIds(const Ring& ring, uint64_t position, size_t n) {
  std::vector<uint32_t> owners(n);
  owners.resize(ring.Owners(position, owners));
  std::vector<std::string> ids;
  for (const uint32_t owner : owners) ids.push_back(ring.node(owner).id);
  return ids;
}

inline absl::uint128 WholeCircle() { return absl::MakeUint128(1, 0); }

}  // namespace ringd::ring
