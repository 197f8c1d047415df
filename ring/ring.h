// Ring: an immutable consistent-hash ring. One value is one version of the ring's content.
//
// Threads: every const member may be called from any number of threads at once; there are no others.
// Placement is a function of the content (settings and nodes) alone: two rings with the same content answer every
// lookup alike and have the same checksum, whatever their histories (join numbers count only where the tie rule reads
// them). But for `slots`, whose table is kept from change to change: there the table is part of the content.
//
// Example:
//   absl::StatusOr<Ring> ring = Ring::Create(Settings{}, {});
//   absl::StatusOr<Applied> next = ring->Apply(std::vector<Operation>{AddNode{.node = {.id = "n1", .weight = 100}}});
//   const Node& owner = next->ring.node(next->ring.Owner(next->ring.Position("user:17")));
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/numeric/int128.h"
#include "absl/status/statusor.h"
#include "ring/hashed_placement.h"
#include "ring/node.h"
#include "ring/owner_walk.h"
#include "ring/placement.h"
#include "ring/slot_moves.h"
#include "ring/slot_table.h"

namespace ringd::ring {

// What is fixed when a ring is created. Frozen: every field is part of the checksum.
struct Settings {
  Placement placement;
  uint32_t default_weight = 100;

  bool operator==(const Settings&) const = default;
};

// Bounds on a whole ring, checked before it takes memory.
struct Limits {
  size_t max_nodes = 10'000;
  uint64_t max_points = 4'194'304;
};
// What a table can hold.
inline constexpr Limits kUnlimited{.max_nodes = UINT32_MAX, .max_points = PointTable::kMaxPoints};

// The largest and the smallest share / expected share of the nodes of weight > 0; both 0 where there is none.
struct Balance {
  double max_ratio = 0;
  double min_ratio = 0;

  bool operator==(const Balance&) const = default;
};

// The nodes of a ring with what is derived of each; parallel arrays in order of id. Immutable once a Ring holds it.
struct NodeTable {
  std::vector<NodePtr> nodes;
  std::vector<uint64_t> digests;
  // The part of the circle that a node owns, exactly, in units of one position of 2^64 (so the sum over all nodes is
  // 2^64, or 0 when no node may own keys).
  std::vector<absl::uint128> arcs;
  ZoneSpread zones;
  uint64_t total_weight = 0;

  // A node's arc as a number 0..1.
  double ShareOf(size_t index) const;
  // What its weight would give it; 0 where no node has a weight.
  double ExpectedShareOf(size_t index) const;
  Balance BalanceOfNodes() const;
};

struct Applied;

class Ring {
 public:
  // A ring built from scratch; what a store does at start, and a new ring with no nodes.
  // REQUIRES of each node: id and hash_key not empty, both unique (else INTERNAL); any order.
  // INVALID_ARGUMENT settings that are not served (CheckPlacement); RESOURCE_EXHAUSTED `limits` would be passed.
  // Cost: hashes all points and sorts them.
  // `next_join_number` is the number that the next added node gets; above every one in `nodes`.
  // `slot_places` are those of the table of a ring of slots, as SlotTable has them, of the nodes in order of id; empty
  // = the table is levelled from one that is nobody's. INTERNAL for what CheckPlaces refuses.
  static absl::StatusOr<Ring> Create(const Settings& settings, std::vector<Node> nodes, uint64_t next_join_number = 1,
                                     const Limits& limits = kUnlimited, std::vector<uint32_t> slot_places = {});

  // The ring that results from all the operations together, and what they changed. This ring stays as it is.
  // Cost: linear in points and nodes (a merge), and a sort of the points of changed nodes alone; as Create where points
  // do not stand alone or nodes stand in another order than that of their ids (see placement.h).
  // Operations that change nothing leave no delta; when none is left, the resulting ring is equal to this one.
  // FAILED_PRECONDITION the ring is imported (see placement.h); INVALID_ARGUMENT two operations on one id, an empty id,
  // or a node that the placement cannot have (CheckNode); NOT_FOUND unknown id; ALREADY_EXISTS id or hash_key (of the
  // resulting ring) taken; RESOURCE_EXHAUSTED `limits` would be passed. A ring that is over a limit already (it was
  // lowered) may still change as long as it does not grow.
  absl::StatusOr<Applied> Apply(std::span<const Operation> operations, const Limits& limits = {}) const;
  // The same, where slots move as they are told (what copies of a ring, restores of a version and imports do) instead
  // of being levelled. INTERNAL: these are no moves of this ring's table (see ApplyMoves).
  absl::StatusOr<Applied> Apply(std::span<const Operation> operations, const SlotMoves& moves,
                                const Limits& limits = {}) const;

