// Says where a placement shares the keys out worse than it ought to. Pure functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "ring/ring.h"

namespace ringd::ring {

// Lines for people; none where all is well. Cost: linear in nodes.
//
// Of points, a line where a node's share is further from what its weight says than points that lie at random would have
// it, or twice as large, or a quarter: the nodes and the factors. So do hash functions that do not spread similar texts
// (FNV, CRC), labels that glue nodes together, and too few points.
// Of slots, a line where nodes own none, as their share is below one, and a line where there are more nodes of weight >
// 0 than slots / 100.
std::vector<std::string> BalanceWarnings(const Ring& ring);

// The same, of ten nodes "node-0" to "node-9" of the default weight: what a ring without nodes is to be told. None
// where they would have more than 200,000 points, of slots, whose shares are exact, and where points are told.
std::vector<std::string> BalanceWarnings(const Settings& settings);

}  // namespace ringd::ring
