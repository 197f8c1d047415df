#include "ring/slot_import.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ring/error.h"
#include "ring/placement.h"
#include "ring/slot_leveller.h"

namespace ringd::ring {
namespace {

// What makes the nodes of a ring those of an import: each as it is there, with the join number that it has.
std::vector<Operation> OperationsOf(std::span<const AddNode> nodes, const Ring& ring) {
  std::vector<Operation> operations;
  std::set<std::string_view> named;
  for (const AddNode& add : nodes) {
    named.insert(add.node.id);
    const size_t held = ring.Find(add.node.id);
    if (held == ring.node_count()) {
      operations.emplace_back(add);
      continue;
    }
    Node node = add.node;
    if (add.default_weight) node.weight = ring.settings().default_weight;
    node.join_number = ring.node(held).join_number;
    operations.emplace_back(PutNode{.node = std::move(node)});
  }
  for (const NodePtr& node : ring.table()->nodes) {
    if (!named.contains(node->id)) operations.emplace_back(RemoveNode{.id = node->id});
  }
  return operations;
}

// The whole table as moves. REQUIRES a table of so many owners a slot.
SlotMoves MovesOf(std::span<const AddNode> nodes, std::span<const uint32_t> places, uint32_t owners) {
  SlotMoves moves{.owners = owners};
  for (const AddNode& add : nodes) moves.nodes.push_back(add.node.id);
  for (size_t first = 0; first < places.size(); first += owners) {
    const auto slot = static_cast<uint32_t>(first / owners);
    const std::span<const uint32_t> here = places.subspan(first, owners);
    if (slot > 0 && std::ranges::equal(here, places.subspan(first - owners, owners))) {
      moves.runs.back().last = slot;
      continue;
    }
    moves.runs.push_back({.first = slot, .last = slot});
    moves.after.insert(moves.after.end(), here.begin(), here.end());
  }
  moves.before.resize(moves.after.size(), SlotTable::kNobody);
  return moves;
}

// Redis serves no slot without a master; it gives no weights, so that they tell just who is one.
absl::Status CheckMasters(const Ring& ring) {
  if (!ring.HasOwners()) return InvalidField("slot 0 has no owner; each must have one");
  std::vector<bool> is_master(ring.node_count());
  for (size_t slot = 0; slot < ring.slots()->slot_count(); ++slot) {
    const uint32_t index = ring.slots()->PlacesOf(slot).front();
    is_master[index] = true;
    const Node& master = ring.node(index);
    if (master.weight > 0) continue;
    return InvalidField("slot " + std::to_string(slot) + " has the first owner " + Quote(master.id) +
                        ", whose weight is 0");
  }
  for (size_t i = 0; i < ring.node_count(); ++i) {
    const Node& node = ring.node(i);
    if (is_master[i] || node.weight == 0) continue;
    return InvalidField("node " + Quote(node.id) + " is the first owner of no slot; its weight must be 0, and is " +
                        std::to_string(node.weight));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Applied> ApplyTable(const Ring& ring, std::span<const AddNode> nodes, std::span<const uint32_t> places,
                                   const Limits& limits) {
  const Placement& placement = ring.settings().placement;
  const SlotShape shape = *SlotShapeOf(placement);
  if (absl::Status fit = CheckPlaces(shape.slot_bits, shape.owners, places, nodes.size()); !fit.ok()) {
    return InvalidField("slot_owners: " + std::string(fit.message()));
  }
  auto applied = ring.Apply(OperationsOf(nodes, ring), MovesOf(nodes, places, shape.owners), limits);
  if (!applied.ok()) return applied;
  const Ring& after = applied->ring;
  absl::Status good = IsImported(placement) ? CheckMasters(after) : CheckLevelled(*after.slots(), after.table()->nodes);
  if (!good.ok()) return good;
  return applied;
}

}  // namespace ringd::ring
