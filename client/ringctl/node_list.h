#pragma once

#include <absl/status/statusor.h>

#include <string>

#include "client/ringctl/imported_ring.h"

namespace ringd::ctl {

// ParseNodeList reads `HOST[:PORT] [WEIGHT]` lines, a node each, with blanks between the two; empty lines and those
// that begin with # are passed over. What stands first is the node's id, address and hash_key; without a weight the
// node has the default_weight of its ring. The file says nothing of the ring: no settings are filled in.
//
// INVALID_ARGUMENT, with a text that begins with FILE:LINE, for more words, a weight that is no number, a node that
// comes twice, and a file without nodes.
absl::StatusOr<ImportedRing> ParseNodeList(const std::string& file, const std::string& content);

}  // namespace ringd::ctl