  // This ring with another default_weight: the same nodes, points and slots. Cost: a hash over them.
  Ring WithDefaultWeight(uint32_t default_weight) const;

  // --- Lookup. Nodes are told by their index in order of id; see node().

  // Where keys lie on the circle; all positions here are those of 2^64.
  const KeyPlace& keys() const { return keys_; }
  // Short for keys()(key). REQUIRES keys().CanPlace(key).
  uint64_t Position(std::string_view key) const { return keys_(key); }
  // Whether any node may own keys.
  bool HasOwners() const { return slots_ != nullptr ? slots_->HasOwners() : points().size() != 0; }
  // The owner of a position. REQUIRES HasOwners(). A few nanoseconds, no allocation.
  uint32_t Owner(uint64_t position) const {
    return slots_ != nullptr ? slots_->Owner(position) : points().Owner(position);
  }
  // How many owners every position has at least; more has none but in an imported ring.
  size_t owner_count() const { return owner_count_; }
  // Fills `out` with distinct owners of a position in order, and returns how many there are: out.size(), or
  // owner_count() when that is less. The first is Owner(position). REQUIRES out.size() <= kMaxOwners.
  //
  // On points, owner_count() is the number of nodes with a point: those of weight > 0, but for a few presets that leave
  // small weights without. Zones are spread first: among any number of first owners, two zones differ by at most one
  // node as long as both have nodes left; within that, the order is that of the walk round the circle. Nodes without a
  // zone count as one zone. In slots, it is the number of owners that a slot keeps, or of nodes of weight > 0 when that
  // is less, and the order is the slot's.
  size_t Owners(uint64_t position, std::span<uint32_t> out) const;

  // --- Content.

  const Settings& settings() const { return settings_; }
  size_t node_count() const { return table_->nodes.size(); }
  const Node& node(size_t index) const { return *table_->nodes[index]; }
  // All nodes in order of id, with what is derived of each. Holds on to the nodes alone, not to the points.
  std::shared_ptr<const NodeTable> table() const { return table_; }
  // The index of a node, or node_count() when there is none of that id.
  size_t Find(std::string_view id) const;
  uint64_t next_join_number() const { return next_join_number_; }
  uint64_t total_weight() const { return table_->total_weight; }
  size_t point_count() const { return points().size(); }
  // All points, in order round the circle. Valid as long as this ring or one that was copied from it.
  const PointTable& points() const { return *points_; }
  // The slots and their owners; null where the placement has none.
  const std::shared_ptr<const SlotTable>& slots() const { return slots_; }
  // XXH3 64 over settings, nodes, and points or slots; see checksum.h. Computed when the ring is made.
  uint64_t checksum() const { return checksum_; }

  static constexpr size_t kMaxOwners = ring::kMaxOwners;

 private:
  // What is derived of the nodes, or kept beside them. There are always points; where there are slots, none.
  struct Tables {
    std::shared_ptr<const PointTable> points;
    std::shared_ptr<const SlotTable> slots;
    std::vector<absl::uint128> arcs;  // of points, where they are known; else empty
  };

  // REQUIRES nodes in order of id, with their digests, and the tables of just these nodes.
  Ring(const Settings& settings, uint64_t next_join_number, std::vector<NodePtr> nodes, std::vector<uint64_t> digests,
       Tables tables);

  // `moves` null: slots are levelled.
  absl::StatusOr<Applied> ApplyWith(std::span<const Operation> operations, const SlotMoves* moves,
                                    const Limits& limits) const;

  Settings settings_;
  KeyPlace keys_;
  uint64_t next_join_number_ = 1;
  uint64_t checksum_ = 0;
  std::shared_ptr<const NodeTable> table_;
  std::shared_ptr<const PointTable> points_;
  std::shared_ptr<const SlotTable> slots_;
  size_t owner_count_ = 0;
};

// Outcome of Ring::Apply.
struct Applied {
  Ring ring;
  std::vector<NodeDelta> deltas;  // in order of id
  SlotMoves moves;                // of a ring of slots
};

// The weight that a change takes away: of nodes removed and of weights lowered; additions are not set against it.
uint64_t WeightTaken(std::span<const NodeDelta> deltas);

}  // namespace ringd::ring
