#include <fmt/format.h>
#include <fmt/ranges.h>

#include "client/ringctl/command_tree.h"
#include "client/ringctl/commands.h"
#include "client/ringctl/escape.h"
#include "client/ringctl/failure.h"
#include "client/ringctl/json.h"
#include "client/ringctl/movement_view.h"
#include "client/ringctl/ring_pages.h"
#include "client/ringctl/ring_view.h"
#include "client/ringctl/simulation.h"
#include "client/ringctl/standard_output.h"
#include "client/ringctl/version_text.h"

namespace ringd::ctl {
namespace {

// More would push the rest out of sight; json and tsv have all.
constexpr std::size_t kMostRows = 20;

// The plan of a change that removes the nodes, on the version of the ring that was read.
Answer<v1::ApplyChangesResponse> Plan(Session& session, const v1::GetRingResponse& ring, const Words& lost) {
  v1::ApplyChangesRequest request;
  request.set_ring(ring.ring().name());
  for (const std::string& id : lost) request.add_operations()->mutable_remove()->set_node_id(id);
  request.mutable_options()->set_validate_only(true);
  request.mutable_options()->set_force(true);
  *request.mutable_options()->mutable_expected_version() = ring.version();
  return session.connection.Call(&v1::Directory::Stub::ApplyChanges, request);
}

Rows LoadRows(const std::vector<Load>& loads, std::size_t most, Format format) {
  Rows rows;
  rows.headers = {"NODE", "SHARE", "THEN", "TIMES"};
  for (const Load& load : loads) {
    if (rows.cells.size() == most) break;
    rows.cells.push_back({load.id, ShareText(load.share, format), ShareText(load.share_then, format),
                          format == Format::kTsv ? fmt::format("{}", load.ratio) : fmt::format("{:.2f}", load.ratio)});
  }
  return rows;
}

Json LoadsJson(const v1::GetRingResponse& ring, const Words& lost, const std::vector<Load>& loads,
               const v1::Movement& movement) {
  Json nodes = Json::array();
  for (const Load& load : loads) {
    nodes.push_back({{"id", load.id}, {"share", load.share}, {"share_then", load.share_then}, {"ratio", load.ratio}});
  }
  return {
      {"version", ToJson(ring.version())}, {"lost", lost}, {"nodes", std::move(nodes)}, {"movement", ToJson(movement)}};
}

std::string Report(const v1::GetRingResponse& ring, const Words& lost, const std::vector<Load>& loads,
                   const v1::Movement& movement, const GlobalOptions& options) {
  std::string text = fmt::format("ring {} at version {} without {} of its {} nodes", Quoted(ring.ring().name()),
                                 VersionText(ring.version()), lost.size(), ring.nodes_size());
  if (loads.empty()) return text + ": no node would be left to own keys\n";
  const Load& worst = loads.front();
  text += fmt::format(": at worst {} would own {}, {:.2f} times as much as now\n\n", Quoted(worst.id),
                      ShareText(worst.share_then, Format::kTable), worst.ratio);
  text += RowsText(LoadRows(loads, kMostRows, Format::kTable), options);
  if (loads.size() > kMostRows) text += fmt::format("... and {} nodes more\n", loads.size() - kMostRows);
  const std::string moves = MovementBlock(movement, options);
  return moves.empty() ? text : text + "\n" + moves;
}

}  // namespace

ExitCode Simulate(Session& session, const SimulateOptions& options) {
  const Answer<v1::GetRingResponse> ring = ReadRing(session.connection, options.ring);
  if (!ring.status.ok()) return ReportStatus(ring.status);
  const Words lost = LostNodes(ring.value, options);
  if (lost.empty()) {
    return ReportError(ExitCode::kRefused,
                       fmt::format("ring {} has no node in zone {}", Quoted(options.ring), Quoted(options.zone)),
                       "`ringctl node list RING` shows the nodes of a ring with their zones");
  }
  const Answer<v1::ApplyChangesResponse> plan = Plan(session, ring.value, lost);
  if (!plan.status.ok()) return ReportStatus(plan.status);
  const v1::Movement& movement = plan.value.movement();
  const std::vector<Load> loads = LoadsThen(ring.value, plan.value.plan());
  if (plan.value.plan().nodes_left_out() > 0) {
    Notice(fmt::format("warning: of {} nodes the server did not tell what they would own: the worst may be one of them",
                       plan.value.plan().nodes_left_out()));
  }
  switch (session.options.format) {
    case Format::kJson:
      Print(JsonText(LoadsJson(ring.value, lost, loads, movement)));
      break;
    case Format::kYaml:
      Print(YamlText(LoadsJson(ring.value, lost, loads, movement)));
      break;
    case Format::kTsv:
      Print(TsvText(LoadRows(loads, loads.size(), Format::kTsv)));
      break;
    case Format::kTable:
      Print(Report(ring.value, lost, loads, movement, session.options));
      break;
  }
  return ExitCode::kOk;
}

}  // namespace ringd::ctl
