#include "client/messages.h"

#include <algorithm>

#include "google/protobuf/util/time_util.h"
#include "proto/enum_names.h"
#include "ring/error.h"

namespace ringd {
namespace {

std::chrono::system_clock::time_point ToTime(const google::protobuf::Timestamp& timestamp) {
  const std::chrono::nanoseconds since_1970(google::protobuf::util::TimeUtil::TimestampToNanoseconds(timestamp));
  return std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(since_1970));
}

HistoryLimits ToValue(const v1::HistoryLimits& limits) {
  using google::protobuf::util::TimeUtil;
  HistoryLimits value;
  if (limits.has_max_age())
    value.max_age = std::chrono::milliseconds(TimeUtil::DurationToMilliseconds(limits.max_age()));
  if (limits.has_max_changes()) value.max_changes = limits.max_changes();
  return value;
}

ChangeableSettings ToValue(const v1::RingUpdate& update) {
  return {.default_weight = update.default_weight(),
          .labels = {update.labels().begin(), update.labels().end()},
          .history_limits = ToValue(update.history_limits())};
}

NodeDelta ToValue(const v1::NodeDelta& delta) {
  NodeDelta value;
  if (delta.has_before()) value.before = ringd::ToValue(delta.before());
  if (delta.has_after()) value.after = ringd::ToValue(delta.after());
  return value;
}

struct ToOperation {
  v1::NodeOperation* out;

  void operator()(const AddNode& add) const { ToMessage(add.node, out->mutable_add()->mutable_node()); }
  void operator()(const RemoveNode& remove) const { out->mutable_remove()->set_node_id(remove.id); }
  void operator()(const UpdateNode& update) const {
    ToMessage(update, out->mutable_update()->mutable_node(), out->mutable_update()->mutable_update_mask());
  }
};

}  // namespace

std::string ToString(const Version& version) {
  return std::to_string(version.epoch) + "/" + std::to_string(version.revision);
}

Version ToValue(const v1::Version& version) { return {.epoch = version.epoch(), .revision = version.revision()}; }

Owner ToValue(const v1::Owner& owner) { return {.id = owner.id(), .address = owner.address(), .zone = owner.zone()}; }

Node ToValue(const v1::Node& node) {
  Node value{.id = node.id(),
             .address = node.address(),
             .zone = node.zone(),
             .hash_key = node.hash_key(),
             .metadata = {node.metadata().begin(), node.metadata().end()},
             .points = {node.points().begin(), node.points().end()}};
  if (node.has_weight()) value.weight = node.weight();
  return value;
}

absl::Status ToMessage(const Placement& placement, v1::Placement* out) {
  if (const auto* slots = std::get_if<SlotsPlacement>(&placement)) {
    v1::SlotsPlacement* message = out->mutable_slots();
    if (slots->slot_bits.has_value()) message->set_slot_bits(*slots->slot_bits);
    if (slots->owners.has_value()) message->set_owners(*slots->owners);
  } else if (const auto* hashed = std::get_if<HashedPlacement>(&placement)) {
    v1::HashedPlacement* message = out->mutable_hashed();
    if (hashed->points_per_weight.has_value()) message->set_points_per_weight(*hashed->points_per_weight);
  } else if (const auto* points = std::get_if<PointsPlacement>(&placement)) {
    v1::PointsPlacement* message = out->mutable_points();
    if (points->last_position.has_value()) message->set_last_position(*points->last_position);
  } else {
    const std::string& name = std::get<PresetPlacement>(placement).preset;
    const int number = NumberOfName(*v1::Preset_descriptor(), name);
    if (number == 0) return ring::InvalidField("preset " + ring::Quote(name) + " is none that this library knows");
    out->mutable_preset()->set_preset(static_cast<v1::Preset>(number));
  }
  return absl::OkStatus();
}

Placement ToValue(const v1::Placement& placement) {
  if (placement.has_hashed()) return HashedPlacement{.points_per_weight = placement.hashed().points_per_weight()};
  if (placement.has_points()) return PointsPlacement{.last_position = placement.points().last_position()};
  if (placement.has_preset()) {
    return PresetPlacement{.preset = ShortName(*v1::Preset_descriptor(), placement.preset().preset())};
  }
  return SlotsPlacement{.slot_bits = placement.slots().slot_bits(), .owners = placement.slots().owners()};
}

