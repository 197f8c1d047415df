#include <fmt/format.h>

#include <map>
#include <utility>
#include <vector>

#include "client/ringctl/commands.h"
#include "client/ringctl/escape.h"
#include "client/ringctl/failure.h"
#include "client/ringctl/import_check.h"
#include "client/ringctl/input_file.h"
#include "client/ringctl/json.h"
#include "client/ringctl/mutation.h"
#include "client/ringctl/ring_import.h"
#include "client/ringctl/ring_view.h"
#include "client/ringctl/standard_output.h"

namespace ringd::ctl {
namespace {

std::string TextOf(const absl::Status& status) { return {status.message().data(), status.message().size()}; }

template <typename Texts>
void PrintWarnings(const Texts& warnings, const GlobalOptions& options) {
  if (options.quiet) return;
  for (const std::string& warning : warnings) Notice(fmt::format("warning: {}", warning));
}

// kUsage, when it has told what is wrong with the file.
ExitCode ReadImport(const RingImportOptions& options, ImportedRing* ring) {
  const absl::StatusOr<std::string> content = ReadInputFile(options.file);
  if (!content.ok()) return ReportError(ExitCode::kUsage, TextOf(content.status()));
  absl::StatusOr<ImportedRing> parsed = ParseImport(options, options.file == "-" ? "stdin" : options.file, *content);
  if (!parsed.ok()) return ReportError(ExitCode::kUsage, TextOf(parsed.status()));
  *ring = *std::move(parsed);
  return ExitCode::kOk;
}

std::string NodesText(const ImportedRing& ring) {
  return fmt::format("{} node{} of {}", ring.nodes.size(), ring.nodes.size() == 1 ? "" : "s", ring.origin);
}

// The ring as it would be, as `ring get` shows it. Shares are not known.
v1::GetRingResponse PlannedRing(const ImportedRing& imported, const v1::Plan& plan) {
  v1::GetRingResponse planned;
  *planned.mutable_ring() = plan.ring();
  v1::Ring& ring = *planned.mutable_ring();
  ring.set_node_count(static_cast<uint32_t>(imported.nodes.size()));
  for (const v1::Node& imported_node : imported.nodes) {
    v1::Node& node = *planned.add_nodes();
    node = imported_node;
    if (!node.has_weight()) node.set_weight(ring.default_weight());
    if (node.hash_key().empty()) node.set_hash_key(node.id());
    node.set_join_number(static_cast<uint64_t>(planned.nodes_size()));
    ring.set_total_weight(ring.total_weight() + node.weight());
  }
  planned.mutable_slot_owners()->Assign(imported.slot_owners.begin(), imported.slot_owners.end());
  return planned;
}

// Without what only a ring has that was made. `ring import` reads it.
Json PlannedJson(const v1::GetRingResponse& planned) {
  Json json = ToJsonWithoutPaging(planned);
  json.erase("version");
  for (const char* made : {"version", "checksum", "point_count", "imbalance"}) json["ring"].erase(made);
  for (Json& node : json["nodes"]) node.erase("share");
  return json;
}

std::string SettingsBlock(const v1::Ring& ring) {
  Rows rows;
  rows.headers = {"", ""};
  rows.cells = {{"placement", PlacementDetails(ring.placement())},
                {"default weight", std::to_string(ring.default_weight())}};
  for (const auto& [key, value] : std::map(ring.labels().begin(), ring.labels().end())) {
    rows.cells.push_back({"label", fmt::format("{}={}", key, value)});
  }
  return TableText(rows, Headers::kHide);
}

Rows PlannedRows(const v1::GetRingResponse& planned) {
  Rows rows;
  rows.headers = {"ID", "WEIGHT", "HASH KEY", "ZONE", "ADDRESS"};
  for (const v1::Node& node : planned.nodes()) {
    rows.cells.push_back({node.id(), std::to_string(node.weight()), node.hash_key(), node.zone(), node.address()});
  }
  return rows;
}

// kRefused, when it has told why the nodes or the table would be.
ExitCode PrintPlan(const ImportedRing& imported, const v1::CreateRingResponse& created, const GlobalOptions& options) {
  if (absl::Status fit = CheckPlanned(imported, created.plan().ring()); !fit.ok()) {
    return ReportError(ExitCode::kRefused, TextOf(fit));
  }
  const v1::GetRingResponse planned = PlannedRing(imported, created.plan());
  switch (options.format) {
    case Format::kJson:
      Print(JsonText(PlannedJson(planned)));
      return ExitCode::kOk;
    case Format::kYaml:
      Print(YamlText(PlannedJson(planned)));
      return ExitCode::kOk;
    case Format::kTsv:
      Print(TsvText(PlannedRows(planned)));
      return ExitCode::kOk;
    case Format::kTable:
      break;
  }
  Print(fmt::format("dry run, nothing was changed: ring {} would be imported, {}\n\n{}\n{}",
                    Quoted(planned.ring().name()), NodesText(imported), SettingsBlock(planned.ring()),
                    RowsText(PlannedRows(planned), options)));
  return ExitCode::kOk;
}

// The nodes as changes that fit into a message each: one, but for nodes with many points of their own.
std::vector<v1::ApplyChangesRequest> AddAll(const ImportedRing& imported, const std::string& ring) {
  constexpr std::size_t kMostBytes = 900'000;
  std::vector<v1::ApplyChangesRequest> requests;
  std::size_t bytes = 0;
  for (const v1::Node& node : imported.nodes) {
    const std::size_t more = node.ByteSizeLong();
    if (requests.empty() || bytes + more > kMostBytes) {
      requests.emplace_back().set_ring(ring);
      bytes = 0;
    }
    bytes += more;
    *requests.back().add_operations()->mutable_add()->mutable_node() = node;
  }
  return requests;
}

// Deletes the ring that was made for an import that then failed, unless somebody has changed it since. Answers what is
// to be said where it stays.
std::string TakeBack(Session& session, const std::string& ring, const v1::Version& made) {
  v1::DeleteRingRequest request;
  request.set_ring(ring);
  *request.mutable_options()->mutable_expected_version() = made;
  request.mutable_options()->set_force(true);
  const Answer<v1::DeleteRingResponse> answer = session.connection.Call(&v1::Directory::Stub::DeleteRing, request);
  return answer.status.ok() ? "" : fmt::format("ring {} was made for it and may have stayed", Quoted(ring));
}

// Adds the nodes to the ring that was made for them, and prints the outcome of both.
ExitCode AddNodes(Session& session, const RingImportOptions& options, const ImportedRing& imported,
                  const v1::CreateRingResponse& created) {
  const std::string ring = fmt::format("ring {}", Quoted(options.ring.ring));
  MutationFlags flags = options.ring.mutation;
  flags.if_version = created.version();
  v1::ApplyChangesResponse response;
  std::vector<v1::ApplyChangesRequest> requests = AddAll(imported, options.ring.ring);
  for (v1::ApplyChangesRequest& request : requests) {
    const MutationFlags of_this = &request == &requests.back() ? flags : WithoutWait(flags);
    FillOptions(of_this, request.mutable_options());
    Answer<v1::ApplyChangesResponse> answer =
        session.connection.Call(&v1::Directory::Stub::ApplyChanges, request, WaitTime(of_this));
    if (!answer.status.ok()) {
      return ReportStatus(answer.status, TakeBack(session, options.ring.ring, *flags.if_version));
    }
    response = std::move(answer.value);
    flags.if_version = response.version();
  }
  MutationOutcome outcome{&response, &response.version(), &created.version(), nullptr, nullptr};
  outcome.warnings.assign(created.warnings().begin(), created.warnings().end());
  outcome.warnings.insert(outcome.warnings.end(), response.warnings().begin(), response.warnings().end());
  if (response.has_wait_result()) outcome.wait = &response.wait_result();
  return PrintOutcome(outcome, {ring, fmt::format("imported, {}", NodesText(imported))}, session.options);
}

// Whether the ring is there, and may be: Redis goes on moving its slots, so that they are imported time and again.
bool IsThereForRedis(Session& session, const std::string& ring, const ImportedRing& imported) {
  if (imported.settings.placement().preset().preset() != v1::PRESET_REDIS_CLUSTER) return false;
  v1::GetRingRequest look;
  look.set_ring(ring);
  look.set_page_size(1);
  const Answer<v1::GetRingResponse> held = session.connection.Call(&v1::Directory::Stub::GetRing, look);
  return held.status.error_code() != grpc::StatusCode::NOT_FOUND;
}

// The nodes and the table of a ring of slots; the ring is made where it is not there yet.
ExitCode ImportSlots(Session& session, const RingImportOptions& options, const ImportedRing& imported) {
  const std::string ring = fmt::format("ring {}", Quoted(options.ring.ring));
  MutationFlags flags = options.ring.mutation;
  const bool is_there = IsThereForRedis(session, options.ring.ring, imported);
  if (is_there && (options.ring.default_weight || !options.ring.labels.empty())) {
    return ReportError(ExitCode::kUsage,
                       fmt::format("--default-weight and --label are for a ring that is made, and {} is there", ring),
                       "`ringctl ring update` changes them");
  }
  if (!is_there) {
    v1::CreateRingRequest create = imported.settings;
    create.set_ring(options.ring.ring);
    FillOptions(WithoutWait(flags), create.mutable_options());
    const Answer<v1::CreateRingResponse> created = session.connection.Call(&v1::Directory::Stub::CreateRing, create);
    if (!created.status.ok()) return ReportStatus(created.status);
    if (flags.dry_run) return PrintPlan(imported, created.value, session.options);
    flags.if_version = created.value.version();
  }
  v1::ImportSlotsRequest request;
  request.set_ring(options.ring.ring);
  request.mutable_nodes()->Assign(imported.nodes.begin(), imported.nodes.end());
  request.mutable_ranges()->Assign(imported.ranges.begin(), imported.ranges.end());
  request.mutable_slot_owners()->Assign(imported.slot_owners.begin(), imported.slot_owners.end());
  const ExitCode code = Mutate(session, &v1::Directory::Stub::ImportSlots, std::move(request), flags,
                               {ring, fmt::format("imported, {}", NodesText(imported))});
  if (code == ExitCode::kOk || code == ExitCode::kNotApplied || is_there) return code;
  if (const std::string stays = TakeBack(session, options.ring.ring, *flags.if_version); !stays.empty()) Notice(stays);
  return code;
}

}  // namespace

ExitCode RingImport(Session& session, const RingImportOptions& options) {
  if (const ExitCode usage = CheckWait(options.ring.mutation); usage != ExitCode::kOk) return usage;
  ImportedRing imported;
  const ExitCode code = ReadImport(options, &imported);
  if (code != ExitCode::kOk) return code;
  PrintWarnings(imported.warnings, session.options);
  if (!imported.ranges.empty() || !imported.slot_owners.empty()) return ImportSlots(session, options, imported);
  v1::CreateRingRequest request = imported.settings;
  request.set_ring(options.ring.ring);
  // The last of the changes waits.
  const MutationFlags flags = imported.nodes.empty() ? options.ring.mutation : WithoutWait(options.ring.mutation);
  FillOptions(flags, request.mutable_options());
  const Answer<v1::CreateRingResponse> created =
      session.connection.Call(&v1::Directory::Stub::CreateRing, request, WaitTime(flags));
  if (!created.status.ok()) return ReportStatus(created.status);
  if (options.ring.mutation.dry_run) {
    const ExitCode fits = PrintPlan(imported, created.value, session.options);
    if (fits != ExitCode::kOk) return fits;
    PrintWarnings(created.value.warnings(), session.options);
    return ExitCode::kOk;
  }
  if (!imported.nodes.empty()) return AddNodes(session, options, imported, created.value);
  const v1::CreateRingResponse& response = created.value;
  MutationOutcome outcome{&response, &response.version(), nullptr, nullptr, nullptr};
  outcome.warnings.assign(response.warnings().begin(), response.warnings().end());
  if (response.has_wait_result()) outcome.wait = &response.wait_result();
  return PrintOutcome(
      outcome, {fmt::format("ring {}", Quoted(options.ring.ring)), fmt::format("imported, {}", NodesText(imported))},
      session.options);
}

}  // namespace ringd::ctl
