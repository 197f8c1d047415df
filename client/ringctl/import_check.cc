#include "client/ringctl/import_check.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "proto/codec.h"
#include "ring/ring.h"
#include "ring/slot_leveller.h"

namespace ringd::ctl {
namespace {

// What the directory would say of nodes that are added one after the other.
absl::Status CheckAdded(const ring::Settings& settings, const ImportedRing& imported) {
  const auto empty = ring::Ring::Create(settings, {});
  if (!empty.ok()) return empty.status();
  std::vector<ring::Operation> operations;
  for (const v1::Node& node : imported.nodes) operations.emplace_back(FromProto(node));
  return empty->Apply(operations, ring::kUnlimited).status();
}

// What it would say of nodes with a table of slots.
absl::Status CheckTable(const ring::Settings& settings, const ImportedRing& imported) {
  std::vector<ring::Node> nodes;
  for (const v1::Node& node : imported.nodes) {
    nodes.push_back(FromProto(node).node);
    if (nodes.back().hash_key.empty()) nodes.back().hash_key = nodes.back().id;
  }
  // A ring tells nodes by their order of id.
  std::vector<uint32_t> by_id(nodes.size());
  std::iota(by_id.begin(), by_id.end(), 0u);
  std::sort(by_id.begin(), by_id.end(), [&](uint32_t a, uint32_t b) { return nodes[a].id < nodes[b].id; });
  std::vector<uint32_t> rank(nodes.size());
  for (uint32_t i = 0; i < by_id.size(); ++i) rank[by_id[i]] = i;
  std::vector<uint32_t> places;
  for (const uint32_t owner : imported.slot_owners) {
    places.push_back(owner == 0 ? ring::SlotTable::kNobody : rank.at(owner - 1));
  }
  const auto ring = ring::Ring::Create(settings, std::move(nodes), 1, ring::kUnlimited, std::move(places));
  if (!ring.ok()) return ring.status();
  if (ring::IsImported(settings.placement)) return absl::OkStatus();
  return ring::CheckLevelled(*ring->slots(), ring->table()->nodes);
}

}  // namespace

absl::Status CheckPlanned(const ImportedRing& imported, const v1::Ring& planned) {
  const auto placement = FromProto(planned.placement());
  if (!placement.ok()) return placement.status();
  const ring::Settings settings{*placement, planned.default_weight()};
  if (!imported.slot_owners.empty()) return CheckTable(settings, imported);
  const bool has_table = !imported.ranges.empty() || imported.nodes.empty();
  return has_table ? absl::OkStatus() : CheckAdded(settings, imported);
}

}  // namespace ringd::ctl
