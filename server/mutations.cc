#include "server/mutations.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "proto/codec.h"
#include "proto/serialize.h"
#include "ring/error.h"
#include "ring/hash.h"
#include "ring/placement.h"
#include "server/responses.h"

namespace ringd::server {
namespace {

using What = decltype(Mutation::what);

// A fingerprint of the request's content: equal for a retry, and different for another request under the same id.
template <class Request>
uint64_t Fingerprint(const Request& request) {
  Request content = request;
  content.mutable_options()->clear_request_id();
  return ring::HashKey(Request::descriptor()->full_name() + SerializeDeterministic(content));
}

template <class Request>
absl::StatusOr<Mutation> MutationOf(const Request& request, absl::StatusOr<What> what) {
  if (!what.ok()) return ring::Prefixed(fmt::format("ring {}: ", ring::Quote(request.ring())), what.status());
  const v1::MutationOptions& options = request.options();
  Mutation mutation{.ring = request.ring(),
                    .what = *std::move(what),
                    .request_id = options.request_id(),
                    .reason = options.reason(),
                    .validate_only = options.validate_only(),
                    .force = options.force()};
  if (options.has_expected_version()) mutation.expected_version = ringd::FromProto(options.expected_version());
  if (!mutation.request_id.empty()) mutation.request_fingerprint = Fingerprint(request);
  return mutation;
}

absl::StatusOr<What> OneOperation(absl::StatusOr<ring::Operation> operation) {
  if (!operation.ok()) return operation.status();
  ChangeNodes change;
  change.operations.push_back(*std::move(operation));
  return change;
}

absl::StatusOr<What> CreationOf(const v1::CreateRingRequest& request) {
  auto placement = ringd::FromProto(request.placement());
  if (!placement.ok()) return placement.status();
  const bool preset = request.placement().has_preset();
  CreateRing create{.settings = {.placement = *std::move(placement), .default_weight = preset ? 1u : 100u},
                    .labels = {request.labels().begin(), request.labels().end()},
                    .history_limits = FromProto(request.history_limits())};
  if (request.has_default_weight()) create.settings.default_weight = request.default_weight();
  return create;
}

absl::StatusOr<What> UpdateOf(const v1::UpdateRingRequest& request) {
  constexpr std::string_view kPaths =
      "default_weight, labels, history_limits, history_limits.max_age, history_limits.max_changes";
  if (request.update_mask().paths().empty()) {
    return ring::InvalidField(fmt::format("update_mask names no path; it takes {}", kPaths));
  }
  const HistoryLimits limits = FromProto(request.history_limits());
  UpdateRing update;
  for (const std::string& path : request.update_mask().paths()) {
    const bool both = path == "history_limits";
    if (path == "default_weight") {
      if (!request.has_default_weight()) return ring::InvalidField("update_mask names default_weight, which is absent");
      update.default_weight = request.default_weight();
    } else if (path == "labels") {
      // A mask may name it as often as there is room in a request.
      if (!update.labels.has_value()) update.labels.emplace(request.labels().begin(), request.labels().end());
    } else if (both || path == "history_limits.max_age" || path == "history_limits.max_changes") {
      if (both || path == "history_limits.max_age") update.max_age = limits.max_age;
      if (both || path == "history_limits.max_changes") update.max_changes = limits.max_changes;
    } else {
      return ring::InvalidField(fmt::format("update_mask has the path {}; it takes {}", ring::Quote(path), kPaths));
    }
  }
  return update;
}

absl::StatusOr<What> ChangeOf(const v1::ApplyChangesRequest& request) {
  ChangeNodes change;
  for (const v1::NodeOperation& operation : request.operations()) {
    auto converted = ringd::FromProto(operation);
    if (!converted.ok()) return converted.status();
    change.operations.push_back(*std::move(converted));
  }
  return change;
}

// The table of redis-cluster that ranges tell. REQUIRES what CheckRequest accepts: slots and nodes that are there.
std::vector<uint32_t> PlacesOf(const v1::ImportSlotsRequest& request) {
  std::unordered_map<std::string_view, uint32_t> index;
  for (int i = 0; i < request.nodes_size(); i++) index.try_emplace(request.nodes(i).id(), static_cast<uint32_t>(i));
  const ring::SlotShape shape = *ring::SlotShapeOf(ring::DefaultsOf(ring::Preset::kRedisCluster));
  std::vector<uint32_t> places((size_t{1} << shape.slot_bits) * shape.owners, ring::SlotTable::kNobody);
  for (const v1::SlotRange& range : request.ranges()) {
    for (size_t slot = range.first(); slot <= range.last(); slot++) {
      std::transform(range.node_ids().begin(), range.node_ids().end(),
                     places.begin() + static_cast<std::ptrdiff_t>(slot * shape.owners),
                     [&](const std::string& id) { return index.at(id); });
    }
  }
  return places;
}

What ImportOf(const v1::ImportSlotsRequest& request) {
  ImportSlots import;
  for (const v1::Node& node : request.nodes()) import.nodes.push_back(ringd::FromProto(node));
  import.as_ranges = request.slot_owners().empty();
  if (import.as_ranges) {
    import.places = PlacesOf(request);
  } else {
    AppendPlaces(request.slot_owners(), &import.places);
  }
  return import;
}

}  // namespace

absl::StatusOr<Mutation> ToMutation(const v1::CreateRingRequest& request) {
  return MutationOf(request, CreationOf(request));
}

absl::StatusOr<Mutation> ToMutation(const v1::DeleteRingRequest& request) { return MutationOf(request, DeleteRing{}); }

absl::StatusOr<Mutation> ToMutation(const v1::UpdateRingRequest& request) {
  return MutationOf(request, UpdateOf(request));
}

absl::StatusOr<Mutation> ToMutation(const v1::RestoreVersionRequest& request) {
  return MutationOf(request, RestoreVersion{.version = ringd::FromProto(request.version())});
}

absl::StatusOr<Mutation> ToMutation(const v1::AddNodeRequest& request) {
  return MutationOf(request, OneOperation(ringd::FromProto(request.node())));
}

absl::StatusOr<Mutation> ToMutation(const v1::RemoveNodeRequest& request) {
  return MutationOf(request, OneOperation(ring::RemoveNode{.id = request.node_id()}));
}

absl::StatusOr<Mutation> ToMutation(const v1::UpdateNodeRequest& request) {
  return MutationOf(request, OneOperation(ringd::FromProto(request.node(), request.update_mask())));
}

absl::StatusOr<Mutation> ToMutation(const v1::ApplyChangesRequest& request) {
  return MutationOf(request, ChangeOf(request));
}

absl::StatusOr<Mutation> ToMutation(const v1::ImportSlotsRequest& request) {
  return MutationOf(request, ImportOf(request));
}

}  // namespace ringd::server
