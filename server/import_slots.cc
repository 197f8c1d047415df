#include "server/import_slots.h"

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "ring/error.h"
#include "ring/placement.h"
#include "ring/slot_leveller.h"

namespace ringd::server {
namespace {

absl::Status NotTaken(const std::string& text) {
  return ring::Error(absl::StatusCode::kFailedPrecondition, kRingNotImported, text);
}

// What makes the nodes of a ring those of an import: each as it is there, with the join number that it has.
std::vector<ring::Operation> OperationsOf(const ImportSlots& import, const ring::Ring& ring) {
  std::vector<ring::Operation> operations;
  std::set<std::string_view> named;
  for (const ring::AddNode& add : import.nodes) {
    named.insert(add.node.id);
    const size_t held = ring.Find(add.node.id);
    if (held == ring.node_count()) {
      operations.emplace_back(add);
      continue;
    }
    ring::Node node = add.node;
    if (add.default_weight) node.weight = ring.settings().default_weight;
    node.join_number = ring.node(held).join_number;
    operations.emplace_back(ring::PutNode{.node = std::move(node)});
  }
  for (const ring::NodePtr& node : ring.table()->nodes) {
    if (!named.contains(node->id)) operations.emplace_back(ring::RemoveNode{.id = node->id});
  }
  return operations;
}

// The whole table as moves. REQUIRES a table of so many owners a slot.
ring::SlotMoves MovesOf(const ImportSlots& import, uint32_t owners) {
  ring::SlotMoves moves{.owners = owners};
  for (const ring::AddNode& add : import.nodes) moves.nodes.push_back(add.node.id);
  const std::span<const uint32_t> places = import.places;
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
  moves.before.resize(moves.after.size(), ring::SlotTable::kNobody);
  return moves;
}

// Whether the ring takes this import, so far as its nodes have no say.
absl::Status CheckTaken(const ring::Ring& ring, const ImportSlots& import) {
  const auto shape = ring::SlotShapeOf(ring.settings().placement);
  if (!shape.has_value()) return NotTaken("it has no slots; those of slots and of redis-cluster are imported");
  if (!ring::IsImported(ring.settings().placement)) {
    if (ring.node_count() > 0) {
      return NotTaken(
          fmt::format("a ring of slots takes a table only while it has no nodes, and it has {}", ring.node_count()));
    }
    if (import.as_ranges) return ring::InvalidField("ranges are for redis-cluster; a ring of slots takes slot_owners");
  }
  const absl::Status places = ring::CheckPlaces(shape->slot_bits, shape->owners, import.places, import.nodes.size());
  return places.ok() ? places : ring::InvalidField(fmt::format("slot_owners: {}", std::string(places.message())));
}

// Redis serves no slot without a master; it gives no weights, so that they tell just who is one.
absl::Status CheckMasters(const ring::Ring& ring) {
  if (!ring.HasOwners()) return ring::InvalidField("slot 0 has no owner; each must have one");
  std::vector<bool> is_master(ring.node_count());
  for (size_t slot = 0; slot < ring.slots()->slot_count(); ++slot) {
    const uint32_t index = ring.slots()->PlacesOf(slot).front();
    is_master[index] = true;
    const ring::Node& master = ring.node(index);
    if (master.weight > 0) continue;
    return ring::InvalidField(
        fmt::format("slot {} has the first owner {}, whose weight is 0", slot, ring::Quote(master.id)));
  }
  for (size_t i = 0; i < ring.node_count(); ++i) {
    const ring::Node& node = ring.node(i);
    if (is_master[i] || node.weight == 0) continue;
    return ring::InvalidField(fmt::format("node {} is the first owner of no slot; its weight must be 0, and is {}",
                                          ring::Quote(node.id), node.weight));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ring::Applied> ApplyImport(const ring::Ring& ring, const ImportSlots& import,
                                          const ring::Limits& limits) {
  if (absl::Status taken = CheckTaken(ring, import); !taken.ok()) return taken;
  const ring::Placement& placement = ring.settings().placement;
  auto applied = ring.Apply(OperationsOf(import, ring), MovesOf(import, ring::SlotShapeOf(placement)->owners), limits);
  if (!applied.ok()) return applied;
  const ring::Ring& after = applied->ring;
  absl::Status good =
      ring::IsImported(placement) ? CheckMasters(after) : ring::CheckLevelled(*after.slots(), after.table()->nodes);
  if (!good.ok()) return good;
  return applied;
}

}  // namespace ringd::server