RingInfo ToValue(const v1::Ring& ring) {
  return {.name = ring.name(),
          .version = ToValue(ring.version()),
          .checksum = ring.checksum().value(),
          .placement = ToValue(ring.placement()),
          .default_weight = ring.default_weight(),
          .labels = {ring.labels().begin(), ring.labels().end()},
          .history_limits = ToValue(ring.history_limits()),
          .create_time = ToTime(ring.create_time()),
          .update_time = ToTime(ring.update_time()),
          .node_count = ring.node_count(),
          .total_weight = ring.total_weight(),
          .point_count = ring.point_count(),
          .imbalance = ring.imbalance()};
}

Movement ToValue(const v1::Movement& movement) {
  const auto balance = [](const v1::Balance& message) {
    return Balance{.max_ratio = message.max_ratio(), .min_ratio = message.min_ratio()};
  };
  Movement value{.moved_share = movement.moved_share(),
                 .other_pairs_share = movement.other_pairs_share(),
                 .new_members_share = movement.new_members_share()};
  for (const v1::MovedPair& pair : movement.pairs()) {
    MovedPair& out = value.pairs.emplace_back(MovedPair{.share = pair.share()});
    if (pair.has_from()) out.from = pair.from();
    if (pair.has_to()) out.to = pair.to();
  }
  if (movement.has_before()) value.before = balance(movement.before());
  if (movement.has_after()) value.after = balance(movement.after());
  return value;
}

Plan ToValue(const v1::Plan& plan) {
  Plan value{.ring = ToValue(plan.ring()),
             .nodes_left_out = plan.nodes_left_out(),
             .force_needed = plan.force_needed(),
             .force_reason = plan.force_reason()};
  for (const v1::Node& node : plan.nodes()) {
    value.nodes.push_back(ToValue(node));
    value.shares.push_back(node.share());
  }
  return value;
}

ChangeRecord ToValue(const v1::ChangeRecord& change) {
  ChangeRecord value{.version = ToValue(change.version()),
                     .from_revision = change.from_revision(),
                     .checksum = change.checksum().value(),
                     .time = ToTime(change.time()),
                     .actor = change.actor(),
                     .reason = change.reason(),
                     .request_id = change.request_id(),
                     .nodes_left_out = change.nodes_left_out(),
                     .movement = ToValue(change.movement())};
  for (const v1::NodeDelta& delta : change.nodes()) value.nodes.push_back(ToValue(delta));
  if (change.has_ring_update()) {
    value.settings = {ToValue(change.ring_update().before()), ToValue(change.ring_update().after())};
  }
  return value;
}

absl::StatusOr<VersionDiff> ToValue(const v1::DiffVersionsResponse& joined) {
  if (!joined.has_movement()) return absl::InternalError("the directory told ranges that moved, but no movement");
  VersionDiff diff{.from = ToValue(joined.from()), .to = ToValue(joined.to()), .movement = ToValue(joined.movement())};
  diff.ranges.reserve(static_cast<size_t>(joined.ranges_size()));
  for (const v1::MovedRange& moved : joined.ranges()) {
    MovedRange& range = diff.ranges.emplace_back();
    range.first = moved.range().first();
    range.last = moved.range().last();
    if (moved.has_from()) range.from = moved.from();
    if (moved.has_to()) range.to = moved.to();
  }
  return diff;
}

absl::StatusOr<LookupResult> ToValue(const v1::LookupResponse& response, size_t owners) {
  const auto told = static_cast<size_t>(response.owners_size());
  if (told < 1 || told > owners) {
    return absl::InternalError("the directory answered " + std::to_string(told) + " owners, asked for " +
                               std::to_string(owners));
  }
  LookupResult result{
      .version = ToValue(response.version()), .hash = response.hash(), .owners_short = response.owners_short()};
  for (const v1::Owner& owner : response.owners()) result.owners.push_back(ToValue(owner));
  return result;
}

