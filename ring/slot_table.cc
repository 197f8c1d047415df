#include "ring/slot_table.h"

#include <algorithm>
#include <utility>

#include "ring/error.h"

namespace ringd::ring {
namespace {

absl::Status CheckBound(const char* field, uint32_t value, uint32_t least, uint32_t most) {
  if (value >= least && value <= most) return absl::OkStatus();
  return InvalidField(std::string(field) + " " + std::to_string(value) + " is out of " + std::to_string(least) + ".." +
                      std::to_string(most));
}

// What is wrong with the places of one slot, or "".
std::string Flaw(std::span<const uint32_t> places, size_t node_count, bool owned) {
  if ((places.front() != SlotTable::kNobody) != owned) {
    return owned ? "has no owner, as others have" : "has an owner, as others have not";
  }
  for (size_t rank = 0; rank < places.size(); ++rank) {
    const uint32_t node = places[rank];
    if (node == SlotTable::kNobody) continue;
    if (node >= node_count) return "names node " + std::to_string(node) + " of " + std::to_string(node_count);
    if (rank > 0 && places[rank - 1] == SlotTable::kNobody) return "has a gap before rank " + std::to_string(rank);
    const auto here = places.begin() + static_cast<std::ptrdiff_t>(rank);
    if (std::find(places.begin(), here, node) != here) return "names node " + std::to_string(node) + " twice";
  }
  return "";
}

}  // namespace

absl::Status CheckSlots(const SlotsSettings& settings) {
  if (!IsKnown(settings.hash)) {
    return NotServedYet("hash function " + std::to_string(static_cast<uint32_t>(settings.hash)));
  }
  if (ReadsCharacters(settings.hash)) {
    return InvalidField("the Java functions give too few numbers to be the hash of slots");
  }
  // With more, there would be slots that no key lies in.
  const uint32_t most_bits = std::min(kMaxSlotBits, CircleBits(settings.hash));
  if (absl::Status bits = CheckBound("slot_bits", settings.slot_bits, kMinSlotBits, most_bits); !bits.ok()) return bits;
  if (absl::Status owners = CheckBound("owners", settings.owners, 1, kMaxSlotOwners); !owners.ok()) return owners;
  return CheckHashTag(settings.hash_tag);
}

SlotTable::SlotTable(uint32_t slot_bits, uint32_t owners)
    : SlotTable(slot_bits, owners, std::vector<uint32_t>((size_t{1} << slot_bits) * owners, kNobody)) {}

SlotTable::SlotTable(uint32_t slot_bits, uint32_t owners, std::vector<uint32_t> places)
    : shift_(64 - slot_bits), owners_(owners), places_(std::move(places)) {}

absl::Status CheckPlaces(uint32_t slot_bits, uint32_t owners, std::span<const uint32_t> places, size_t node_count) {
  const size_t slots = size_t{1} << slot_bits;
  if (places.size() != slots * owners) {
    return absl::InternalError("a slot table has " + std::to_string(places.size()) + " places, not " +
                               std::to_string(slots * owners));
  }
  const bool owned = places.front() != SlotTable::kNobody;
  for (size_t slot = 0; slot < slots; ++slot) {
    const std::string flaw = Flaw(places.subspan(slot * owners, owners), node_count, owned);
    if (!flaw.empty()) return absl::InternalError("slot " + std::to_string(slot) + " " + flaw);
  }
  return absl::OkStatus();
}

std::vector<absl::uint128> SlotArcs(const SlotTable& table, size_t node_count) {
  std::vector<absl::uint128> arcs(node_count);
  if (!table.HasOwners()) return arcs;
  std::vector<uint32_t> slots(node_count);
  for (size_t slot = 0; slot < table.slot_count(); ++slot) ++slots[table.PlacesOf(slot).front()];
  const auto arc_of = [&](uint32_t count) { return absl::uint128(count) << static_cast<int>(64 - table.slot_bits()); };
  std::transform(slots.begin(), slots.end(), arcs.begin(), arc_of);
  return arcs;
}

}  // namespace ringd::ring
