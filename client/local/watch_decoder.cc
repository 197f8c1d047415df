#include "client/local/watch_decoder.h"

#include <utility>

#include "proto/codec.h"
#include "ring/checksum.h"

namespace ringd {
namespace {

std::optional<uint64_t> ToValue(const v1::Checksum& checksum) {
  if (checksum.algorithm() != ring::kChecksumAlgorithm) return std::nullopt;
  return checksum.value();
}

absl::StatusOr<ring::Settings> SettingsOf(const v1::Ring& ring) {
  absl::StatusOr<ring::Placement> placement = FromProto(ring.placement());
  if (!placement.ok()) return placement.status();
  return ring::Settings{.placement = *std::move(placement), .default_weight = ring.default_weight()};
}

// A node as it is in the directory: what is output-only in a request is part of it.
ring::Node NodeOf(const v1::Node& message) {
  ring::Node node = FromProto(message).node;
  node.join_number = message.join_number();
  return node;
}

SnapshotChunk ToEvent(const v1::Snapshot& snapshot) {
  SnapshotChunk chunk{.version = FromProto(snapshot.ring().version()),
                      .checksum = ToValue(snapshot.ring().checksum()),
                      .settings = SettingsOf(snapshot.ring()),
                      .number = snapshot.chunk(),
                      .last = snapshot.last(),
                      .rewound = snapshot.rewound()};
  AppendPlaces(snapshot.slot_owners(), &chunk.slot_places);
  chunk.nodes.reserve(static_cast<size_t>(snapshot.nodes_size()));
  for (const v1::Node& node : snapshot.nodes()) chunk.nodes.push_back(NodeOf(node));
  return chunk;
}

absl::StatusOr<std::vector<ring::Operation>> OperationsOf(const v1::Change& change) {
  std::vector<ring::Operation> operations;
  for (const v1::NodeChange& node : change.nodes()) {
    switch (node.change_case()) {
      case v1::NodeChange::kAdded:
        operations.emplace_back(ring::PutNode{.node = NodeOf(node.added())});
        break;
      case v1::NodeChange::kUpdated:
        operations.emplace_back(ring::PutNode{.node = NodeOf(node.updated())});
        break;
      case v1::NodeChange::kRemoved:
        operations.emplace_back(ring::RemoveNode{.id = node.removed()});
        break;
      case v1::NodeChange::CHANGE_NOT_SET:
        return absl::UnimplementedError("a change of a node of a kind that this build does not know");
    }
  }
  return operations;
}

RingChange ToEvent(const v1::Change& change) {
  RingChange event{.from_revision = change.from_revision(),
                   .version = FromProto(change.version()),
                   .checksum = ToValue(change.checksum()),
                   .operations = OperationsOf(change)};
  absl::StatusOr<ring::SlotMoves> moves = FromProto(change.slot_moves());
  if (moves.ok()) {
    event.slot_moves = *std::move(moves);
  } else {
    event.operations = moves.status();
  }
  if (change.has_ring_update()) event.default_weight = change.ring_update().default_weight();
  return event;
}

}  // namespace

StreamEvent Decode(const v1::WatchResponse& message) {
  switch (message.event_case()) {
    case v1::WatchResponse::kSnapshot:
      return ToEvent(message.snapshot());
    case v1::WatchResponse::kChange:
      return ToEvent(message.change());
    case v1::WatchResponse::kInSync:
      // That of the whole stream says nothing new.
      if (message.in_sync().has_ring()) return RingInSync{};
      break;
    case v1::WatchResponse::kAbsent:
    case v1::WatchResponse::kDeleted:
      return RingGone{};
    case v1::WatchResponse::kReconnect:
      return Reconnect{};
    case v1::WatchResponse::kHeartbeat:
    case v1::WatchResponse::EVENT_NOT_SET:
      break;
  }
  return SignOfLife{};
}

}  // namespace ringd
