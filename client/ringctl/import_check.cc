#include "client/ringctl/import_check.h"

#include <cstdint>
#include <vector>

#include "proto/codec.h"
#include "ring/ring.h"
#include "ring/slot_import.h"

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
  const auto empty = ring::Ring::Create(settings, {});
  if (!empty.ok()) return empty.status();
  std::vector<ring::AddNode> nodes;
  for (const v1::Node& node : imported.nodes) nodes.push_back(FromProto(node));
  std::vector<uint32_t> places;
  AppendPlaces({imported.slot_owners.begin(), imported.slot_owners.end()}, &places);
  return ring::ApplyTable(*empty, nodes, places, ring::kUnlimited).status();
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
