#include "client/ringctl/ring_export.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <set>
#include <utility>

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

absl::Status Check(const std::string& file, const v1::GetRingResponse& message) {
  const v1::Placement& placement = message.ring().placement();
  if (placement.kind_case() == v1::Placement::KIND_NOT_SET) {
    return Wrong(file, "no export of a ring: ring.placement is missing");
  }
  if (placement.has_slots() || placement.preset().preset() == v1::PRESET_REDIS_CLUSTER) {
    return Wrong(file, "a ring of slots cannot be imported: its table is not part of the export");
  }
  if (!message.next_page_token().empty()) return Wrong(file, "a part of a ring: next_page_token is not empty");
  std::set<std::string> ids;
  for (const v1::Node& node : message.nodes()) {
    if (!ids.insert(node.id()).second) return Wrong(file, fmt::format("node {} comes twice", Quoted(node.id())));
  }
  return absl::OkStatus();
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
  imported.nodes.assign(message->nodes().begin(), message->nodes().end());
  std::stable_sort(imported.nodes.begin(), imported.nodes.end(),
                   [](const v1::Node& a, const v1::Node& b) { return a.join_number() < b.join_number(); });
  for (v1::Node& node : imported.nodes) {
    node.clear_join_number();
    node.clear_share();
  }
  return imported;
}

}  // namespace ringd::ctl
