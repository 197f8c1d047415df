// What an import of nodes and a whole slot table makes of a ring. Pure functions, for any thread.
#pragma once

#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "ring/node.h"
#include "ring/ring.h"

namespace ringd::ring {

// The ring with these nodes and no others, and the table that `places` tells: those of SlotTable, of the nodes as they
// stand here. A node that the ring has keeps its join number; the others join in their order.
// INVALID_ARGUMENT: no table of the ring's shape over these nodes, one of redis-cluster in which a first owner is
// missing or has weight 0, or a node of weight > 0 is none, and one of slots that is not levelled. Others as
// Ring::Apply. REQUIRES a ring that has slots.
absl::StatusOr<Applied> ApplyTable(const Ring& ring, std::span<const AddNode> nodes, std::span<const uint32_t> places,
                                   const Limits& limits);

}  // namespace ringd::ring
