#include "client/ringctl/ring_export.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "client/ringctl/escape.h"
#include "client/ringctl/json.h"

namespace ringd::ctl {
namespace {

absl::Status Wrong(const std::string& file, const std::string& text) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", file, text));
}

// The messages of protobuf name fields, those of the other library lines.
absl::StatusOr<v1::GetRingResponse> ReadMessage(const std::string& file, const std::string& content) {
  try {
    if (!Json::parse(content).is_object()) return WrongLine(file, 1, "the document is no object");
  } catch (const Json::parse_error& error) {
    const auto end = content.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte, content.size()));
    const auto line = static_cast<int>(std::count(content.begin(), end, '\n')) + 1;
    return WrongLine(file, line, "this is no JSON");
  } catch (const Json::exception& error) {
    return Wrong(file, error.what());
  }
  v1::GetRingResponse message;
  const auto status = google::protobuf::util::JsonStringToMessage(content, &message);
  if (!status.ok()) return Wrong(file, fmt::format("no export of a ring: {}", status.message().ToString()));
  return message;
}

// A table of the nodes that are there, where the placement has one; whether it is whole the server judges.
absl::Status CheckTable(const std::string& file, const v1::GetRingResponse& message) {
  const v1::Placement& placement = message.ring().placement();
  const bool has_slots = placement.has_slots() || placement.preset().preset() == v1::PRESET_REDIS_CLUSTER;
  if (!has_slots && !message.slot_owners().empty()) {
    return Wrong(file, "slot_owners, in a ring of a placement without slots");
  }
  if (has_slots && message.slot_owners().empty() && !message.nodes().empty()) {
    return Wrong(file, "a ring of slots without its table: slot_owners is missing; `ring get -o json` prints it");
  }
  const auto nodes = static_cast<uint32_t>(message.nodes_size());
  for (const uint32_t owner : message.slot_owners()) {
    if (owner > nodes) return Wrong(file, fmt::format("slot_owners has node {}, of {} nodes", owner, nodes));
  }
  return absl::OkStatus();
}

absl::Status Check(const std::string& file, const v1::GetRingResponse& message) {
  const v1::Placement& placement = message.ring().placement();
  if (placement.kind_case() == v1::Placement::KIND_NOT_SET) {
    return Wrong(file, "no export of a ring: ring.placement is missing");
  }
  if (!message.next_page_token().empty()) return Wrong(file, "a part of a ring: next_page_token is not empty");
  std::set<std::string> ids;
  for (const v1::Node& node : message.nodes()) {
    if (!ids.insert(node.id()).second) return Wrong(file, fmt::format("node {} comes twice", Quoted(node.id())));
  }
  return CheckTable(file, message);
}

// The table for the nodes in another order. `order` has, of each of them, the index that it had.
std::vector<uint32_t> Renumbered(const google::protobuf::RepeatedField<uint32_t>& slot_owners,
                                 const std::vector<uint32_t>& order) {
  std::vector<uint32_t> number(order.size() + 1);  // by that of before; 0 stays nobody's
  for (uint32_t i = 0; i < order.size(); ++i) number[order[i] + size_t{1}] = i + 1;
  std::vector<uint32_t> renumbered(slot_owners.begin(), slot_owners.end());
  for (uint32_t& owner : renumbered) owner = number[owner];
  return renumbered;
}

}  // namespace

absl::StatusOr<ImportedRing> ParseRingExport(const std::string& file, const std::string& content) {
  absl::StatusOr<v1::GetRingResponse> message = ReadMessage(file, content);
  if (!message.ok()) return message.status();
  if (absl::Status status = Check(file, *message); !status.ok()) return status;
  v1::Ring& ring = *message->mutable_ring();
  ImportedRing imported;
  imported.origin = fmt::format("the export of ring {}", Quoted(ring.name()));
  v1::CreateRingRequest& settings = imported.settings;
  *settings.mutable_placement() = std::move(*ring.mutable_placement());
  if (ring.default_weight() != 0) settings.set_default_weight(ring.default_weight());
  *settings.mutable_labels() = std::move(*ring.mutable_labels());
  if (ring.has_history_limits()) *settings.mutable_history_limits() = std::move(*ring.mutable_history_limits());
  std::vector<uint32_t> order(static_cast<size_t>(message->nodes_size()));
  std::iota(order.begin(), order.end(), 0);
  const auto node_at = [&](uint32_t i) -> v1::Node& { return *message->mutable_nodes(static_cast<int>(i)); };
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return node_at(a).join_number() < node_at(b).join_number(); });
  for (const uint32_t i : order) {
    v1::Node& node = imported.nodes.emplace_back(std::move(node_at(i)));
    node.clear_join_number();
    node.clear_share();
  }
  // A ring without nodes has a table that is nobody's, as every new one.
  if (!order.empty()) imported.slot_owners = Renumbered(message->slot_owners(), order);
  return imported;
}

}  // namespace ringd::ctl
