#include "client/ringctl/ring_comparison.h"

#include <utility>

#include "client/ringctl/failure.h"
#include "client/ringctl/input_file.h"
#include "client/ringctl/ring_pages.h"

namespace ringd::ctl {
namespace {

std::string TextOf(const absl::Status& status) { return {status.message().data(), status.message().size()}; }

}  // namespace

ExitCode ReadNodeFile(const std::string& name, NodeFile* file) {
  const absl::StatusOr<std::string> content = ReadInputFile(name);
  if (!content.ok()) return ReportError(ExitCode::kUsage, TextOf(content.status()));
  absl::StatusOr<NodeFile> parsed = ParseNodeFile(name == "-" ? "stdin" : name, *content);
  if (!parsed.ok()) return ReportError(ExitCode::kUsage, TextOf(parsed.status()));
  *file = *std::move(parsed);
  return ExitCode::kOk;
}

ExitCode CompareRing(Session& session, const std::string& ring, RingComparison* comparison) {
  Answer<v1::GetRingResponse> answer = ReadRing(session.connection, ring);
  if (!answer.status.ok()) return ReportStatus(answer.status);
  comparison->ring = std::move(answer.value);
  absl::StatusOr<NodeDifference> difference = DifferenceOf(comparison->ring, comparison->file);
  if (!difference.ok()) return ReportError(ExitCode::kRefused, TextOf(difference.status()));
  comparison->difference = *std::move(difference);
  return ExitCode::kOk;
}

}  // namespace ringd::ctl