absl::StatusOr<BatchLookupResult> ToValue(const v1::BatchLookupResponse& response, size_t keys, size_t owners) {
  const auto nodes = static_cast<uint32_t>(response.nodes_size());
  const auto& indices = response.owner_indices();
  const auto per_key = uint64_t{response.owners_per_key()};
  const bool each = keys == 0 || (per_key >= 1 && per_key <= owners);
  const bool whole = static_cast<uint64_t>(indices.size()) == keys * per_key;
  if (!each || !whole || std::any_of(indices.begin(), indices.end(), [&](uint32_t index) { return index >= nodes; })) {
    return absl::InternalError("the directory answered " + std::to_string(indices.size()) + " owners of " +
                               std::to_string(nodes) + " nodes, " + std::to_string(per_key) + " for each of " +
                               std::to_string(keys) + " keys, asked for " + std::to_string(owners));
  }
  BatchLookupResult result{.version = ToValue(response.version()),
                           .owner_indices = {indices.begin(), indices.end()},
                           .owners_per_key = response.owners_per_key(),
                           .owners_short = response.owners_short()};
  for (const v1::Owner& node : response.nodes()) result.nodes.push_back(ToValue(node));
  return result;
}

void ToMessage(const Version& version, v1::Version* out) {
  out->set_epoch(version.epoch);
  out->set_revision(version.revision);
}

void ToMessage(const Node& node, v1::Node* out) {
  out->set_id(node.id);
  out->set_address(node.address);
  if (node.weight.has_value()) out->set_weight(*node.weight);
  out->set_zone(node.zone);
  out->set_hash_key(node.hash_key);
  out->mutable_metadata()->insert(node.metadata.begin(), node.metadata.end());
  out->mutable_points()->Add(node.points.begin(), node.points.end());
}

void ToMessage(const Operation& operation, v1::NodeOperation* out) { std::visit(ToOperation{out}, operation); }

void ToMessage(const UpdateNode& update, v1::Node* node, google::protobuf::FieldMask* mask) {
  node->set_id(update.id);
  if (update.weight.has_value()) {
    node->set_weight(*update.weight);
    mask->add_paths("weight");
  }
  if (update.address.has_value()) {
    node->set_address(*update.address);
    mask->add_paths("address");
  }
  if (update.zone.has_value()) {
    node->set_zone(*update.zone);
    mask->add_paths("zone");
  }
  if (update.metadata.has_value()) {
    node->mutable_metadata()->insert(update.metadata->begin(), update.metadata->end());
    mask->add_paths("metadata");
  }
  if (update.points.has_value()) {
    node->mutable_points()->Add(update.points->begin(), update.points->end());
    mask->add_paths("points");
  }
}

void ToMessage(const UpdateRing& update, v1::UpdateRingRequest* out) {
  google::protobuf::FieldMask& mask = *out->mutable_update_mask();
  if (update.default_weight.has_value()) {
    out->set_default_weight(*update.default_weight);
    mask.add_paths("default_weight");
  }
  if (update.labels.has_value()) {
    out->mutable_labels()->insert(update.labels->begin(), update.labels->end());
    mask.add_paths("labels");
  }
  if (update.history_limits.has_value()) {
    using google::protobuf::util::TimeUtil;
    const HistoryLimits& limits = *update.history_limits;
    if (limits.max_age.has_value()) {
      *out->mutable_history_limits()->mutable_max_age() = TimeUtil::MillisecondsToDuration(limits.max_age->count());
    }
    if (limits.max_changes.has_value()) out->mutable_history_limits()->set_max_changes(*limits.max_changes);
    mask.add_paths("history_limits");
  }
}

void ToMessage(const MutationOptions& options, v1::MutationOptions* out) {
  if (options.expected_version.has_value()) ToMessage(*options.expected_version, out->mutable_expected_version());
  out->set_request_id(options.request_id);
  out->set_reason(options.reason);
  out->set_validate_only(options.validate_only);
  out->set_force(options.force);
  if (!options.wait_for.has_value()) return;
  const std::chrono::milliseconds timeout = options.wait_for->timeout;
  out->mutable_wait_for()->set_share(options.wait_for->share);
  out->mutable_wait_for()->mutable_timeout()->set_seconds(timeout.count() / 1'000);
  out->mutable_wait_for()->mutable_timeout()->set_nanos(static_cast<int32_t>(timeout.count() % 1'000 * 1'000'000));
}

WaitResult ToValue(const v1::WaitResult& message) {
  return {.watchers = message.watchers(),
          .applied = message.applied(),
          .lagging = {message.lagging().begin(), message.lagging().end()},
          .reached = message.reached()};
}

}  // namespace ringd
