// The way back to an earlier version of a ring: what the changes since then did to its nodes and slots, undone.
//
// Threads: any; it reads what `read` answers, on the caller's.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "ring/ring.h"
#include "ring/version.h"
#include "server/directory.h"

namespace ringd::server {

// Kept changes of a ring from the one that led to `last` on back, newest first, some at a time; none when that one is
// not kept.
using EarlierChanges = std::function<absl::StatusOr<std::vector<ChangeRecord>>(const ring::Version& last)>;

// What makes the nodes and slots of `state` those that the ring had at `version`; the default_weight stays that of now.
// NOT_FOUND: `version` is of another epoch than `state`, above it, or from before what is kept. RESOURCE_EXHAUSTED: the
// ring of then would pass `limits`. INTERNAL: the history does not lead back to it. Errors of `read` are answered as
// they are. Cost: reads every change since, holds on to a node for each that differs, and Ring::Apply.
absl::StatusOr<ring::Applied> GoBack(const RingState& state, const ring::Version& version, const ring::Limits& limits,
                                     const EarlierChanges& read);

}  // namespace ringd::server
