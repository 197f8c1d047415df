#include "server/storage_codec.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "proto/serialize.h"
#include "ring/checksum.h"
#include "ring/error.h"
#include "ring/slot_table.h"
#include "ringd/storage/v1/storage.pb.h"
#include "server/store_rules.h"

namespace ringd::server {
namespace {

namespace disk = ringd::storage::v1;

constexpr uint32_t kNarrowNobody = UINT16_MAX;

absl::Status Corrupt(std::string_view what) {
  return ring::Error(absl::StatusCode::kDataLoss, kStoreCorrupt, std::string(what));
}

absl::Status Parse(std::string_view record, std::string_view what, google::protobuf::MessageLite& message) {
  if (message.ParseFromArray(record.data(), static_cast<int>(record.size()))) return absl::OkStatus();
  return Corrupt(fmt::format("{} record cannot be parsed", what));
}

void ToDisk(const ring::HashedSettings& placement, disk::Settings& out) {
  disk::Settings::Hashed& hashed = *out.mutable_hashed();
  hashed.set_hash(static_cast<uint32_t>(placement.hash));
  hashed.set_label(placement.label);
  hashed.set_points_per_weight(placement.points_per_weight);
  hashed.set_match(static_cast<uint32_t>(placement.match));
  hashed.set_tie_rule(static_cast<uint32_t>(placement.tie_rule));
  hashed.set_hash_tag(placement.hash_tag);
}

void ToDisk(const ring::PresetSettings& placement, disk::Settings& out) {
  disk::Settings::Preset& preset = *out.mutable_preset();
  preset.set_preset(static_cast<uint32_t>(placement.preset));
  preset.set_hash(static_cast<uint32_t>(placement.hash));
  preset.set_hash_tag(placement.hash_tag);
  preset.set_minimum_ring_size(placement.minimum_ring_size);
  preset.set_maximum_ring_size(placement.maximum_ring_size);
}

void ToDisk(const ring::SlotsSettings& placement, disk::Settings& out) {
  disk::Settings::Slots& slots = *out.mutable_slots();
  slots.set_slot_bits(placement.slot_bits);
  slots.set_owners(placement.owners);
  slots.set_hash(static_cast<uint32_t>(placement.hash));
  slots.set_hash_tag(placement.hash_tag);
}

void ToDisk(const ring::PointsSettings& placement, disk::Settings& out) {
  disk::Settings::Points& points = *out.mutable_points();
  points.set_last_position(placement.last_position);
  points.set_match(static_cast<uint32_t>(placement.match));
  points.set_tie_rule(static_cast<uint32_t>(placement.tie_rule));
}

ring::PointsSettings FromDisk(const disk::Settings::Points& points) {
  return {.last_position = points.last_position(),
          .match = static_cast<ring::PointMatch>(points.match()),
          .tie_rule = static_cast<ring::TieRule>(points.tie_rule())};
}

ring::SlotsSettings FromDisk(disk::Settings::Slots& slots) {
  return {.slot_bits = slots.slot_bits(),
          .owners = slots.owners(),
          .hash = static_cast<ring::HashFunction>(slots.hash()),
          .hash_tag = std::move(*slots.mutable_hash_tag())};
}

ring::HashedSettings FromDisk(disk::Settings::Hashed& hashed) {
  return {.hash = static_cast<ring::HashFunction>(hashed.hash()),
          .label = std::move(*hashed.mutable_label()),
          .points_per_weight = hashed.points_per_weight(),
          .match = static_cast<ring::PointMatch>(hashed.match()),
          .tie_rule = static_cast<ring::TieRule>(hashed.tie_rule()),
          .hash_tag = std::move(*hashed.mutable_hash_tag())};
}

ring::PresetSettings FromDisk(disk::Settings::Preset& preset) {
  return {.preset = static_cast<ring::Preset>(preset.preset()),
          .hash = static_cast<ring::HashFunction>(preset.hash()),
          .hash_tag = std::move(*preset.mutable_hash_tag()),
          .minimum_ring_size = preset.minimum_ring_size(),
          .maximum_ring_size = preset.maximum_ring_size()};
}

absl::StatusOr<ring::Settings> FromDisk(disk::Settings& settings) {
  ring::Settings out{.default_weight = settings.default_weight()};
  switch (settings.placement_case()) {
    case disk::Settings::kHashed:
      out.placement = FromDisk(*settings.mutable_hashed());
      break;
    case disk::Settings::kPreset:
      out.placement = FromDisk(*settings.mutable_preset());
      break;
    case disk::Settings::kSlots:
      out.placement = FromDisk(*settings.mutable_slots());
      break;
    case disk::Settings::kPoints:
      out.placement = FromDisk(settings.points());
      break;
    case disk::Settings::PLACEMENT_NOT_SET:
      return Corrupt("ring record has no placement that this binary knows");
  }
  // A number that is not known was written by another binary; to guess would be to place keys wrongly.
  if (absl::Status known = ring::CheckPlacement(out.placement); !known.ok()) {
    return Corrupt("ring record has a placement that this binary does not know: " + std::string(known.message()));
  }
  return out;
}

void ToDisk(const ring::Node& node, disk::NodeRecord& out) {
  out.set_id(node.id);
  out.set_address(node.address);
  out.set_weight(node.weight);
  out.set_zone(node.zone);
  out.set_hash_key(node.hash_key);
  out.mutable_metadata()->insert(node.metadata.begin(), node.metadata.end());
  out.set_join_number(node.join_number);
  out.mutable_points()->Add(node.points.begin(), node.points.end());
}

ring::Node FromDisk(disk::NodeRecord& node) {
  ring::Node out;
  out.id = std::move(*node.mutable_id());
  out.address = std::move(*node.mutable_address());
  out.weight = node.weight();
  out.zone = std::move(*node.mutable_zone());
  out.hash_key = std::move(*node.mutable_hash_key());
  out.metadata.insert(node.metadata().begin(), node.metadata().end());
  out.join_number = node.join_number();
  out.points.assign(node.points().begin(), node.points().end());
  return out;
}

void ToDisk(const ring::Movement& movement, disk::Movement& out) {
  out.set_moved_share(movement.moved_share);
  for (const ring::MovedPair& pair : movement.pairs) {
    disk::Movement::Pair& to = *out.add_pairs();
    to.set_from(pair.from);
    to.set_to(pair.to);
    to.set_share(pair.share);
  }
  out.set_other_pairs_share(movement.other_pairs_share);
  out.set_max_ratio_before(movement.balance_before.max_ratio);
  out.set_min_ratio_before(movement.balance_before.min_ratio);
  out.set_max_ratio_after(movement.balance_after.max_ratio);
  out.set_min_ratio_after(movement.balance_after.min_ratio);
  out.set_new_members_share(movement.new_members_share);
}

absl::StatusOr<ring::Movement> FromDisk(disk::Movement& movement) {
  const auto is_number = [](const disk::Movement::Pair& pair) { return std::isfinite(pair.share()); };
  if (!std::isfinite(movement.moved_share()) || !std::isfinite(movement.other_pairs_share()) ||
      !std::isfinite(movement.max_ratio_before()) || !std::isfinite(movement.min_ratio_before()) ||
      !std::isfinite(movement.max_ratio_after()) || !std::isfinite(movement.min_ratio_after()) ||
      !std::isfinite(movement.new_members_share()) ||
      !std::all_of(movement.pairs().begin(), movement.pairs().end(), is_number)) {
    return Corrupt("record has a movement that is no number");
  }
  ring::Movement out{
      .moved_share = movement.moved_share(),
      .other_pairs_share = movement.other_pairs_share(),
      .new_members_share = movement.new_members_share(),
      .balance_before = {.max_ratio = movement.max_ratio_before(), .min_ratio = movement.min_ratio_before()},
      .balance_after = {.max_ratio = movement.max_ratio_after(), .min_ratio = movement.min_ratio_after()}};
  out.pairs.reserve(static_cast<size_t>(movement.pairs_size()));
  for (disk::Movement::Pair& pair : *movement.mutable_pairs()) {
    out.pairs.push_back({std::move(*pair.mutable_from()), std::move(*pair.mutable_to()), pair.share()});
  }
  return out;
}

void ToDisk(const RingUpdate& update, disk::RingUpdate& out) {
  out.set_default_weight(update.default_weight);
  out.mutable_labels()->insert(update.labels.begin(), update.labels.end());
  if (update.history_limits.max_age) out.set_max_age_micros(absl::ToInt64Microseconds(*update.history_limits.max_age));
  if (update.history_limits.max_changes) out.set_max_changes(*update.history_limits.max_changes);
}

RingUpdate FromDisk(const disk::RingUpdate& update) {
  RingUpdate out{.default_weight = update.default_weight()};
  out.labels.insert(update.labels().begin(), update.labels().end());
  if (update.has_max_age_micros()) out.history_limits.max_age = absl::Microseconds(update.max_age_micros());
  if (update.has_max_changes()) out.history_limits.max_changes = update.max_changes();
  return out;
}

void AddPlaces(std::span<const uint32_t> places, google::protobuf::RepeatedField<uint32_t>& out) {
  // Nobody's is the largest number, so that 1 more is 0.
  for (const uint32_t place : places) out.Add(place + 1);
}

std::vector<uint32_t> PlacesOf(const google::protobuf::RepeatedField<uint32_t>& places) {
  std::vector<uint32_t> out;
  out.reserve(static_cast<size_t>(places.size()));
  for (const uint32_t place : places) out.push_back(place - 1);
  return out;
}

void ToDisk(const ring::SlotMoves& moves, disk::SlotMoves& out) {
  out.set_owners(moves.owners);
  for (const std::string& id : moves.nodes) out.add_node_ids(id);
  uint32_t next = 0;
  for (const ring::SlotMoves::Run& run : moves.runs) {
    out.add_gaps(run.first - next);
    out.add_lengths(run.last - run.first + 1);
    next = run.last + 1;
  }
  AddPlaces(moves.before, *out.mutable_before());
  AddPlaces(moves.after, *out.mutable_after());
}

absl::StatusOr<ring::SlotMoves> FromDisk(disk::SlotMoves& moves) {
  ring::SlotMoves out;
  out.owners = moves.owners();
  out.nodes.assign(std::make_move_iterator(moves.mutable_node_ids()->begin()),
                   std::make_move_iterator(moves.mutable_node_ids()->end()));
  if (moves.gaps_size() != moves.lengths_size()) return Corrupt("change record has slot moves of other lengths");
  out.runs.reserve(static_cast<size_t>(moves.gaps_size()));
  uint32_t next = 0;
  for (int i = 0; i < moves.gaps_size(); ++i) {
    const uint32_t first = next + moves.gaps(i);
    next = first + moves.lengths(i);
    out.runs.push_back({.first = first, .last = next - 1});
  }
  out.before = PlacesOf(moves.before());
  out.after = PlacesOf(moves.after());
  // No ring has more slots; whether they fit one of fewer is its own business.
  if (absl::Status fit = ring::CheckMoves(ring::kMaxSlotBits, out.owners, out); !fit.ok()) {
    return Corrupt("change record has moves that cannot be: " + std::string(fit.message()));
  }
  return out;
}

absl::Status CheckAlgorithm(uint32_t algorithm) {
  if (algorithm == ring::kChecksumAlgorithm) return absl::OkStatus();
  return Corrupt(
      fmt::format("record has checksum algorithm {}, this binary knows {}", algorithm, ring::kChecksumAlgorithm));
}

}  // namespace

std::string EncodeRing(const RingHead& head) {
  disk::RingRecord record;
  record.set_name(head.name);
  record.set_epoch(head.version.epoch);
  record.set_revision(head.version.revision);
  disk::Settings& settings = *record.mutable_settings();
  std::visit([&](const auto& placement) { ToDisk(placement, settings); }, head.settings.placement);
  settings.set_default_weight(head.settings.default_weight);
  record.mutable_labels()->insert(head.labels.begin(), head.labels.end());
  if (head.history_limits.max_age) record.set_max_age_micros(absl::ToInt64Microseconds(*head.history_limits.max_age));
  if (head.history_limits.max_changes) record.set_max_changes(*head.history_limits.max_changes);
  record.set_create_time_micros(absl::ToUnixMicros(head.create_time));
  record.set_update_time_micros(absl::ToUnixMicros(head.update_time));
  record.set_next_join_number(head.next_join_number);
  record.set_checksum(head.checksum);
  record.set_checksum_algorithm(ring::kChecksumAlgorithm);
  return SerializeDeterministic(record);
}

absl::StatusOr<RingHead> DecodeRing(std::string_view bytes) {
  disk::RingRecord record;
  if (absl::Status parsed = Parse(bytes, "ring", record); !parsed.ok()) return parsed;
  if (absl::Status known = CheckAlgorithm(record.checksum_algorithm()); !known.ok()) return known;
  absl::StatusOr<ring::Settings> settings = FromDisk(*record.mutable_settings());
  if (!settings.ok()) return settings.status();
  RingHead head;
  head.name = std::move(*record.mutable_name());
  head.version = {record.epoch(), record.revision()};
  head.settings = *std::move(settings);
  head.labels.insert(record.labels().begin(), record.labels().end());
  if (record.has_max_age_micros()) head.history_limits.max_age = absl::Microseconds(record.max_age_micros());
  if (record.has_max_changes()) head.history_limits.max_changes = record.max_changes();
  head.create_time = absl::FromUnixMicros(record.create_time_micros());
  head.update_time = absl::FromUnixMicros(record.update_time_micros());
  head.next_join_number = record.next_join_number();
  head.checksum = record.checksum();
  return head;
}

std::string EncodeNode(const ring::Node& node) {
  disk::NodeRecord record;
  ToDisk(node, record);
  return SerializeDeterministic(record);
}

absl::StatusOr<ring::Node> DecodeNode(std::string_view bytes) {
  disk::NodeRecord record;
  if (absl::Status parsed = Parse(bytes, "node", record); !parsed.ok()) return parsed;
  return FromDisk(record);
}

std::string EncodeChange(const ChangeRecord& change) {
  disk::ChangeRecord record;
  record.set_epoch(change.version.epoch);
  record.set_revision(change.version.revision);
  record.set_checksum(change.checksum);
  record.set_from_checksum(change.from_checksum);
  record.set_checksum_algorithm(ring::kChecksumAlgorithm);
  record.set_time_micros(absl::ToUnixMicros(change.time));
  record.set_actor(change.actor);
  record.set_reason(change.reason);
  record.set_request_id(change.request_id);
  record.set_request_fingerprint(change.request_fingerprint);
  for (const ring::NodeDelta& delta : change.nodes) {
    disk::NodeDelta& out = *record.add_nodes();
    if (delta.before) ToDisk(*delta.before, *out.mutable_before());
    if (delta.after) ToDisk(*delta.after, *out.mutable_after());
  }
  ToDisk(change.movement, *record.mutable_movement());
  if (!change.slot_moves.runs.empty()) ToDisk(change.slot_moves, *record.mutable_slot_moves());
  for (const std::string& warning : change.warnings) record.add_warnings(warning);
  if (change.ring_update) {
    ToDisk(change.ring_update->before, *record.mutable_ring_update()->mutable_before());
    ToDisk(change.ring_update->after, *record.mutable_ring_update()->mutable_after());
  }
  return SerializeDeterministic(record);
}

absl::StatusOr<ChangeRecord> DecodeChange(std::string_view bytes) {
  disk::ChangeRecord record;
  if (absl::Status parsed = Parse(bytes, "change", record); !parsed.ok()) return parsed;
  if (absl::Status known = CheckAlgorithm(record.checksum_algorithm()); !known.ok()) return known;
  ChangeRecord change;
  change.version = {record.epoch(), record.revision()};
  change.checksum = record.checksum();
  change.from_checksum = record.from_checksum();
  change.time = absl::FromUnixMicros(record.time_micros());
  change.actor = std::move(*record.mutable_actor());
  change.reason = std::move(*record.mutable_reason());
  change.request_id = std::move(*record.mutable_request_id());
  change.request_fingerprint = record.request_fingerprint();
  change.nodes.reserve(record.nodes_size());
  for (disk::NodeDelta& delta : *record.mutable_nodes()) {
    if (!delta.has_before() && !delta.has_after()) return Corrupt("change record touches a node without saying which");
    ring::NodeDelta out;
    if (delta.has_before()) out.before = std::make_shared<const ring::Node>(FromDisk(*delta.mutable_before()));
    if (delta.has_after()) out.after = std::make_shared<const ring::Node>(FromDisk(*delta.mutable_after()));
    change.nodes.push_back(std::move(out));
  }
  absl::StatusOr<ring::Movement> movement = FromDisk(*record.mutable_movement());
  if (!movement.ok()) return movement.status();
  change.movement = *std::move(movement);
  change.warnings.assign(std::make_move_iterator(record.mutable_warnings()->begin()),
                         std::make_move_iterator(record.mutable_warnings()->end()));
  if (record.has_slot_moves()) {
    absl::StatusOr<ring::SlotMoves> moves = FromDisk(*record.mutable_slot_moves());
    if (!moves.ok()) return moves.status();
    change.slot_moves = *std::move(moves);
  }
  if (record.has_ring_update()) {
    change.ring_update = RingDelta{FromDisk(record.ring_update().before()), FromDisk(record.ring_update().after())};
  }
  return change;
}

std::string EncodeSlots(std::span<const uint32_t> places) {
  // Two bytes do for all rings but the largest. What is nobody's is the largest number of either width.
  const uint32_t nobody = ring::SlotTable::kNobody;
  const bool narrow = std::all_of(places.begin(), places.end(),
                                  [&](uint32_t place) { return place == nobody || place < kNarrowNobody; });
  std::string bytes(1, static_cast<char>(narrow ? sizeof(uint16_t) : sizeof(uint32_t)));
  bytes.reserve(1 + places.size() * static_cast<size_t>(bytes.front()));
  for (const uint32_t place : places) {
    for (char i = 0; i < bytes.front(); ++i) bytes.push_back(static_cast<char>(place >> (8 * i)));
  }
  return bytes;
}

absl::StatusOr<std::vector<uint32_t>> DecodeSlots(std::string_view bytes) {
  const size_t width = bytes.empty() ? 0 : static_cast<unsigned char>(bytes.front());
  if ((width != sizeof(uint16_t) && width != sizeof(uint32_t)) || (bytes.size() - 1) % width != 0) {
    return Corrupt("slots record cannot be parsed");
  }
  std::vector<uint32_t> places;
  places.reserve((bytes.size() - 1) / width);
  for (size_t at = 1; at < bytes.size(); at += width) {
    uint32_t place = 0;
    for (size_t i = 0; i < width; ++i) place |= uint32_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
    const bool nobodys = width == sizeof(uint16_t) && place == kNarrowNobody;
    places.push_back(nobodys ? ring::SlotTable::kNobody : place);
  }
  return places;
}

std::string EncodeTombstone(const Tombstone& tombstone) {
  disk::TombstoneRecord record;
  record.set_name(tombstone.name);
  record.set_epoch(tombstone.version.epoch);
  record.set_revision(tombstone.version.revision);
  record.set_request_id(tombstone.request_id);
  record.set_request_fingerprint(tombstone.request_fingerprint);
  record.set_time_micros(absl::ToUnixMicros(tombstone.time));
  ToDisk(tombstone.movement, *record.mutable_movement());
  return SerializeDeterministic(record);
}

absl::StatusOr<Tombstone> DecodeTombstone(std::string_view bytes) {
  disk::TombstoneRecord record;
  if (absl::Status parsed = Parse(bytes, "tombstone", record); !parsed.ok()) return parsed;
  Tombstone tombstone;
  tombstone.name = std::move(*record.mutable_name());
  tombstone.version = {record.epoch(), record.revision()};
  tombstone.request_id = std::move(*record.mutable_request_id());
  tombstone.request_fingerprint = record.request_fingerprint();
  tombstone.time = absl::FromUnixMicros(record.time_micros());
  absl::StatusOr<ring::Movement> movement = FromDisk(*record.mutable_movement());
  if (!movement.ok()) return movement.status();
  tombstone.movement = *std::move(movement);
  return tombstone;
}

}  // namespace ringd::server
