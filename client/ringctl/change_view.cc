#include "client/ringctl/change_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <vector>

#include "client/ringctl/node_difference.h"
#include "client/ringctl/ring_view.h"
#include "client/ringctl/version_text.h"
#include "proto/serialize.h"

namespace ringd::ctl {
namespace {

std::string OneNodeText(const v1::NodeDelta& delta) {
  if (!delta.has_before()) return "added " + delta.after().id();
  if (!delta.has_after()) return "removed " + delta.before().id();
  NodeDifference difference;
  difference.nodes.push_back(delta);
  std::vector<std::string> fields;
  for (const auto& row : DifferenceRows(difference).cells) {
    fields.push_back(fmt::format("{} {} -> {}", row[2], row[3].empty() ? "-" : row[3], row[4].empty() ? "-" : row[4]));
  }
  return fmt::format("updated {}: {}", delta.after().id(), fmt::join(fields, ", "));
}

std::string NodesText(const v1::ChangeRecord& change) {
  NodeDifference difference;
  for (const v1::NodeDelta& delta : change.nodes()) {
    ++(!delta.has_before() ? difference.added : !delta.has_after() ? difference.removed : difference.updated);
  }
  std::string text = "nodes: " + CountText(difference);
  if (change.nodes_left_out() > 0) text += fmt::format(", and {} more", change.nodes_left_out());
  return text;
}

std::string SettingsText(const v1::RingDelta& delta) {
  const auto sorted = [](const auto& labels) { return std::map(labels.begin(), labels.end()); };
  const v1::RingUpdate& before = delta.before();
  const v1::RingUpdate& after = delta.after();
  std::vector<std::string> parts;
  if (before.default_weight() != after.default_weight()) {
    parts.push_back(fmt::format("default_weight {} -> {}", before.default_weight(), after.default_weight()));
  }
  if (sorted(before.labels()) != sorted(after.labels())) parts.emplace_back("labels");
  if (SerializeDeterministic(before.history_limits()) != SerializeDeterministic(after.history_limits())) {
    parts.emplace_back("history_limits");
  }
  return fmt::format("settings: {}", fmt::join(parts, ", "));
}

}  // namespace

std::string ChangeText(const v1::ChangeRecord& change) {
  if (change.from_revision() == 0) return "created";
  std::vector<std::string> parts;
  if (change.nodes_size() == 1 && change.nodes_left_out() == 0) {
    parts.push_back(OneNodeText(change.nodes(0)));
  } else if (change.nodes_size() > 0) {
    parts.push_back(NodesText(change));
  }
  // What moves with nodes is told as a share; an import may move slots alone.
  const auto runs = static_cast<uint32_t>(change.slot_moves_size()) + change.slot_moves_left_out();
  if (runs > 0 && parts.empty()) parts.push_back(fmt::format("{} run{} of slots moved", runs, runs == 1 ? "" : "s"));
  if (change.has_ring_update()) parts.push_back(SettingsText(change.ring_update()));
  return fmt::format("{}", fmt::join(parts, "; "));
}

Rows ChangeRows(const google::protobuf::RepeatedPtrField<v1::ChangeRecord>& changes, Format format) {
  Rows rows;
  rows.headers = {"VERSION", "TIME", "ACTOR", "CHANGE", "MOVED", "REASON"};
  for (const v1::ChangeRecord& change : changes) {
    rows.cells.push_back({VersionText(change.version()), TimeText(change.time(), format), change.actor(),
                          ChangeText(change), ShareText(change.movement().moved_share(), format), change.reason()});
  }
  return rows;
}

}  // namespace ringd::ctl
