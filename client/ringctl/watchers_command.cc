#include "client/ringctl/commands.h"
#include "client/ringctl/failure.h"
#include "client/ringctl/ring_pages.h"
#include "client/ringctl/ring_view.h"
#include "client/ringctl/standard_output.h"
#include "client/ringctl/version_text.h"

namespace ringd::ctl {
namespace {

Rows WatcherRows(const google::protobuf::RepeatedPtrField<v1::Watcher>& watchers, Format format) {
  Rows rows;
  rows.headers = {"RING", "NAME", "PEER", "SENT", "APPLIED", "HEAD", "BEHIND", "SINCE"};
  const auto version = [](bool is_there, const v1::Version& text) { return is_there ? VersionText(text) : ""; };
  for (const v1::Watcher& watcher : watchers) {
    rows.cells.push_back({watcher.ring(), watcher.name(), watcher.peer(), version(watcher.has_sent(), watcher.sent()),
                          version(watcher.has_applied(), watcher.applied()),
                          version(watcher.has_head(), watcher.head()), std::to_string(watcher.behind()),
                          TimeText(watcher.since(), format)});
  }
  return rows;
}

}  // namespace

ExitCode Watchers(Session& session, const std::string& ring) {
  const Answer<v1::ListWatchersResponse> answer = ReadWatchers(session.connection, ring);
  if (!answer.status.ok()) return ReportStatus(answer.status);
  if (!PrintDocument(answer.value, session.options.format)) {
    Print(RowsText(WatcherRows(answer.value.watchers(), session.options.format), session.options));
  }
  return ExitCode::kOk;
}

}  // namespace ringd::ctl
