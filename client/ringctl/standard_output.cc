#include "client/ringctl/standard_output.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "client/ringctl/failure.h"
#include "client/ringctl/progress.h"

namespace ringd::ctl {
namespace {

int first_error = 0;  // errno of the first write that failed

void NoteError(bool failed) {
  if (failed && first_error == 0) first_error = errno != 0 ? errno : EIO;
}

}  // namespace

void Print(std::string_view data) {
  if (first_error != 0 || data.empty()) return;
  NoteError(std::fwrite(data.data(), 1, data.size(), stdout) != data.size());
}

bool FlushOutput() {
  NoteError(std::fflush(stdout) != 0);
  return first_error == 0;
}

ExitCode FinishOutput(ExitCode code) {
  ClearProgress();
  if (FlushOutput()) return code;
  if (first_error != EPIPE) {
    const std::string reason = std::generic_category().message(first_error);
    ReportError(ExitCode::kRefused, fmt::format("cannot write to standard output: {}", reason));
  }
  return code == ExitCode::kOk ? ExitCode::kRefused : code;
}

}  // namespace ringd::ctl
