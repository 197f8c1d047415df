// A placement: the settings that turn nodes into points or slots, and keys into positions. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "ring/circle.h"
#include "ring/hash.h"
#include "ring/hashed_placement.h"
#include "ring/node.h"
#include "ring/points_placement.h"
#include "ring/preset.h"
#include "ring/slot_table.h"

namespace ringd::ring {

using Placement = std::variant<HashedSettings, PresetSettings, SlotsSettings, PointsSettings>;

// INVALID_ARGUMENT: NOT_SERVED_YET for what has a number but no code yet, INVALID_FIELD for what is wrong.
absl::Status CheckPlacement(const Placement& placement);

// INVALID_ARGUMENT for a node that the placement cannot have: a hash_key that its hash cannot read, a weight other than
// 0 and default_weight where it has no weights, points that CheckNodePoints refuses or that have no place in it.
absl::Status CheckNode(const Placement& placement, const Node& node, uint32_t default_weight);

// Whose point is first where several nodes have one at a position, and the order that a preset takes for that of the
// original's list.
enum class NodeOrder { kById, kEarlierJoinFirst, kLaterJoinFirst };

// What the rest of a ring needs to know of its placement. All REQUIRE CheckPlacement.
NodeOrder NodeOrderOf(const Placement& placement);
// Whether a node's points depend on nothing but the node. (Slots have no points at all.)
bool PointsStandAlone(const Placement& placement);
// Whether a node of weight > 0 has points for sure.
bool WeightGivesPoints(const Placement& placement);

// The form of the table of slots that a ring of the placement keeps; nothing where it has none.
struct SlotShape {
  uint32_t slot_bits = 0;
  uint32_t owners = 0;  // places of a slot
};
std::optional<SlotShape> SlotShapeOf(const Placement& placement);
// Whether the slots are those of another authority, which are told and never levelled.
bool IsImported(const Placement& placement);

// For how many points these nodes take memory, whether or not a weight puts those that they bring on the circle. The
// number of PointsOf in all other placements; UINT64_MAX where it is beyond 64 bits. REQUIRES CheckNode of each.
uint64_t PointCount(const Placement& placement, std::span<const NodePtr> nodes);
// All points of these nodes, told by their index; REQUIRES as PointCount. Points are where the keys end that they own.
std::vector<Point> PointsOf(const Placement& placement, std::span<const NodePtr> nodes);
// Appends those of one node. REQUIRES PointsStandAlone.
void AppendPointsOf(const Placement& placement, const Node& node, uint32_t index, std::vector<Point>& points);

// Where a placement puts keys.
class KeyPlace {
 public:
  // REQUIRES CheckPlacement.
  explicit KeyPlace(const Placement& placement);

  // The values that keys are told by outside of ring/.
  const Circle& circle() const { return circle_; }
  // False for every key where the hash is not known here, that is in the points placement.
  bool has_hash() const { return has_hash_; }
  // Else false only for bytes that are no UTF-8, where the hash reads characters.
  bool CanPlace(std::string_view key) const { return !judges_keys_ || CanRead(key); }
  // Where a key lies on the circle of 2^64 positions. REQUIRES CanPlace(key).
  uint64_t operator()(std::string_view key) const { return plain_ ? HashKey(key) : Other(key); }

 private:
  bool CanRead(std::string_view key) const;
  uint64_t Other(std::string_view key) const;

  HashFunction hash_ = HashFunction::kXxh3_64;
  std::string hash_tag_;
  std::optional<PresetSettings> preset_;  // which may hash keys in a way of its own
  Circle circle_;
  bool has_hash_ = true;
  bool plain_ = false;  // the whole key, by XXH3
  bool judges_keys_ = false;
};

}  // namespace ringd::ring
