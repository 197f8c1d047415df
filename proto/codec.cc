#include "proto/codec.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>

#include "fmt/format.h"
#include "ring/checksum.h"
#include "ring/error.h"

namespace ringd {
namespace {

void ToMessage(const ring::HashedSettings& settings, v1::HashedPlacement* out) {
  out->set_hash(static_cast<v1::HashFunction>(settings.hash));
  out->set_label(settings.label);
  out->set_points_per_weight(settings.points_per_weight);
  out->set_match(static_cast<v1::PointMatch>(settings.match));
  out->set_tie_rule(static_cast<v1::TieRule>(settings.tie_rule));
  out->set_hash_tag(settings.hash_tag);
}

void ToMessage(const ring::PresetSettings& settings, v1::PresetPlacement* out) {
  out->set_preset(static_cast<v1::Preset>(settings.preset));
  out->set_hash(static_cast<v1::HashFunction>(settings.hash));
  out->set_hash_tag(settings.hash_tag);
  if (settings.preset != ring::Preset::kEnvoyRingHash) return;
  out->set_minimum_ring_size(settings.minimum_ring_size);
  out->set_maximum_ring_size(settings.maximum_ring_size);
}

void ToMessage(const ring::SlotsSettings& settings, v1::SlotsPlacement* out) {
  out->set_slot_bits(settings.slot_bits);
  out->set_owners(settings.owners);
  out->set_hash(static_cast<v1::HashFunction>(settings.hash));
  out->set_hash_tag(settings.hash_tag);
}

void ToMessage(const ring::PointsSettings& settings, v1::PointsPlacement* out) {
  out->set_last_position(settings.last_position);
  out->set_match(static_cast<v1::PointMatch>(settings.match));
  out->set_tie_rule(static_cast<v1::TieRule>(settings.tie_rule));
}

ring::PointsSettings ToSettings(const v1::PointsPlacement& points) {
  ring::PointsSettings settings;
  if (points.has_last_position()) settings.last_position = points.last_position();
  if (points.match() != v1::POINT_MATCH_UNSPECIFIED) settings.match = static_cast<ring::PointMatch>(points.match());
  if (points.tie_rule() != v1::TIE_RULE_UNSPECIFIED) settings.tie_rule = static_cast<ring::TieRule>(points.tie_rule());
  return settings;
}

ring::SlotsSettings ToSettings(const v1::SlotsPlacement& slots) {
  ring::SlotsSettings settings;
  if (slots.has_slot_bits()) settings.slot_bits = slots.slot_bits();
  if (slots.has_owners()) settings.owners = slots.owners();
  if (slots.hash() != v1::HASH_FUNCTION_UNSPECIFIED) settings.hash = static_cast<ring::HashFunction>(slots.hash());
  settings.hash_tag = slots.hash_tag();
  return settings;
}

ring::HashedSettings ToSettings(const v1::HashedPlacement& hashed) {
  ring::HashedSettings settings;
  if (hashed.hash() != v1::HASH_FUNCTION_UNSPECIFIED) settings.hash = static_cast<ring::HashFunction>(hashed.hash());
  if (!hashed.label().empty()) settings.label = hashed.label();
  if (hashed.has_points_per_weight()) settings.points_per_weight = hashed.points_per_weight();
  if (hashed.match() != v1::POINT_MATCH_UNSPECIFIED) settings.match = static_cast<ring::PointMatch>(hashed.match());
  if (hashed.tie_rule() != v1::TIE_RULE_UNSPECIFIED) settings.tie_rule = static_cast<ring::TieRule>(hashed.tie_rule());
  settings.hash_tag = hashed.hash_tag();
  return settings;
}

absl::StatusOr<ring::PresetSettings> ToSettings(const v1::PresetPlacement& preset) {
  if (preset.preset() == v1::PRESET_UNSPECIFIED) return ring::InvalidField("preset must be named");
  const auto number = static_cast<ring::Preset>(preset.preset());
  if (ring::FindPreset(number) == nullptr) {
    return ring::NotServedYet(fmt::format("the preset {}", static_cast<int>(preset.preset())));
  }
  ring::PresetSettings settings = ring::DefaultsOf(number);
  if (preset.hash() != v1::HASH_FUNCTION_UNSPECIFIED) settings.hash = static_cast<ring::HashFunction>(preset.hash());
  settings.hash_tag = preset.hash_tag();
  const bool has_sizes = preset.has_minimum_ring_size() || preset.has_maximum_ring_size();
  if (has_sizes && number != ring::Preset::kEnvoyRingHash) {
    return ring::InvalidField(fmt::format("ring sizes mean nothing in the preset {}", ring::FindPreset(number)->name));
  }
  if (preset.has_minimum_ring_size()) settings.minimum_ring_size = preset.minimum_ring_size();
  if (preset.has_maximum_ring_size()) settings.maximum_ring_size = preset.maximum_ring_size();
  return settings;
}

// Runs of slots with their new owners.
absl::StatusOr<ring::SlotMoves> MovesOf(const auto& moves) {
  ring::SlotMoves result;
  for (const auto& move : moves) {
    const auto owners = static_cast<uint32_t>(move.node_ids_size());
    if (owners > ring::kMaxSlotOwners) {
      return ring::InvalidField(fmt::format("slots {}..{} have {} owners, the most is {}", move.first(), move.last(),
                                            owners, ring::kMaxSlotOwners));
    }
    result.owners = std::max(result.owners, owners);
  }
  std::unordered_map<std::string_view, uint32_t> numbers;
  for (const auto& move : moves) {
    result.runs.push_back({.first = move.first(), .last = move.last()});
    for (const std::string& id : move.node_ids()) {
      const auto [it, added] = numbers.try_emplace(id, static_cast<uint32_t>(result.nodes.size()));
      if (added) result.nodes.push_back(id);
      result.after.push_back(it->second);
    }
    result.after.resize(result.runs.size() * result.owners, ring::SlotTable::kNobody);
  }
  result.before.resize(result.after.size(), ring::SlotTable::kNobody);
  return result;
}

}  // namespace

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

void ToProto(const ring::Placement& placement, v1::Placement* out) {
  if (const auto* hashed = std::get_if<ring::HashedSettings>(&placement)) {
    ToMessage(*hashed, out->mutable_hashed());
  } else if (const auto* slots = std::get_if<ring::SlotsSettings>(&placement)) {
    ToMessage(*slots, out->mutable_slots());
  } else if (const auto* points = std::get_if<ring::PointsSettings>(&placement)) {
    ToMessage(*points, out->mutable_points());
  } else {
    ToMessage(std::get<ring::PresetSettings>(placement), out->mutable_preset());
  }
}

absl::StatusOr<ring::Placement> FromProto(const v1::Placement& placement) {
  ring::Placement settings;
  switch (placement.kind_case()) {
    case v1::Placement::kHashed:
      settings = ToSettings(placement.hashed());
      break;
    case v1::Placement::kPreset: {
      auto preset = ToSettings(placement.preset());
      if (!preset.ok()) return preset.status();
      settings = *std::move(preset);
      break;
    }
    case v1::Placement::kSlots:
      settings = ToSettings(placement.slots());
      break;
    case v1::Placement::kPoints:
      settings = ToSettings(placement.points());
      break;
    case v1::Placement::KIND_NOT_SET:
      return ring::InvalidField("placement must be named (slots, hashed, preset or points)");
  }
  if (absl::Status status = ring::CheckPlacement(settings); !status.ok()) return status;
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
  out->mutable_points()->Add(node.points.begin(), node.points.end());
}

ring::AddNode FromProto(const v1::Node& node) {
  return {.node = {.id = node.id(),
                   .address = node.address(),
                   .weight = node.weight(),
                   .zone = node.zone(),
                   .hash_key = node.hash_key(),
                   .metadata = {node.metadata().begin(), node.metadata().end()},
                   .points = {node.points().begin(), node.points().end()}},
          .default_weight = !node.has_weight()};
}

absl::StatusOr<ring::UpdateNode> FromProto(const v1::Node& node, const google::protobuf::FieldMask& mask) {
  constexpr std::string_view kPaths = "weight, address, zone, metadata, points";
  if (mask.paths().empty()) return ring::InvalidField(fmt::format("update_mask names no path; it takes {}", kPaths));
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
    } else if (path == "points") {
      if (!update.points.has_value()) update.points.emplace(node.points().begin(), node.points().end());
    } else {
      return ring::InvalidField(fmt::format("update_mask has the path {}; it takes {}", ring::Quote(path), kPaths));
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

void ToProto(const ring::Movement& movement, v1::Movement* out) {
  const auto set = [](const ring::Balance& balance, auto&& mutable_out) {
    if (balance == ring::Balance()) return;
    v1::Balance* message = mutable_out();
    message->set_max_ratio(balance.max_ratio);
    message->set_min_ratio(balance.min_ratio);
  };
  out->set_moved_share(movement.moved_share);
  for (const ring::MovedPair& pair : movement.pairs) {
    v1::MovedPair* message = out->add_pairs();
    if (!pair.from.empty()) message->set_from(pair.from);
    if (!pair.to.empty()) message->set_to(pair.to);
    message->set_share(pair.share);
  }
  out->set_other_pairs_share(movement.other_pairs_share);
  out->set_new_members_share(movement.new_members_share);
  set(movement.balance_before, [out] { return out->mutable_before(); });
  set(movement.balance_after, [out] { return out->mutable_after(); });
}

void ToProto(const ring::SlotMoves& moves, size_t run, v1::SlotMove* out) {
  out->set_first(moves.runs[run].first);
  out->set_last(moves.runs[run].last);
  for (const uint32_t node : moves.AfterOf(run)) {
    if (node != ring::SlotTable::kNobody) out->add_node_ids(moves.nodes[node]);
  }
}

absl::StatusOr<ring::SlotMoves> FromProto(const google::protobuf::RepeatedPtrField<v1::SlotMove>& moves) {
  return MovesOf(moves);
}

void ToProto(std::span<const uint32_t> places, google::protobuf::RepeatedField<uint32_t>* out) {
  out->Reserve(out->size() + static_cast<int>(places.size()));
  // Nobody's is the largest number, so that 1 more is 0.
  for (const uint32_t place : places) out->AddAlreadyReserved(place + 1);
}

void AppendPlaces(const google::protobuf::RepeatedField<uint32_t>& slot_owners, std::vector<uint32_t>* places) {
  places->reserve(places->size() + static_cast<size_t>(slot_owners.size()));
  for (const uint32_t owner : slot_owners) places->push_back(owner - 1);
}

void ToProto(const ring::Node& node, v1::Owner* out) {
  out->set_id(node.id);
  out->set_address(node.address);
  out->set_zone(node.zone);
}

}  // namespace ringd
