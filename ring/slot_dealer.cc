#include "ring/slot_dealer.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace ringd::ring {
namespace {

// Times are in units of 2^-40, fine enough to tell needs of 2^20 apart; at 1, all is dealt.
constexpr uint64_t kEnd = uint64_t{1} << 40;

constexpr auto kIsLater = [](const auto& a, const auto& b) {
  return std::tie(b.due, b.node) < std::tie(a.due, a.node);
};

template <typename Heap>
typename Heap::value_type Pop(Heap& heap) {
  std::pop_heap(heap.begin(), heap.end(), kIsLater);
  const auto top = heap.back();
  heap.pop_back();
  return top;
}

template <typename Heap>
void Push(Heap& heap, const typename Heap::value_type& entry) {
  heap.push_back(entry);
  std::push_heap(heap.begin(), heap.end(), kIsLater);
}

}  // namespace

SlotDealer::SlotDealer(std::span<const SlotNode> members, std::span<const uint32_t> needs) {
  for (uint32_t node = 0; node < members.size(); ++node) {
    if (needs[node] == 0) continue;
    const uint32_t zone = members[node].zone;
    if (zone >= turns_.size()) turns_.resize(zone + size_t{1});
    turns_[zone].push_back(Spaced({.due = 0, .from = 0, .node = node, .dealt = 0, .need = needs[node]}));
  }
  for (uint32_t zone = 0; zone < turns_.size(); ++zone) {
    std::make_heap(turns_[zone].begin(), turns_[zone].end(), kIsLater);
    PushZone(zone);
  }
}

SlotDealer::Turn SlotDealer::Spaced(Turn turn) {
  turn.due = turn.from + (kEnd - turn.from) * (2 * uint64_t{turn.dealt} + 1) / (2 * uint64_t{turn.need});
  return turn;
}

void SlotDealer::PushZone(uint32_t zone) {
  if (turns_[zone].empty()) return;
  const Turn& next = turns_[zone].front();
  Push(zones_, ZoneTurn{.due = next.due, .node = next.node, .zone = zone});
}

uint32_t SlotDealer::Deal(const SlotList& list, ZoneRule rule) {
  // A zone is passed over only for a member that the slot has of it.
  std::array<uint32_t, kMaxSlotOwners + 1> passed{};
  size_t passed_count = 0;
  uint32_t node = SlotTable::kNobody;
  while (!zones_.empty() && node == SlotTable::kNobody) {
    const uint32_t zone = Pop(zones_).zone;
    if (rule == ZoneRule::kAny || !list.HasZone(zone)) node = DealInZone(zone, list);
    if (node == SlotTable::kNobody) {
      passed[passed_count++] = zone;
    } else {
      PushZone(zone);
    }
  }
  for (size_t i = 0; i < passed_count; ++i) PushZone(passed[i]);
  return node;
}

uint32_t SlotDealer::DealInZone(uint32_t zone, const SlotList& list) {
  std::vector<Turn>& turns = turns_[zone];
  std::array<Turn, kMaxSlotOwners + 1> passed{};
  size_t passed_count = 0;
  while (!turns.empty() && list.Has(turns.front().node)) passed[passed_count++] = Pop(turns);
  uint32_t node = SlotTable::kNobody;
  uint64_t now = 0;
  if (!turns.empty()) {
    Turn turn = Pop(turns);
    node = turn.node;
    now = turn.due;
    if (++turn.dealt < turn.need) Push(turns, Spaced(turn));
  }
  for (size_t i = 0; i < passed_count; ++i) {
    Turn& turn = passed[i];
    if (node != SlotTable::kNobody) turn = Spaced({.from = now, .node = turn.node, .need = turn.need - turn.dealt});
    Push(turns, turn);
  }
  return node;
}

}  // namespace ringd::ring
