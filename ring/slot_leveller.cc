#include "ring/slot_leveller.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "ring/error.h"
#include "ring/later_ranks.h"
#include "ring/slot_dealer.h"
#include "ring/slot_list.h"
#include "ring/slot_order.h"

namespace ringd::ring {
namespace {

constexpr uint32_t kNobody = SlotTable::kNobody;

// The places by new index; nobody's where the node is gone or has no weight.
std::vector<uint32_t> Renumbered(const SlotTable& table, std::span<const uint32_t> new_index,
                                 std::span<const SlotNode> members) {
  std::vector<uint32_t> index(new_index.begin(), new_index.end());
  for (uint32_t& node : index) {
    if (node != kNobody && members[node].weight == 0) node = kNobody;
  }
  std::vector<uint32_t> places(table.places().begin(), table.places().end());
  for (uint32_t& node : places) {
    if (node != kNobody) node = index[node];
  }
  return places;
}

// How a slot came to be free.
enum class Freed : uint32_t {
  kLost,   // its owner is gone, or has no weight
  kGiven,  // its owner has another too many
};

// Levels the owners of slots: owners that must give slots give, then members take, lost slots before given ones, as
// those have no owner to copy from; then all others.
class OwnerLevelling {
 public:
  OwnerLevelling(size_t slots, uint32_t places_per_slot, std::span<const SlotNode> members,
                 std::span<const uint32_t> places)
      : places_per_slot_(places_per_slot), members_(members), places_(places), owners_(slots), held_(members.size()) {
    for (size_t slot = 0; slot < slots; ++slot) {
      owners_[slot] = places[slot * places_per_slot];
      if (owners_[slot] != kNobody) ++held_[owners_[slot]];
    }
    quotas_ = OwnerQuotas(slots, members, held_);
  }

  std::vector<uint32_t> Run() {
    Give();
    if (places_per_slot_ > 1) {
      TakeByMembers(Freed::kLost);
      TakeByMembers(Freed::kGiven);
    }
    Deal();
    return std::move(owners_);
  }

 private:
  // Of h slots, a node gives g: the i-th where (i * g + phase) / h reaches the next whole number. Phases are spread, so
  // that nodes whose slots alternate do not all give theirs in one part of the circle.
  void Give() {
    std::vector<uint64_t> sums(held_.size());
    std::vector<uint32_t> excess(held_.size());
    uint64_t givers = 0;
    for (size_t node = 0; node < held_.size(); ++node) {
      if (held_[node] <= quotas_[node]) continue;
      excess[node] = held_[node] - quotas_[node];
      ++givers;
    }
    uint64_t giver = 0;
    for (size_t node = 0; node < held_.size(); ++node) {
      if (excess[node] > 0) sums[node] = held_[node] * giver++ / givers;
    }
    for (uint32_t& owner : owners_) {
      if (owner == kNobody || excess[owner] == 0) continue;
      const uint32_t node = owner;
      sums[node] += excess[node];
      if (sums[node] < held_[node]) continue;
      sums[node] -= held_[node];
      owner = kNobody;
    }
    needs_.resize(held_.size());
    for (size_t node = 0; node < held_.size(); ++node) {
      if (held_[node] < quotas_[node]) needs_[node] = quotas_[node] - held_[node];
    }
  }

  // The order is scattered, so that a node with more such slots than it needs takes them all round the circle.
  void TakeByMembers(Freed freed) {
    size_t slot = 0;
    for (size_t i = 0; i < owners_.size(); ++i, slot = NextScattered(slot, owners_.size())) {
      if (owners_[slot] != kNobody) continue;
      const std::span<const uint32_t> places = PlacesOf(slot);
      if ((places.front() == kNobody) != (freed == Freed::kLost)) continue;
      const auto taker = std::find_if(places.begin(), places.end(),
                                      [&](uint32_t node) { return node != kNobody && needs_[node] > 0; });
      if (taker == places.end()) continue;
      --needs_[*taker];
      owners_[slot] = *taker;
    }
  }

  // No node that still needs slots is a member of those that are left. A new owner of a zone that the slot has would
  // push out the member of that zone, who has the data: others go first.
  void Deal() {
    SlotDealer dealer(members_, needs_);
    for (size_t slot = 0; slot < owners_.size(); ++slot) {
      if (owners_[slot] != kNobody) continue;
      SlotList list;
      for (const uint32_t node : PlacesOf(slot)) {
        if (node != kNobody) list.Append(node, members_[node].zone);
      }
      owners_[slot] = dealer.Deal(list, ZoneRule::kNewToSlot);
      if (owners_[slot] == kNobody) owners_[slot] = dealer.Deal(list, ZoneRule::kAny);
    }
  }

