// SlotDealer: deals places of slots to the nodes that need them, interleaved: the m-th place of a node that needs n is
// due at (2m + 1) / (2n), so that any stretch of what is dealt has each node in proportion to its need. A node that is
// passed over, as it is a member of the slot already, has what it still needs spread over the time that is left: else
// it would get the places of the next slots, one after the other.
//
// A value for one thread. Deterministic; integers alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ring/slot_list.h"
#include "ring/slot_target.h"

namespace ringd::ring {

// Which zones may join a slot.
enum class ZoneRule : uint32_t {
  kAny,
  kNewToSlot,
};

class SlotDealer {
 public:
  // needs[i] is how many places are to be dealt to node i. REQUIRES needs of at most 2^20.
  SlotDealer(std::span<const SlotNode> members, std::span<const uint32_t> needs);

  // Whether every need is met.
  bool done() const { return zones_.empty(); }
  // The node that gets a place in the slot that has this list: of the zones that may join it, the one whose next node
  // is due first (of two due at once, the one of the lower index: the numbers of zones do not count), and of that the
  // first that is no member. SlotTable::kNobody when no node that needs a place may join.
  // Takes O(members of the slot * log(nodes)).
  uint32_t Deal(const SlotList& list, ZoneRule rule);

 private:
  struct Turn {
    uint64_t due = 0;   // when it gets the next place
    uint64_t from = 0;  // since when
    uint32_t node = 0;
    uint32_t dealt = 0;  // it got so many
    uint32_t need = 0;   // of so many
  };
  // Of the zone's next node.
  struct ZoneTurn {
    uint64_t due;
    uint32_t node;
    uint32_t zone;
  };

  // With its due set.
  static Turn Spaced(Turn turn);
  uint32_t DealInZone(uint32_t zone, const SlotList& list);
  void PushZone(uint32_t zone);

  std::vector<std::vector<Turn>> turns_;  // by zone, heaps with the next one in front
  std::vector<ZoneTurn> zones_;           // those with turns; a heap too
};

}  // namespace ringd::ring
