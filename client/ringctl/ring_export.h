#pragma once

#include <absl/status/statusor.h>

#include <string>

#include "client/ringctl/imported_ring.h"

namespace ringd::ctl {

// ParseRingExport reads what `ring get -o json` prints. The ring has the placement, default_weight, labels and history
// limits of the one that was exported, its nodes join in the order in which they joined there, and a ring of slots has
// its table; versions and times are not taken over.
//
// INVALID_ARGUMENT, with a text that begins with FILE, and with FILE:LINE for what is no JSON: a field that there is
// not or of another type (the text names it), a part of a ring, and a ring of slots without its table.
absl::StatusOr<ImportedRing> ParseRingExport(const std::string& file, const std::string& content);

}  // namespace ringd::ctl
