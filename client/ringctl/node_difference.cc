#include "client/ringctl/node_difference.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "client/ringctl/escape.h"

namespace ringd::ctl {
namespace {

using Fields = std::map<std::string, std::string>;

// The fields that a change can move, by the names that they are shown under; those with nothing in them left out.
Fields FieldsOf(const v1::Node& node) {
  Fields fields;
  fields["weight"] = std::to_string(node.weight());
  if (!node.address().empty()) fields["address"] = node.address();
  if (!node.zone().empty()) fields["zone"] = node.zone();
  if (node.hash_key() != node.id()) fields["hash_key"] = node.hash_key();
  for (const auto& [key, value] : node.metadata()) fields["metadata." + key] = value;
  if (!node.points().empty()) fields["points"] = fmt::format("{}", fmt::join(node.points(), " "));
  return fields;
}

// A field as it is shown: a node may have 100,000 points.
std::string Shortened(const std::string& value) {
  constexpr std::size_t kMost = 80;
  return value.size() <= kMost ? value : value.substr(0, kMost) + "...";
}

v1::Node WithoutOutput(v1::Node node) {
  node.clear_share();
  node.clear_join_number();
  return node;
}

v1::Node WithDefaults(v1::Node node, uint32_t default_weight) {
  if (!node.has_weight()) node.set_weight(default_weight);
  if (node.hash_key().empty()) node.set_hash_key(node.id());
  std::sort(node.mutable_points()->begin(), node.mutable_points()->end());  // as the directory keeps them
  return node;
}

const std::string& IdOf(const v1::NodeDelta& delta) {
  return delta.has_before() ? delta.before().id() : delta.after().id();
}

v1::UpdateOperation UpdateOf(const v1::Node& before, const v1::Node& after) {
  v1::UpdateOperation update;
  v1::Node& node = *update.mutable_node();
  node.set_id(after.id());
  google::protobuf::FieldMask& mask = *update.mutable_update_mask();
  if (before.weight() != after.weight()) {
    node.set_weight(after.weight());
    mask.add_paths("weight");
  }
  if (before.address() != after.address()) {
    node.set_address(after.address());
    mask.add_paths("address");
  }
  if (before.zone() != after.zone()) {
    node.set_zone(after.zone());
    mask.add_paths("zone");
  }
  const auto sorted = [](const v1::Node& of) { return std::map(of.metadata().begin(), of.metadata().end()); };
  if (sorted(before) != sorted(after)) {
    *node.mutable_metadata() = after.metadata();
    mask.add_paths("metadata");
  }
  if (!std::equal(before.points().begin(), before.points().end(), after.points().begin(), after.points().end())) {
    *node.mutable_points() = after.points();
    mask.add_paths("points");
  }
  return update;
}

}  // namespace

absl::StatusOr<NodeDifference> DifferenceOf(const v1::GetRingResponse& ring, const NodeFile& file) {
  std::map<std::string_view, std::pair<const v1::Node*, const NodeFile::Entry*>> by_id;
  for (const v1::Node& node : ring.nodes()) by_id[node.id()].first = &node;
  for (const NodeFile::Entry& entry : file.entries) by_id[entry.node.id()].second = &entry;

  NodeDifference difference;
  for (const auto& [id, sides] : by_id) {
    const auto& [held, wanted] = sides;
    v1::NodeDelta delta;
    if (held != nullptr) *delta.mutable_before() = WithoutOutput(*held);
    if (wanted != nullptr) *delta.mutable_after() = WithDefaults(wanted->node, ring.ring().default_weight());
    if (held != nullptr && wanted != nullptr) {
      if (delta.before().hash_key() != delta.after().hash_key()) {
        return absl::FailedPreconditionError(fmt::format(
            "{}:{}: node {} has the hash_key {}, which cannot be changed to {}: write it as it is, or remove the node "
            "first",
            file.name, wanted->line, Quoted(id), Quoted(delta.before().hash_key()), Quoted(delta.after().hash_key())));
      }
      if (FieldsOf(delta.before()) == FieldsOf(delta.after())) continue;
    }
    ++(held == nullptr ? difference.added : wanted == nullptr ? difference.removed : difference.updated);
    difference.nodes.push_back(std::move(delta));
  }
  return difference;
}

v1::ApplyChangesRequest RequestOf(const std::string& ring, const NodeDifference& difference) {
  v1::ApplyChangesRequest request;
  request.set_ring(ring);
  for (const v1::NodeDelta& delta : difference.nodes) {
    v1::NodeOperation& operation = *request.add_operations();
    if (!delta.has_before()) {
      *operation.mutable_add()->mutable_node() = delta.after();
    } else if (!delta.has_after()) {
      operation.mutable_remove()->set_node_id(delta.before().id());
    } else {
      *operation.mutable_update() = UpdateOf(delta.before(), delta.after());
    }
  }
  return request;
}

Rows DifferenceRows(const NodeDifference& difference) {
  Rows rows;
  rows.headers = {"CHANGE", "ID", "FIELD", "BEFORE", "AFTER"};
  for (const v1::NodeDelta& delta : difference.nodes) {
    const char* change = !delta.has_before() ? "add" : !delta.has_after() ? "remove" : "update";
    std::map<std::string, std::pair<const std::string*, const std::string*>> fields;
    const Fields before = delta.has_before() ? FieldsOf(delta.before()) : Fields();
    const Fields after = delta.has_after() ? FieldsOf(delta.after()) : Fields();
    for (const auto& [field, value] : before) fields[field].first = &value;
    for (const auto& [field, value] : after) fields[field].second = &value;
    for (const auto& [field, values] : fields) {
      const auto& [old_value, new_value] = values;
      if (old_value != nullptr && new_value != nullptr && *old_value == *new_value) continue;
      rows.cells.push_back({change, IdOf(delta), field, old_value == nullptr ? "" : Shortened(*old_value),
                            new_value == nullptr ? "" : Shortened(*new_value)});
    }
  }
  return rows;
}

std::string CountText(const NodeDifference& difference) {
  std::vector<std::string> parts;
  for (const auto& [count, participle] :
       {std::pair(difference.added, "added"), {difference.updated, "updated"}, {difference.removed, "removed"}}) {
    if (count > 0) parts.push_back(fmt::format("{} {}", count, participle));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace ringd::ctl
