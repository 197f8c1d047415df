#pragma once

#include <absl/status/status.h>

#include "client/ringctl/imported_ring.h"

namespace ringd::ctl {

// CheckPlanned says what a directory would say of the nodes of an import, and of its table where it has one by
// slot_owners, but for its limits. `planned` is the ring that it would make for them. OK for ranges of a Redis Cluster,
// which were judged when they were read.
absl::Status CheckPlanned(const ImportedRing& imported, const v1::Ring& planned);

}  // namespace ringd::ctl
