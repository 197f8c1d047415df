#include "server/responses.h"

#include <algorithm>

#include "google/protobuf/util/time_util.h"
#include "proto/codec.h"
#include "ring/checksum.h"

namespace ringd::server {
namespace {

using google::protobuf::util::TimeUtil;
using ringd::ToProto;

constexpr size_t kFieldBytes = 3;  // tag and length
constexpr size_t kMaxPlanNodes = 1'000;
constexpr size_t kMaxPlanBytes = 3 << 20;

google::protobuf::Timestamp Timestamp(absl::Time time) {
  return TimeUtil::MicrosecondsToTimestamp(absl::ToUnixMicros(time));
}

void ToProto(const HistoryLimits& limits, v1::HistoryLimits* out) {
  if (limits.max_age.has_value()) {
    *out->mutable_max_age() = TimeUtil::MicrosecondsToDuration(absl::ToInt64Microseconds(*limits.max_age));
  }
  if (limits.max_changes.has_value()) out->set_max_changes(*limits.max_changes);
}

void ToProto(const RingUpdate& update, v1::RingUpdate* out) {
  out->set_default_weight(update.default_weight);
  out->mutable_labels()->insert(update.labels.begin(), update.labels.end());
  if (update.history_limits != HistoryLimits()) ToProto(update.history_limits, out->mutable_history_limits());
}

struct EventToProto {
  v1::WatchResponse* out;

