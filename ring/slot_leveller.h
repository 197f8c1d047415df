// What a change of nodes does to a slot table, and whether a table is one that a change could leave. Integers alone and
// no randomness: the same on every machine. Pure functions, for any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "ring/node.h"
#include "ring/slot_table.h"
#include "ring/slot_target.h"

namespace ringd::ring {

// The table over `members` (the nodes after the change, in order of id) that follows on `before`, whose node of index i
// has the index new_index[i] now, or SlotTable::kNobody where it is gone. REQUIRES new_index to rise (kNobody left out)
// and to cover every node of `before`.
//
// Owners: each node has its exact weighted share of the slots, rounded down or up; weight 0 has none; with no weighted
// node every place is nobody's. The number of slots that change owner is the least that leads there: the larger of what
// nodes must give (all that those gone or without weight had, and what others have above the share rounded up) and what
// nodes must take (what is missing to the share rounded down). A node that gives some of its slots gives every n-th,
// and slots are dealt interleaved, so that what moves is spread over the circle.
//
// Members behind the owner, where the table has more than one place a slot: as many as there are places, or as weighted
// nodes where those are fewer; no two alike; from as many zones as there are, up to one each; level as far as that
// allows (MemberTargets). Who is a member stays one where it can. A slot that loses its owner goes to the first of its
// members that has still to take slots; slots that owners give come after those that have lost theirs. Only then come
// nodes from outside, those of zones that the slot has not before others. A slot that lost its owner to one from
// outside keeps the first member that has weight (it has the data), unless it has but one place, or that member must go
// as it is of the new owner's zone. That comes before level: what is off for it, the next change levels. An owner that
// gives a slot away stays a member of it, unless its zone may not or it is a member of more slots than it should be.
//
// With nothing changed no slot changes owner, and nothing changes at all where members are at their targets.
// Cost: linear in places, times the logarithm of nodes for those that change; with members behind the owner, passes
// over all slots: two where replacements that are direct level them, and at most 32 (LaterRanks::Trade).
SlotTable Level(const SlotTable& before, std::span<const uint32_t> new_index, std::span<const SlotNode> members);

// Whether owners and members of a table over `nodes` are as Level leaves them: each node owns its exact weighted share,
// rounded down or up, none of weight 0 is a member, and a slot has as many members from as many zones as SpreadOf says.
// How level members are is not asked: what was there before has a say in that.
// INVALID_ARGUMENT: they are not; the text names the slot or the node. REQUIRES a table of which CheckPlaces is OK.
absl::Status CheckLevelled(const SlotTable& table, std::span<const NodePtr> nodes);

}  // namespace ringd::ring
