// Checksum, algorithm 1: 64 bits that tell two states of a ring apart. Pure functions, for any thread.
//
// Whoever holds a ring's settings and nodes can compute it, in any language. All hashes are XXH3, 64 bits, seed 0. All
// numbers are little-endian: u32 has 4 bytes, u64 has 8. A string is its length in bytes as u32, then its bytes.
//
// The digest of a node is the hash of these bytes:
//   string id, string address, u32 weight, string zone, string hash_key (never empty: it defaults to the id),
//   u32 number of metadata entries, then for each, in bytewise order of the keys: string key, string value
// and in a ring whose placement reads join numbers (see NodeOrderOf of placement.h): u64 join number; and for a node
// that has points of its own: u64 number of them, then each as u64, in order.
//
// The checksum of a ring is the hash of these bytes:
//   u32 kind of placement: 1 hashed, 2 preset, 3 slots, 4 points
//   hashed: u32 hash (number of ringd.v1.HashFunction), string label, u32 points_per_weight, u32 match (of PointMatch),
//   u32 tie_rule (of TieRule), string hash_tag
//   preset: u32 preset (of Preset), u32 hash, string hash_tag, u64 minimum_ring_size, u64 maximum_ring_size
//   slots: u32 slot_bits, u32 owners, u32 hash, string hash_tag
//   points: u64 last_position, u32 match, u32 tie_rule
//   u32 default_weight
//   u64 number of nodes, then for each, in bytewise order of the ids: u64 digest
//   rings of points: u64 number of points, then for each, in order of position: u64 position, u32 node
//   slots, and the preset redis-cluster with 8 owners: u64 number of places (slots * owners), then for each, slot by
//   slot, in order of rank: u32 node, or 2^32 - 1 where it is nobody's
// where settings have the values in effect (nothing unspecified or absent), and a node of a point or a place is told
// by its place in the order of ids, from 0. Points that share a position are in order of node, or, where the placement
// reads join numbers, of join number: the later first in java-fnv-cluster, java-fnv1, murmur3-weighted and where the
// tie rule says so, else the earlier. Where keys belong to the first point strictly after them, the position is the one
// before the point's own, on its circle; and where the circle has fewer than 2^64 positions, it is the last one of its
// cell (see circle.h): of 2^32 positions, p counts as (p + 1) * 2^32 - 1.
#pragma once

#include <cstdint>
#include <span>

#include "ring/hashed_placement.h"
#include "ring/node.h"
#include "ring/placement.h"
#include "ring/slot_table.h"

namespace ringd::ring {

struct Settings;

// The number of the algorithm above.
inline constexpr uint32_t kChecksumAlgorithm = 1;

uint64_t NodeDigest(const Node& node, NodeOrder order = NodeOrder::kById);

// REQUIRES digests in order of node id. Cost: one pass over the points or slots, at the speed of memory.
// `slots` null: a ring of points.
uint64_t RingChecksum(const Settings& settings, std::span<const uint64_t> digests, const PointTable& points,
                      const SlotTable* slots);

}  // namespace ringd::ring
