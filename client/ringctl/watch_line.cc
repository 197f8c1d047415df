#include "client/ringctl/watch_line.h"

#include <fmt/format.h>

#include <map>
#include <string>

#include "client/ringctl/escape.h"
#include "client/ringctl/version_text.h"

namespace ringd::ctl {
namespace {

std::string NodeText(const v1::Node& node) {
  std::string text = fmt::format("{} weight {}", Quoted(node.id()), node.weight());
  if (!node.zone().empty()) text += fmt::format(" zone {}", Quoted(node.zone()));
  if (!node.address().empty()) text += fmt::format(" address {}", Quoted(node.address()));
  // In order of the keys: a map of protobuf's has none.
  for (const auto& [key, value] : std::map(node.metadata().begin(), node.metadata().end())) {
    text += fmt::format(" {}={}", Quoted(key), Quoted(value));
  }
  if (node.points_size() > 0) text += fmt::format(" points {}", node.points_size());
  return text;
}

std::string NodeChangeText(const v1::NodeChange& change) {
  switch (change.change_case()) {
    case v1::NodeChange::kAdded:
      return "added " + NodeText(change.added());
    case v1::NodeChange::kUpdated:
      return "updated " + NodeText(change.updated());
    case v1::NodeChange::kRemoved:
      return "removed " + Quoted(change.removed());
    case v1::NodeChange::CHANGE_NOT_SET:
      break;
  }
  return "something that this ringctl does not know";
}

std::string ChangeText(const v1::Change& change) {
  std::string text = fmt::format("change    {} to {}:", Quoted(change.ring()), VersionText(change.version()));
  const char* before = " ";
  for (const v1::NodeChange& node : change.nodes()) {
    text += before + NodeChangeText(node);
    before = "; ";
  }
  if (const int runs = change.slot_moves_size(); runs > 0) {
    text += fmt::format("{}{} run{} of slots moved", before, runs, runs == 1 ? "" : "s");
  }
  if (change.has_ring_update()) text += fmt::format("{}settings changed", before);
  return text;
}

std::string SnapshotText(const v1::Snapshot& snapshot) {
  return fmt::format("snapshot  {} at {}: {} of {} nodes{}{}", Quoted(snapshot.ring().name()),
                     VersionText(snapshot.ring().version()), snapshot.nodes_size(), snapshot.ring().node_count(),
                     snapshot.last() ? "" : ", more follow", snapshot.rewound() ? ", the directory went back" : "");
}

}  // namespace

std::string WatchLine(const v1::WatchResponse& message) {
  switch (message.event_case()) {
    case v1::WatchResponse::kSnapshot:
      return SnapshotText(message.snapshot());
    case v1::WatchResponse::kChange:
      return ChangeText(message.change());
    case v1::WatchResponse::kInSync: {
      const v1::InSync& in_sync = message.in_sync();
      if (!in_sync.has_ring()) return "in sync";
      return fmt::format("in sync   {} at {}", Quoted(in_sync.ring()), VersionText(in_sync.version()));
    }
    case v1::WatchResponse::kHeartbeat:
      return "heartbeat";
    case v1::WatchResponse::kAbsent:
      return fmt::format("absent    {}: waiting for it", Quoted(message.absent().ring()));
    case v1::WatchResponse::kDeleted:
      return fmt::format("deleted   {}, last at {}: waiting for a new one", Quoted(message.deleted().ring()),
                         VersionText(message.deleted().version()));
    case v1::WatchResponse::kReconnect:
      return fmt::format("reconnect within {} s", message.reconnect().within().seconds());
    case v1::WatchResponse::EVENT_NOT_SET:
      break;
  }
  return "an event that this ringctl does not know";
}

}  // namespace ringd::ctl
