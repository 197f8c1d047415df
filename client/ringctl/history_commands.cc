#include <fmt/format.h>

#include "client/ringctl/change_view.h"
#include "client/ringctl/commands.h"
#include "client/ringctl/confirmation.h"
#include "client/ringctl/escape.h"
#include "client/ringctl/failure.h"
#include "client/ringctl/mutation.h"
#include "client/ringctl/ring_pages.h"
#include "client/ringctl/ring_view.h"
#include "client/ringctl/standard_output.h"
#include "client/ringctl/version_text.h"

namespace ringd::ctl {

ExitCode History(Session& session, const HistoryOptions& options) {
  const Answer<v1::ListChangesResponse> answer = ReadChanges(session.connection, options.ring, options.limit);
  if (!answer.status.ok()) return ReportStatus(answer.status);
  if (!PrintDocument(answer.value, session.options.format)) {
    Print(RowsText(ChangeRows(answer.value.changes(), session.options.format), session.options));
  }
  return ExitCode::kOk;
}

ExitCode RingRestore(Session& session, const RingRestoreOptions& options) {
  const std::string version = VersionText(*options.to);
  const std::string question =
      fmt::format("Make the nodes of ring {} those of version {}? [y/N]", Quoted(options.ring), version);
  const ExitCode confirmed = Confirm(options.mutation, "ring restore", question, "y");
  if (confirmed != ExitCode::kOk) return confirmed;
  v1::RestoreVersionRequest request;
  request.set_ring(options.ring);
  *request.mutable_version() = *options.to;
  return Mutate(
      session, &v1::Directory::Stub::RestoreVersion, request, options.mutation,
      {fmt::format("nodes of ring {}", Quoted(options.ring)), fmt::format("restored to version {}", version)});
}

}  // namespace ringd::ctl
