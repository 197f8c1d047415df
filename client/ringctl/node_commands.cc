#include <fmt/format.h>

#include "client/ringctl/commands.h"
#include "client/ringctl/confirmation.h"
#include "client/ringctl/escape.h"
#include "client/ringctl/failure.h"
#include "client/ringctl/input_file.h"
#include "client/ringctl/mutation.h"
#include "client/ringctl/points_file.h"
#include "client/ringctl/ring_pages.h"
#include "client/ringctl/ring_view.h"
#include "client/ringctl/standard_output.h"

namespace ringd::ctl {
namespace {

// The node that the options describe; `mask` gets the name of each field that they give.
v1::Node NodeOf(const NodeOptions& options, google::protobuf::FieldMask* mask) {
  v1::Node node;
  node.set_id(options.node);
  const NodeFields& fields = options.fields;
  if (fields.weight) {
    node.set_weight(*fields.weight);
    mask->add_paths("weight");
  }
  if (fields.address) {
    node.set_address(*fields.address);
    mask->add_paths("address");
  }
  if (fields.zone) {
    node.set_zone(*fields.zone);
    mask->add_paths("zone");
  }
  if (fields.hash_key) node.set_hash_key(*fields.hash_key);
  if (fields.metadata) {
    node.mutable_metadata()->insert(fields.metadata->begin(), fields.metadata->end());
    mask->add_paths("metadata");
  }
  return node;
}

// Not kOk, when it has told what is wrong with the file.
ExitCode ReadPoints(const NodeFields& fields, v1::Node* node, google::protobuf::FieldMask* mask) {
  if (!fields.points_file) return ExitCode::kOk;
  const absl::StatusOr<std::string> content = ReadInputFile(*fields.points_file);
  if (!content.ok()) return ReportError(ExitCode::kUsage, std::string(content.status().message()));
  const std::string name = *fields.points_file == "-" ? "stdin" : *fields.points_file;
  const absl::StatusOr<std::vector<uint64_t>> points = ParsePoints(name, *content);
  if (!points.ok()) return ReportError(ExitCode::kUsage, std::string(points.status().message()));
  node->mutable_points()->Add(points->begin(), points->end());
  mask->add_paths("points");
  return ExitCode::kOk;
}

ChangeWords Words(const NodeOptions& options, std::string_view participle) {
  return {fmt::format("node {}", Quoted(options.node)), fmt::format("{} ring {}", participle, Quoted(options.ring))};
}

}  // namespace

ExitCode NodeAdd(Session& session, const NodeOptions& options) {
  google::protobuf::FieldMask unused;
  v1::AddNodeRequest request;
  request.set_ring(options.ring);
  *request.mutable_node() = NodeOf(options, &unused);
  const ExitCode read = ReadPoints(options.fields, request.mutable_node(), &unused);
  if (read != ExitCode::kOk) return read;
  return Mutate(session, &v1::Directory::Stub::AddNode, request, options.mutation, Words(options, "added to"));
}

ExitCode NodeUpdate(Session& session, const NodeOptions& options) {
  v1::UpdateNodeRequest request;
  request.set_ring(options.ring);
  *request.mutable_node() = NodeOf(options, request.mutable_update_mask());
  const ExitCode read = ReadPoints(options.fields, request.mutable_node(), request.mutable_update_mask());
  if (read != ExitCode::kOk) return read;
  return Mutate(session, &v1::Directory::Stub::UpdateNode, request, options.mutation, Words(options, "updated in"));
}

ExitCode NodeRemove(Session& session, const NodeOptions& options) {
  const std::string question =
      fmt::format("Remove node {} from ring {}? [y/N]", Quoted(options.node), Quoted(options.ring));
  const ExitCode confirmed = Confirm(options.mutation, "node remove", question, "y");
  if (confirmed != ExitCode::kOk) return confirmed;
  v1::RemoveNodeRequest request;
  request.set_ring(options.ring);
  request.set_node_id(options.node);
  return Mutate(session, &v1::Directory::Stub::RemoveNode, request, options.mutation, Words(options, "removed from"));
}

ExitCode NodeList(Session& session, const std::string& ring) {
  const Answer<v1::GetRingResponse> answer = ReadRing(session.connection, ring);
  if (!answer.status.ok()) return ReportStatus(answer.status);
  if (!PrintDocument(answer.value, session.options.format)) {
    Print(RowsText(NodeRows(answer.value.ring(), answer.value.nodes(), session.options.format), session.options));
  }
  return ExitCode::kOk;
}

}  // namespace ringd::ctl
