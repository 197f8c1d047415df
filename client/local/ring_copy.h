// How a RingCopy is made of a ring, and what the library itself takes out of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "client/local/lookup_counts.h"
#include "client/local/watch_machine.h"
#include "ring/owners_of_keys.h"
#include "ringd/local_ring.h"

namespace ringd {

struct RingCopy::Parts {
  HeldRingPtr held;
  // In order of id, as the ring's.
  std::vector<std::shared_ptr<const Node>> nodes;
  std::shared_ptr<const LookupCounts::OfNodes> counts;  // of `nodes`

  // Whether this version has an owner for the key.
  bool HasOwner(std::string_view key) const { return held->ring.HasOwners() && held->ring.keys().CanPlace(key); }
  // Calls `answer` with the number of each key and the index of its owner. REQUIRES HasOwner of all keys.
  template <class Answer>
  void OwnersOf(std::span<const std::string_view> keys, Answer answer) const {
    ring::OwnersOfKeys(
        held->ring, keys.size(), [keys](size_t i) { return keys[i]; }, answer);
  }
  // As RingCopy::Owners and OwnersAt, by index.
  size_t Owners(std::string_view key, std::span<uint32_t> out) const;
  size_t OwnersAt(uint64_t position, std::span<uint32_t> out) const;
  // Fills `out` with the nodes of these indices, and returns how many there are.
  size_t NodesOf(std::span<const uint32_t> indices, std::span<const Node*> out) const;
};

// A copy of `held`. It shares with `before`, which may be null, the nodes that are the same in both, and the counts of
// those that have the same id.
std::shared_ptr<const RingCopy> MakeCopy(HeldRingPtr held, const RingCopy* before);

}  // namespace ringd
