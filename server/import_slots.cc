#include "server/import_slots.h"

#include <string>

#include "fmt/format.h"
#include "ring/error.h"
#include "ring/placement.h"
#include "ring/slot_import.h"

namespace ringd::server {
namespace {

absl::Status NotTaken(const std::string& text) {
  return ring::Error(absl::StatusCode::kFailedPrecondition, kRingNotImported, text);
}

// Whether the ring takes an import of this form at all.
absl::Status CheckTaken(const ring::Ring& ring, const ImportSlots& import) {
  const ring::Placement& placement = ring.settings().placement;
  if (!ring::SlotShapeOf(placement).has_value()) {
    return NotTaken("it has no slots; those of slots and of redis-cluster are imported");
  }
  if (ring::IsImported(placement)) return absl::OkStatus();
  if (ring.node_count() > 0) {
    return NotTaken(
        fmt::format("a ring of slots takes a table only while it has no nodes, and it has {}", ring.node_count()));
  }
  if (import.as_ranges) return ring::InvalidField("ranges are for redis-cluster; a ring of slots takes slot_owners");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<ring::Applied> ApplyImport(const ring::Ring& ring, const ImportSlots& import,
                                          const ring::Limits& limits) {
  if (absl::Status taken = CheckTaken(ring, import); !taken.ok()) return taken;
  return ring::ApplyTable(ring, import.nodes, import.places, limits);
}

}  // namespace ringd::server
