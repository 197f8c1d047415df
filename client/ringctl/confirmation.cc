#include "client/ringctl/confirmation.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "client/ringctl/failure.h"

namespace ringd::ctl {

bool HasTerminal() { return isatty(STDIN_FILENO) != 0; }

ExitCode Confirm(const MutationFlags& flags, const std::string& command, const std::string& question,
                 const std::string& expected) {
  if (flags.yes || flags.dry_run) return ExitCode::kOk;
  if (!HasTerminal()) {
    return ReportError(ExitCode::kUsage, fmt::format("{} needs --yes where there is no terminal to ask on", command),
                       "--dry-run shows what would result");
  }
  fmt::print(stderr, "{} ", question);
  std::fflush(stderr);
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == expected) return ExitCode::kOk;
  return ReportError(ExitCode::kRefused, "not confirmed: nothing was changed");
}

}  // namespace ringd::ctl
