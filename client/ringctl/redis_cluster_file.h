#pragma once

#include <absl/status/statusor.h>

#include <string>

#include "client/ringctl/imported_ring.h"

namespace ringd::ctl {

// ParseRedisCluster reads what `redis-cli CLUSTER NODES` or `CLUSTER SLOTS` prints, the latter as it comes in a pipe or
// on a terminal (--no-raw). A node's id is that of Redis, its address HOST:PORT; the owners of a slot are the master
// and then its replicas, which have weight 0. Slots on their way to another node are still those of the node that has
// them.
//
// Ranges are in order. INVALID_ARGUMENT, with a text that begins with FILE:LINE, for what is neither, and where not
// each of the slots has one owner.
absl::StatusOr<ImportedRing> ParseRedisCluster(const std::string& file, const std::string& content);

// Whether a first line looks like one of CLUSTER NODES.
bool LooksLikeClusterNodes(const std::string& line);

}  // namespace ringd::ctl
