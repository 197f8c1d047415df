// What an import of slots makes of a ring. Pure.
#pragma once

#include "absl/status/statusor.h"
#include "ring/ring.h"
#include "server/directory.h"

namespace ringd::server {

// A ring whose authority is elsewhere gets the nodes and the table of the import, whatever it has; a ring of slots that
// has no nodes gets them once.
// FAILED_PRECONDITION: a ring of another placement, or of slots with nodes. INVALID_ARGUMENT: ranges for a ring of
// slots, and others as ring::ApplyTable. The texts do not name the ring.
absl::StatusOr<ring::Applied> ApplyImport(const ring::Ring& ring, const ImportSlots& import,
                                          const ring::Limits& limits);

}  // namespace ringd::server
