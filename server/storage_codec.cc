#include "server/storage_codec.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <memory>
#include <utility>

#include "proto/serialize.h"
#include "ring/checksum.h"
#include "ring/error.h"
#include "ringd/storage/v1/storage.pb.h"
#include "server/store_rules.h"

namespace ringd::server {
namespace {

namespace disk = ringd::storage::v1;

absl::Status Corrupt(std::string_view what) {
  return ring::Error(absl::StatusCode::kDataLoss, kStoreCorrupt, std::string(what));
}

absl::Status Parse(std::string_view record, std::string_view what, google::protobuf::MessageLite& message) {
  if (message.ParseFromArray(record.data(), static_cast<int>(record.size()))) return absl::OkStatus();
  return Corrupt(fmt::format("{} record cannot be parsed", what));
}

// An unknown number was written by another binary; to guess would be to place keys wrongly. The compiler asks for each
// new enumerator here, and for a hash function in ring/hash.cc.
bool IsKnown(ring::PointMatch match) {
  switch (match) {
    case ring::PointMatch::kAtOrAfter:
    case ring::PointMatch::kStrictlyAfter:
      return true;
  }
  return false;
}

bool IsKnown(ring::TieRule rule) {
  switch (rule) {
    case ring::TieRule::kNodeId:
    case ring::TieRule::kLaterJoin:
      return true;
  }
  return false;
}

void ToDisk(const ring::Settings& settings, disk::Settings& out) {
  disk::Settings::Hashed& hashed = *out.mutable_hashed();
  hashed.set_hash(static_cast<uint32_t>(settings.placement.hash));
  hashed.set_label(settings.placement.label);
  hashed.set_points_per_weight(settings.placement.points_per_weight);
  hashed.set_match(static_cast<uint32_t>(settings.placement.match));
  hashed.set_tie_rule(static_cast<uint32_t>(settings.placement.tie_rule));
  hashed.set_hash_tag(settings.placement.hash_tag);
  out.set_default_weight(settings.default_weight);
}

absl::StatusOr<ring::Settings> FromDisk(disk::Settings& settings) {
  if (!settings.has_hashed()) return Corrupt("ring record has no placement that this binary knows");
  disk::Settings::Hashed& hashed = *settings.mutable_hashed();
  ring::Settings out;
  out.placement.hash = static_cast<ring::HashFunction>(hashed.hash());
  out.placement.label = std::move(*hashed.mutable_label());
  out.placement.points_per_weight = hashed.points_per_weight();
  out.placement.match = static_cast<ring::PointMatch>(hashed.match());
  out.placement.tie_rule = static_cast<ring::TieRule>(hashed.tie_rule());
  out.placement.hash_tag = std::move(*hashed.mutable_hash_tag());
  out.default_weight = settings.default_weight();
  if (!IsKnown(out.placement.hash) || !IsKnown(out.placement.match) || !IsKnown(out.placement.tie_rule)) {
    return Corrupt(
        fmt::format("ring record has a placement that this binary does not know: hash {}, match {}, tie "
                    "rule {}",
                    hashed.hash(), hashed.match(), hashed.tie_rule()));
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
  ToDisk(head.settings, *record.mutable_settings());
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
  return change;
}

std::string EncodeTombstone(const Tombstone& tombstone) {
  disk::TombstoneRecord record;
  record.set_name(tombstone.name);
  record.set_epoch(tombstone.version.epoch);
  record.set_revision(tombstone.version.revision);
  record.set_request_id(tombstone.request_id);
  record.set_request_fingerprint(tombstone.request_fingerprint);
  record.set_time_micros(absl::ToUnixMicros(tombstone.time));
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
  return tombstone;
}

}  // namespace ringd::server
