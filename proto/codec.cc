#include "proto/codec.h"

#include <string>

#include "fmt/format.h"
#include "ring/checksum.h"
#include "ring/error.h"

namespace ringd {
void ToProto(const ring::Version& version, v1::Version* out) {
  out->set_epoch(version.epoch);
  out->set_revision(version.revision);
}

ring::Version FromProto(const v1::Version& version) {
  return {.epoch = version.epoch(), .revision = version.revision()};
}

void ToProto(uint64_t checksum, v1::Checksum* out) {
  out->set_algorithm(ring::kChecksumAlgorithm);
  out->set_value(checksum);
}

void ToProto(const ring::HashedSettings& settings, v1::Placement* out) {
  v1::HashedPlacement* hashed = out->mutable_hashed();
  hashed->set_hash(static_cast<v1::HashFunction>(settings.hash));
  hashed->set_label(settings.label);
  hashed->set_points_per_weight(settings.points_per_weight);
  hashed->set_match(static_cast<v1::PointMatch>(settings.match));
  hashed->set_tie_rule(static_cast<v1::TieRule>(settings.tie_rule));
  hashed->set_hash_tag(settings.hash_tag);
}

absl::StatusOr<ring::HashedSettings> FromProto(const v1::Placement& placement) {
  switch (placement.kind_case()) {
    case v1::Placement::kHashed:
      break;
    case v1::Placement::kSlots:
      return ring::NotServedYet("the placement slots");
    case v1::Placement::kPreset:
      return ring::NotServedYet("a preset");
    case v1::Placement::KIND_NOT_SET:
      return ring::InvalidField("placement must be named (hashed)");
  }
  const v1::HashedPlacement& hashed = placement.hashed();
  ring::HashedSettings settings;
  if (hashed.hash() != v1::HASH_FUNCTION_UNSPECIFIED) settings.hash = static_cast<ring::HashFunction>(hashed.hash());
  if (!hashed.label().empty()) settings.label = hashed.label();
  if (hashed.has_points_per_weight()) settings.points_per_weight = hashed.points_per_weight();
  if (hashed.match() != v1::POINT_MATCH_UNSPECIFIED) settings.match = static_cast<ring::PointMatch>(hashed.match());
  if (hashed.tie_rule() != v1::TIE_RULE_UNSPECIFIED) settings.tie_rule = static_cast<ring::TieRule>(hashed.tie_rule());
  settings.hash_tag = hashed.hash_tag();
  if (absl::Status status = ring::CheckServed(settings); !status.ok()) return status;
  return settings;
}

void ToProto(const ring::Node& node, double share, v1::Node* out) {
  out->set_id(node.id);
  out->set_address(node.address);
  out->set_weight(node.weight);
  out->set_zone(node.zone);
  out->set_hash_key(node.hash_key);
  out->mutable_metadata()->insert(node.metadata.begin(), node.metadata.end());
  out->set_join_number(node.join_number);
  out->set_share(share);
}

ring::AddNode FromProto(const v1::Node& node) {
  return {.node = {.id = node.id(),
                   .address = node.address(),
                   .weight = node.weight(),
                   .zone = node.zone(),
                   .hash_key = node.hash_key(),
                   .metadata = {node.metadata().begin(), node.metadata().end()}},
          .default_weight = !node.has_weight()};
}

absl::StatusOr<ring::UpdateNode> FromProto(const v1::Node& node, const google::protobuf::FieldMask& mask) {
  if (mask.paths().empty())
    return ring::InvalidField("update_mask names no path; it takes weight, address, zone, metadata");
  ring::UpdateNode update{.id = node.id()};
  for (const std::string& path : mask.paths()) {
    if (path == "weight") {
      update.default_weight = !node.has_weight();
      if (node.has_weight()) update.weight = node.weight();
    } else if (path == "address") {
      update.address = node.address();
    } else if (path == "zone") {
      update.zone = node.zone();
    } else if (path == "metadata") {
      // A mask may name it as often as there is room in a request.
      if (!update.metadata.has_value()) update.metadata.emplace(node.metadata().begin(), node.metadata().end());
    } else {
      return ring::InvalidField(
          fmt::format("update_mask has the path {}; it takes weight, address, zone, metadata", ring::Quote(path)));
    }
  }
  return update;
}

absl::StatusOr<ring::Operation> FromProto(const v1::NodeOperation& operation) {
  switch (operation.operation_case()) {
    case v1::NodeOperation::kAdd:
      return FromProto(operation.add().node());
    case v1::NodeOperation::kRemove:
      return ring::RemoveNode{.id = operation.remove().node_id()};
    case v1::NodeOperation::kUpdate:
      return FromProto(operation.update().node(), operation.update().update_mask());
    case v1::NodeOperation::OPERATION_NOT_SET:
      break;
  }
  return ring::InvalidField("an operation must be one of add, remove, update");
}

void ToProto(const ring::NodeDelta& delta, v1::NodeChange* out) {
  if (delta.after == nullptr) {
    out->set_removed(delta.before->id);
  } else {
    ToProto(*delta.after, 0, delta.before == nullptr ? out->mutable_added() : out->mutable_updated());
  }
}

void ToProto(const ring::Node& node, v1::Owner* out) {
  out->set_id(node.id);
  out->set_address(node.address);
  out->set_zone(node.zone);
}

}  // namespace ringd
