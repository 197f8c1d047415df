#include <fmt/format.h>

#include <cstdio>

#include "client/ringctl/commands.h"
#include "client/ringctl/confirmation.h"
#include "client/ringctl/escape.h"
#include "client/ringctl/failure.h"
#include "client/ringctl/mutation.h"
#include "client/ringctl/ring_comparison.h"
#include "client/ringctl/ring_view.h"
#include "client/ringctl/standard_output.h"
#include "client/ringctl/version_text.h"

namespace ringd::ctl {
namespace {

// Rows that are shown before a question; more would push its beginning out of sight.
constexpr std::size_t kMostRows = 100;

// What a ring answers to a change that changes nothing.
v1::ApplyChangesResponse Unchanged(const v1::GetRingResponse& ring) {
  v1::ApplyChangesResponse response;
  *response.mutable_version() = ring.version();
  *response.mutable_previous_version() = ring.version();
  return response;
}

void ShowBeforeQuestion(const NodeDifference& difference) {
  Rows rows = DifferenceRows(difference);
  const std::size_t count = rows.cells.size();
  if (count > kMostRows) rows.cells.resize(kMostRows);
  fmt::print(stderr, "{}", TableText(rows, Headers::kShow));
  if (count > kMostRows) fmt::print(stderr, "... and {} rows more; `ringctl diff` shows all\n", count - kMostRows);
}

ExitCode AskFor(const ApplyOptions& options, const NodeDifference& difference) {
  const bool can_ask = HasTerminal();
  if (difference.removed == 0 && !can_ask) return ExitCode::kOk;
  if (can_ask && !options.mutation.yes && !options.mutation.dry_run) ShowBeforeQuestion(difference);
  const std::string question =
      fmt::format("Change nodes of ring {} ({})? [y/N]", Quoted(options.ring), CountText(difference));
  return Confirm(options.mutation, "apply, where it removes nodes,", question, "y");
}

// Waits for the watchers of a ring that the file does not change: so a command that found too few of them can be given
// again. Going back to the version that the ring is at changes nothing, and waits.
ExitCode AwaitAsItIs(Session& session, const std::string& ring, const MutationFlags& flags, const ChangeWords& words) {
  v1::RestoreVersionRequest request;
  request.set_ring(ring);
  *request.mutable_version() = *flags.if_version;
  return Mutate(session, &v1::Directory::Stub::RestoreVersion, request, flags, words);
}

}  // namespace

ExitCode Apply(Session& session, const ApplyOptions& options) {
  if (const ExitCode usage = CheckWait(options.mutation); usage != ExitCode::kOk) return usage;
  RingComparison comparison;
  ExitCode code = ReadNodeFile(options.file, &comparison.file);
  if (code != ExitCode::kOk) return code;
  if (comparison.file.entries.empty() && !options.mutation.force) {
    return ReportError(
        ExitCode::kRefused,
        fmt::format("{} has no nodes: ring {} would have none", comparison.file.name, Quoted(options.ring)),
        "add --force to do it all the same");
  }
  code = CompareRing(session, options.ring, &comparison);
  if (code != ExitCode::kOk) return code;
  const v1::Version& version = comparison.ring.version();
  MutationFlags flags = options.mutation;
  if (flags.if_version && !SameVersion(*flags.if_version, version)) {
    return ReportStatus(
        {grpc::StatusCode::ABORTED, fmt::format("ring {} is at version {}, not {}", Quoted(options.ring),
                                                VersionText(version), VersionText(*flags.if_version))});
  }
  flags.if_version = version;

  const NodeDifference& difference = comparison.difference;
  const ChangeWords words{fmt::format("nodes of ring {}", Quoted(options.ring)),
                          fmt::format("changed ({})", CountText(difference))};
  if (difference.nodes.empty() && flags.wait_for) return AwaitAsItIs(session, options.ring, flags, words);
  if (difference.nodes.empty()) {
    const v1::ApplyChangesResponse response = Unchanged(comparison.ring);
    return PrintOutcome({&response, &response.version(), &response.previous_version(), nullptr, nullptr}, words,
                        session.options);
  }
  code = AskFor(options, difference);
  if (code != ExitCode::kOk) return code;
  if (flags.dry_run && session.options.format == Format::kTable) {
    Print(RowsText(DifferenceRows(difference), session.options) + "\n");
  }
  return Mutate(session, &v1::Directory::Stub::ApplyChanges, RequestOf(options.ring, difference), flags, words);
}

}  // namespace ringd::ctl
