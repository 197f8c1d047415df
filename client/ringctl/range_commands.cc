#include <fmt/format.h>

#include "client/ringctl/commands.h"
#include "client/ringctl/failure.h"
#include "client/ringctl/movement_view.h"
#include "client/ringctl/ring_pages.h"
#include "client/ringctl/ring_view.h"
#include "client/ringctl/standard_output.h"
#include "client/ringctl/version_text.h"

namespace ringd::ctl {
namespace {

Rows RangeRows(const google::protobuf::RepeatedPtrField<v1::Range>& ranges) {
  Rows rows;
  rows.headers = {"FIRST", "LAST"};
  for (const v1::Range& range : ranges) {
    rows.cells.push_back({std::to_string(range.first()), std::to_string(range.last())});
  }
  return rows;
}

std::string MovedRangeLines(const v1::DiffVersionsResponse& diff) {
  Rows rows;
  for (const v1::MovedRange& moved : diff.ranges()) {
    rows.cells.push_back(
        {std::to_string(moved.range().first()), std::to_string(moved.range().last()), moved.from(), moved.to()});
  }
  return TsvText(rows);
}

void PrintDiff(const v1::DiffVersionsResponse& diff, const GlobalOptions& options) {
  if (PrintDocument(diff, options.format)) return;
  if (options.format == Format::kTsv) {
    Print(MovedRangeLines(diff));
  } else if (diff.ranges_size() > 0 || diff.movement().new_members_share() > 0) {
    Print(fmt::format("version {} -> {}{}, ranges: {}\n\n{}", VersionText(diff.from()), VersionText(diff.to()),
                      MovedText(&diff.movement()), diff.ranges_size(), MovementBlock(diff.movement(), options)));
  }
}

}  // namespace

ExitCode DiffVersions(Session& session, const ComparedVersions& versions) {
  const Answer<v1::DiffVersionsResponse> answer = ReadDiff(session.connection, versions);
  if (!answer.status.ok()) return OfComparison(ReportStatus(answer.status));
  PrintDiff(answer.value, session.options);
  if (!FlushOutput()) return ExitCode::kCannotTell;
  return answer.value.ranges().empty() ? ExitCode::kOk : ExitCode::kDiffers;
}

ExitCode Ranges(Session& session, const std::string& ring, const std::string& node) {
  const Answer<v1::ListRangesResponse> answer = ReadRanges(session.connection, ring, node);
  if (!answer.status.ok()) return ReportStatus(answer.status);
  if (!PrintDocument(answer.value, session.options.format)) {
    Print(RowsText(RangeRows(answer.value.ranges()), session.options));
  }
  return ExitCode::kOk;
}

}  // namespace ringd::ctl