  void operator()(const SnapshotChunk& chunk) const {
    v1::Snapshot* snapshot = out->mutable_snapshot();
    server::ToProto(chunk.head, *chunk.table, chunk.points, snapshot->mutable_ring());
    for (size_t i = chunk.first; i < chunk.last; i++) {
      ToProto(*chunk.table->nodes[i], chunk.table->ShareOf(i), snapshot->add_nodes());
    }
    if (chunk.slots != nullptr) {
      const size_t count = chunk.last_place - chunk.first_place;
      ToProto(chunk.slots->places().subspan(chunk.first_place, count), snapshot->mutable_slot_owners());
    }
    snapshot->set_chunk(chunk.number);
    snapshot->set_last(chunk.complete);
    snapshot->set_rewound(chunk.rewound);
  }
  void operator()(const ChangeEvent& event) const {
    const ChangeRecord& record = event->record;
    v1::Change* change = out->mutable_change();
    change->set_ring(event->ring);
    change->set_from_revision(record.version.revision - 1);
    ToProto(record.version, change->mutable_version());
    ToProto(record.checksum, change->mutable_checksum());
    for (const ring::NodeDelta& delta : record.nodes) ToProto(delta, change->add_nodes());
    for (size_t run = 0; run < record.slot_moves.runs.size(); ++run) {
      ToProto(record.slot_moves, run, change->add_slot_moves());
    }
    if (record.ring_update.has_value()) ToProto(record.ring_update->after, change->mutable_ring_update());
    *change->mutable_time() = Timestamp(record.time);
  }
  void operator()(const RingInSync& in_sync) const {
    out->mutable_in_sync()->set_ring(in_sync.ring);
    ToProto(in_sync.version, out->mutable_in_sync()->mutable_version());
  }
  void operator()(const StreamInSync&) const { out->mutable_in_sync(); }
  void operator()(const Heartbeat& heartbeat) const {
    v1::Heartbeat* message = out->mutable_heartbeat();
    for (const auto& [ring, version] : heartbeat.moved) {
      v1::RingVersion* moved = message->add_moved();
      moved->set_ring(ring);
      ToProto(version, moved->mutable_version());
    }
  }
  void operator()(const Reconnect& reconnect) const {
    out->mutable_reconnect()->mutable_within()->set_seconds(reconnect.within.count());
  }
  void operator()(const Absent& absent) const { out->mutable_absent()->set_ring(absent.ring); }
  void operator()(const Deleted& deleted) const {
    out->mutable_deleted()->set_ring(deleted.ring);
    ToProto(deleted.version, out->mutable_deleted()->mutable_version());
  }
};

}  // namespace

void ToProto(const RingHead& head, const ring::NodeTable& table, size_t points, v1::Ring* out) {
  out->set_name(head.name);
  ToProto(head.version, out->mutable_version());
  ToProto(head.checksum, out->mutable_checksum());
  ToProto(head.settings.placement, out->mutable_placement());
  out->set_default_weight(head.settings.default_weight);
  out->mutable_labels()->insert(head.labels.begin(), head.labels.end());
  if (head.history_limits != HistoryLimits()) ToProto(head.history_limits, out->mutable_history_limits());
  *out->mutable_create_time() = Timestamp(head.create_time);
  *out->mutable_update_time() = Timestamp(head.update_time);
  out->set_node_count(static_cast<uint32_t>(table.nodes.size()));
  out->set_total_weight(table.total_weight);
  out->set_point_count(points);
  out->set_imbalance(table.BalanceOfNodes().max_ratio);
}

void ToProto(const RingState& state, v1::Ring* out) {
  ToProto(state.head, *state.ring.table(), state.ring.point_count(), out);
}

void ToProto(const Plan& plan, v1::Plan* out) {
  out->set_force_needed(plan.force_needed);
  out->set_force_reason(plan.force_reason);
  if (plan.state == nullptr) return;
  ToProto(*plan.state, out->mutable_ring());
  const ring::NodeTable& table = *plan.state->ring.table();
  const size_t shown = AddNodes(table, 0, kMaxPlanNodes, kMaxPlanBytes, out->mutable_nodes());
  out->set_nodes_left_out(static_cast<uint32_t>(table.nodes.size() - shown));
}

void ToProto(const AppliedOutcome& outcome, v1::WaitResult* out) {
  out->set_watchers(static_cast<uint32_t>(outcome.watchers));
  out->set_applied(static_cast<uint32_t>(outcome.applied));
  for (const std::string& name : outcome.lagging) out->add_lagging(name);
  out->set_reached(outcome.reached);
}

void ToProto(const WatchEvent& event, v1::WatchResponse* out) { std::visit(EventToProto{out}, event); }

void ToProto(const ChangeRecord& change, size_t max_bytes, v1::ChangeRecord* out) {
  ToProto(change.version, out->mutable_version());
  out->set_from_revision(change.version.revision - 1);
  ToProto(change.checksum, out->mutable_checksum());
  *out->mutable_time() = Timestamp(change.time);
  out->set_actor(change.actor);
  out->set_reason(change.reason);
  out->set_request_id(change.request_id);
  if (change.ring_update.has_value()) {
    ToProto(change.ring_update->before, out->mutable_ring_update()->mutable_before());
    ToProto(change.ring_update->after, out->mutable_ring_update()->mutable_after());
  }
  ToProto(change.movement, out->mutable_movement());
  size_t bytes = out->ByteSizeLong();
  for (const ring::NodeDelta& delta : change.nodes) {
    v1::NodeDelta* node = out->add_nodes();
    if (delta.before != nullptr) ToProto(*delta.before, 0, node->mutable_before());
    if (delta.after != nullptr) ToProto(*delta.after, 0, node->mutable_after());
    bytes += node->ByteSizeLong();
    if (bytes > max_bytes) {
      out->mutable_nodes()->RemoveLast();
      break;
    }
  }
  out->set_nodes_left_out(static_cast<uint32_t>(change.nodes.size()) - static_cast<uint32_t>(out->nodes_size()));
  const size_t runs = change.slot_moves.runs.size();
  for (size_t run = 0; run < runs && bytes <= max_bytes; ++run) {
    ToProto(change.slot_moves, run, out->add_slot_moves());
    bytes += out->slot_moves(static_cast<int>(run)).ByteSizeLong() + kFieldBytes;
  }
  if (bytes > max_bytes && out->slot_moves_size() > 0) out->mutable_slot_moves()->RemoveLast();
  out->set_slot_moves_left_out(static_cast<uint32_t>(runs) - static_cast<uint32_t>(out->slot_moves_size()));
}

size_t AddNodes(const ring::NodeTable& table, size_t first, size_t max, size_t max_bytes,
                google::protobuf::RepeatedPtrField<v1::Node>* out) {
  const size_t end = std::min(table.nodes.size(), first + max);
  size_t bytes = 0;
  size_t next = first;
  while (next < end) {
    v1::Node* node = out->Add();
    ToProto(*table.nodes[next], table.ShareOf(next), node);
    bytes += node->ByteSizeLong();
    if (bytes > max_bytes && next > first) {
      out->RemoveLast();
      break;
    }
    next++;
  }
  return next;
}

HistoryLimits FromProto(const v1::HistoryLimits& limits) {
  HistoryLimits result;
  if (limits.has_max_age()) result.max_age = absl::Microseconds(TimeUtil::DurationToMicroseconds(limits.max_age()));
  if (limits.has_max_changes()) result.max_changes = limits.max_changes();
  return result;
}

RingSelector FromProto(const v1::RingSelector& selector) {
  RingSelector result;
  if (selector.has_names()) result.names.assign(selector.names().rings().begin(), selector.names().rings().end());
  if (selector.has_prefix()) result.prefix = selector.prefix();
  if (selector.has_all()) result.prefix = "";
  return result;
}

std::map<std::string, WatchPosition> FromProto(const google::protobuf::RepeatedPtrField<v1::HeldRing>& held) {
  std::map<std::string, WatchPosition> result;
  for (const v1::HeldRing& ring : held) {
    WatchPosition& position = result[ring.ring()];
    position.version = ringd::FromProto(ring.position().version());
    const v1::Checksum& checksum = ring.position().checksum();
    if (checksum.algorithm() == ring::kChecksumAlgorithm) position.checksum = checksum.value();
  }
  return result;
}

}  // namespace ringd::server