  std::span<const uint32_t> PlacesOf(size_t slot) const {
    return places_.subspan(slot * places_per_slot_, places_per_slot_);
  }

  const uint32_t places_per_slot_;
  const std::span<const SlotNode> members_;
  const std::span<const uint32_t> places_;
  std::vector<uint32_t> owners_;  // by slot; kNobody while it is to be dealt
  std::vector<uint32_t> held_;    // by node, before
  std::vector<uint32_t> quotas_;
  std::vector<uint32_t> needs_;  // by node, what is still to be taken
};

// What is wrong with the members of a slot, or "".
std::string Flaw(std::span<const uint32_t> slot, std::span<const NodePtr> nodes, std::span<const SlotNode> members,
                 const SlotSpread& spread) {
  SlotList list;
  for (const uint32_t node : slot) {
    if (members[node].weight == 0) return "has the member " + Quote(nodes[node]->id) + ", whose weight is 0";
    list.Append(node, members[node].zone);
  }
  if (list.size() != spread.members) {
    return "has " + std::to_string(list.size()) + " members, not " + std::to_string(spread.members);
  }
  if (list.zone_count() == spread.zones) return "";
  return "has members from " + std::to_string(list.zone_count()) + " zones, not " + std::to_string(spread.zones);
}

// How many slots a node should own. REQUIRES total > 0.
std::string SharesText(size_t slots, uint64_t weight, uint64_t total) {
  const uint64_t least = slots * weight / total;
  const std::string up = slots * weight % total == 0 ? "" : " or " + std::to_string(least + 1);
  return std::to_string(least) + up + " of " + std::to_string(slots) + " with weight " + std::to_string(weight) +
         " of " + std::to_string(total);
}

}  // namespace

absl::Status CheckLevelled(const SlotTable& table, std::span<const NodePtr> nodes) {
  const std::vector<SlotNode> members = MembersOf(nodes);
  const SlotSpread spread = SpreadOf(table.owners(), members);
  std::vector<uint32_t> held(nodes.size());
  for (size_t slot = 0; slot < table.slot_count(); ++slot) {
    const std::span<const uint32_t> here = table.MembersOf(slot);
    const std::string flaw = Flaw(here, nodes, members, spread);
    if (!flaw.empty()) return InvalidField("the table is not levelled: slot " + std::to_string(slot) + " " + flaw);
    if (!here.empty()) ++held[here.front()];
  }
  // Those that hold more are the first to be rounded up: these are the quotas exactly where each holds its share. That
  // is so where no node has weight, since nobody may be a member there.
  const std::vector<uint32_t> quotas = OwnerQuotas(table.slot_count(), members, held);
  const auto wrong = std::mismatch(held.begin(), held.end(), quotas.begin()).first;
  if (wrong == held.end()) return absl::OkStatus();
  const auto node = static_cast<size_t>(wrong - held.begin());
  const uint64_t total = std::accumulate(members.begin(), members.end(), uint64_t{0},
                                         [](uint64_t sum, const SlotNode& member) { return sum + member.weight; });
  return InvalidField("the table is not levelled: node " + Quote(nodes[node]->id) + " owns " + std::to_string(*wrong) +
                      " slots; it should own " + SharesText(table.slot_count(), members[node].weight, total));
}

SlotTable Level(const SlotTable& before, std::span<const uint32_t> new_index, std::span<const SlotNode> members) {
  std::vector<uint32_t> places = Renumbered(before, new_index, members);
  std::vector<uint32_t> owners = OwnerLevelling(before.slot_count(), before.owners(), members, places).Run();
  if (owners.front() == kNobody) return SlotTable(before.slot_bits(), before.owners());
  if (before.owners() == 1) return SlotTable(before.slot_bits(), 1, std::move(owners));

  LaterRanks ranks(before.slot_count(), before.owners(), members, places);
  ranks.PutFirst(owners);
  ranks.Fill();
  ranks.Trade();
  return SlotTable(before.slot_bits(), before.owners(), std::move(places));
}

}  // namespace ringd::ring
