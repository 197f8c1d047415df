// The slots placement: the circle in 2^n equal arcs, the slots, each with the owners that the directory keeps for it.
// Its settings and the table. What a change does to a table is in slot_leveller.h.
//
// Nodes are told by their index in order of id. A place is one of the `owners` seats of a slot; its rank counts from 0,
// the rank of the owner.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "ring/hash.h"

namespace ringd::ring {

inline constexpr uint32_t kMinSlotBits = 10;
inline constexpr uint32_t kMaxSlotBits = 20;
inline constexpr uint32_t kMaxSlotOwners = 8;

struct SlotsSettings {
  uint32_t slot_bits = 16;
  uint32_t owners = 1;
  HashFunction hash = HashFunction::kXxh3_64;
  std::string hash_tag;

  bool operator==(const SlotsSettings&) const = default;
};

// INVALID_ARGUMENT: NOT_SERVED_YET for the number of a hash that this build does not know, INVALID_FIELD for what is
// wrong: slot_bits out of 10..20 or more than the hash has, owners out of 1..8, a hash that reads characters, a
// hash_tag that CheckHashTag refuses.
absl::Status CheckSlots(const SlotsSettings& settings);

// SlotTable: the owners of every slot, immutable.
//
// Threads: const members from any number of threads. Memory: 4 bytes a place.
class SlotTable {
 public:
  // In a place: it is nobody's.
  static constexpr uint32_t kNobody = UINT32_MAX;

  // Every place is nobody's. REQUIRES both in the bounds above.
  SlotTable(uint32_t slot_bits, uint32_t owners);
  // REQUIRES places that CheckPlaces lets pass.
  SlotTable(uint32_t slot_bits, uint32_t owners, std::vector<uint32_t> places);

  bool operator==(const SlotTable&) const = default;

  uint32_t slot_bits() const { return 64 - shift_; }
  size_t slot_count() const { return size_t{1} << slot_bits(); }
  uint32_t owners() const { return owners_; }
  // Whether the slots have owners: all have, or none.
  bool HasOwners() const { return places_.front() != kNobody; }

  // The slot of a place on the circle: its top bits.
  size_t SlotOf(uint64_t position) const { return position >> shift_; }
  // The first and the last position of a slot.
  uint64_t FirstOf(size_t slot) const { return uint64_t{slot} << shift_; }
  uint64_t LastOf(size_t slot) const { return FirstOf(slot) | ((uint64_t{1} << shift_) - 1); }
  // The owner of a position, or kNobody.
  uint32_t Owner(uint64_t position) const { return places_[SlotOf(position) * owners_]; }
  // All places of a slot in order of rank. Distinct; those that are nobody's come last.
  std::span<const uint32_t> PlacesOf(size_t slot) const { return places().subspan(slot * owners_, owners_); }
  // Those of them that are somebody's.
  std::span<const uint32_t> MembersOf(size_t slot) const {
    const std::span<const uint32_t> all = PlacesOf(slot);
    return all.first(all.size() - static_cast<size_t>(std::count(all.begin(), all.end(), kNobody)));
  }
  // The places of slot 0, then those of slot 1, and so on.
  std::span<const uint32_t> places() const { return places_; }

 private:
  unsigned shift_;
  uint32_t owners_;
  std::vector<uint32_t> places_;
};

// Whether these are the places of a table of these settings over `node_count` nodes: as many as it takes, of nodes that
// are there, distinct in each slot, nobody's last, and owners in all slots or in none.
// INTERNAL: they are not; the text names the slot.
absl::Status CheckPlaces(uint32_t slot_bits, uint32_t owners, std::span<const uint32_t> places, size_t node_count);

// The part of the circle that each of `node_count` nodes owns: 2^64 / slots for each slot. The parts sum to 2^64
// exactly, or to 0 in a table that is nobody's.
std::vector<absl::uint128> SlotArcs(const SlotTable& table, size_t node_count);

}  // namespace ringd::ring
