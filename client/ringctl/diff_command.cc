#include <fmt/format.h>

#include "client/ringctl/commands.h"
#include "client/ringctl/failure.h"
#include "client/ringctl/json.h"
#include "client/ringctl/movement_view.h"
#include "client/ringctl/mutation.h"
#include "client/ringctl/ring_comparison.h"
#include "client/ringctl/ring_view.h"
#include "client/ringctl/standard_output.h"

namespace ringd::ctl {
namespace {

// What the server would make of the change, without making it.
Answer<v1::ApplyChangesResponse> Plan(Session& session, const std::string& ring, const RingComparison& comparison) {
  v1::ApplyChangesRequest request = RequestOf(ring, comparison.difference);
  request.mutable_options()->set_validate_only(true);
  *request.mutable_options()->mutable_expected_version() = comparison.ring.version();
  return session.connection.Call(&v1::Directory::Stub::ApplyChanges, request);
}

Json DifferenceJson(const RingComparison& comparison, const v1::ApplyChangesResponse& plan) {
  Json nodes = Json::array();
  for (const v1::NodeDelta& delta : comparison.difference.nodes) {
    Json item = ToJson(delta);
    for (Json& side : item) {
      for (const char* output_only : {"join_number", "share"}) side.erase(output_only);
    }
    nodes.push_back(std::move(item));
  }
  Json json = {{"version", ToJson(comparison.ring.version())}, {"nodes", std::move(nodes)}};
  if (plan.has_movement()) json["movement"] = ToJson(plan.movement());
  if (plan.has_plan()) {
    json["force_needed"] = plan.plan().force_needed();
    json["force_reason"] = plan.plan().force_reason();
  }
  return json;
}

std::string SummaryText(const NodeDifference& difference, const v1::ApplyChangesResponse& plan) {
  return fmt::format("{}{}\n{}", CountText(difference), MovedText(plan.has_movement() ? &plan.movement() : nullptr),
                     ForceText(plan.plan()));
}

void PrintDifference(const RingComparison& comparison, const v1::ApplyChangesResponse& plan,
                     const GlobalOptions& options) {
  const NodeDifference& difference = comparison.difference;
  switch (options.format) {
    case Format::kJson:
      Print(JsonText(DifferenceJson(comparison, plan)));
      return;
    case Format::kYaml:
      Print(YamlText(DifferenceJson(comparison, plan)));
      return;
    case Format::kTsv:
      Print(TsvText(DifferenceRows(difference)));
      return;
    case Format::kTable:
      break;
  }
  if (difference.nodes.empty()) return;
  const std::string moves = MovementBlock(plan.movement(), options);
  Print(RowsText(DifferenceRows(difference), options) + "\n" + SummaryText(difference, plan) +
        (moves.empty() ? "" : "\n" + moves));
}

}  // namespace

ExitCode Diff(Session& session, const DiffOptions& options) {
  RingComparison comparison;
  ExitCode code = ReadNodeFile(options.file, &comparison.file);
  if (code == ExitCode::kOk) code = CompareRing(session, options.ring, &comparison);
  if (code != ExitCode::kOk) return OfComparison(code);

  Answer<v1::ApplyChangesResponse> plan;
  if (!comparison.difference.nodes.empty()) plan = Plan(session, options.ring, comparison);
  // Who may only read sees the difference all the same.
  if (plan.status.error_code() == grpc::StatusCode::PERMISSION_DENIED) {
    if (!session.options.quiet) Notice(fmt::format("note: not planned: {}", plan.status.error_message()));
  } else if (!plan.status.ok()) {
    return OfComparison(ReportStatus(plan.status));
  }
  PrintDifference(comparison, plan.value, session.options);
  if (!FlushOutput()) return ExitCode::kCannotTell;
  return comparison.difference.nodes.empty() ? ExitCode::kOk : ExitCode::kDiffers;
}

}  // namespace ringd::ctl
