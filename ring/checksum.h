// Checksum, algorithm 1: 64 bits that tell two states of a ring apart. Pure functions, for any thread.
//
// Whoever holds a ring's settings and nodes can compute it, in any language. All hashes are XXH3, 64 bits, seed 0. All
// numbers are little-endian: u32 has 4 bytes, u64 has 8. A string is its length in bytes as u32, then its bytes.
//
// The digest of a node is the hash of these bytes:
//   string id, string address, u32 weight, string zone, string hash_key (never empty: it defaults to the id),
//   u32 number of metadata entries, then for each, in bytewise order of the keys: string key, string value
// (Where the tie rule reads join numbers, u64 join number follows. No such rule is served yet.)
//
// The checksum of a ring is the hash of these bytes:
//   u32 kind of placement: 1, hashed
//   u32 hash (number of ringd.v1.HashFunction), string label, u32 points_per_weight, u32 match (of PointMatch),
//   u32 tie_rule (of TieRule), string hash_tag
//   u32 default_weight
//   u64 number of nodes, then for each, in bytewise order of the ids: u64 digest
//   u64 number of points, then for each, in order of (position, node): u64 position, u32 node
// where settings have the values in effect (nothing unspecified or absent), and a point's node is the place of its
// node in the order of ids, from 0.
#pragma once

#include <cstdint>
#include <span>

#include "ring/hashed_placement.h"
#include "ring/node.h"

namespace ringd::ring {

struct Settings;

// The number of the algorithm above.
inline constexpr uint32_t kChecksumAlgorithm = 1;

uint64_t NodeDigest(const Node& node);

// REQUIRES digests in order of node id. Cost: one pass over the points, at the speed of memory.
uint64_t RingChecksum(const Settings& settings, std::span<const uint64_t> digests, const PointTable& points);

}  // namespace ringd::ring
