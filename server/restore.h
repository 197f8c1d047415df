// The way back to an earlier version of a ring: what the changes since then did to its nodes and slots, undone.
//
// Threads: any; it reads what `read` answers, on the caller's.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "ring/node.h"
#include "ring/slot_moves.h"
#include "ring/version.h"
#include "server/directory.h"

namespace ringd::server {

// Kept changes of a ring from the one that led to `last` on back, newest first, some at a time; none when that one is
// not kept.
using EarlierChanges = std::function<absl::StatusOr<std::vector<ChangeRecord>>(const ring::Version& last)>;

struct WayBack {
  std::vector<ring::Operation> operations;  // make the nodes those of then; each on another node
  ring::SlotMoves moves;                    // make the slots those of then; of a ring of slots
  // What the ring had then, by which to prove that the operations lead there.
  uint64_t checksum = 0;
  uint32_t default_weight = 0;
};

// NOT_FOUND: `version` is of another epoch than `state`, above it, or from before what is kept. Errors of `read` are
// answered as they are, INTERNAL where the changes contradict each other. Cost: reads every change since; holds on to a
// node for each that differs.
absl::StatusOr<WayBack> FindWayBack(const RingState& state, const ring::Version& version, const EarlierChanges& read);

}  // namespace ringd::server
