// SlotList: the members of one slot while it is being levelled. A value for one thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "ring/slot_table.h"

namespace ringd::ring {

class SlotList {
 public:
  size_t size() const { return size_; }
  uint32_t node(size_t rank) const { return nodes_[rank]; }
  std::span<const uint32_t> nodes() const { return {nodes_.data(), size_}; }

  // REQUIRES size() <= kMaxSlotOwners.
  void Append(uint32_t node, uint32_t zone) {
    nodes_[size_] = node;
    zones_[size_] = zone;
    ++size_;
  }
  void Replace(size_t rank, uint32_t node, uint32_t zone) {
    nodes_[rank] = node;
    zones_[rank] = zone;
  }
  void Erase(size_t rank) {
    std::copy(nodes_.begin() + rank + 1, nodes_.begin() + size_, nodes_.begin() + rank);
    std::copy(zones_.begin() + rank + 1, zones_.begin() + size_, zones_.begin() + rank);
    --size_;
  }

  bool Has(uint32_t node) const { return std::count(nodes_.begin(), nodes_.begin() + size_, node) != 0; }
  bool HasZone(uint32_t zone) const { return std::count(zones_.begin(), zones_.begin() + size_, zone) != 0; }
  // Whether another member is of the zone of this one.
  bool SharesZone(size_t rank) const { return std::count(zones_.begin(), zones_.begin() + size_, zones_[rank]) > 1; }
  size_t zone_count() const {
    size_t count = 0;
    for (size_t rank = 0; rank < size_; ++rank) {
      if (std::find(zones_.begin(), zones_.begin() + rank, zones_[rank]) == zones_.begin() + rank) ++count;
    }
    return count;
  }

 private:
  // One more than a slot has: a new owner comes in before another member goes.
  std::array<uint32_t, kMaxSlotOwners + 1> nodes_{};
  std::array<uint32_t, kMaxSlotOwners + 1> zones_{};
  size_t size_ = 0;
};

}  // namespace ringd::ring
