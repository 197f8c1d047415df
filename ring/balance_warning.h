// Says where a placement shares the keys out worse than it ought to. Pure functions, any thread.
#pragma once

#include <string>

#include "ring/ring.h"

namespace ringd::ring {

// A line where a node's share is further from what its weight says than points that lie at random would have it, or
// twice as large, or a quarter: the nodes and the factors. Else empty. So do hash functions that do not spread similar
// texts (FNV, CRC), labels that glue nodes together, and too few points. Cost: linear in nodes.
std::string BalanceWarning(const Ring& ring);

// The same, of ten nodes "node-0" to "node-9" of the default weight: what a ring without nodes is to be told. Empty
// where they would have more than 200,000 points.
std::string BalanceWarning(const Settings& settings);

}  // namespace ringd::ring
