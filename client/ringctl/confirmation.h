#pragma once

#include <string>

#include "client/ringctl/exit_code.h"
#include "client/ringctl/options.h"

namespace ringd::ctl {

// HasTerminal says whether there is a terminal to ask on.
bool HasTerminal();

// Confirm asks, on the terminal, before `command` removes something. kOk means go on: the answer was `expected`, or
// --yes or --dry-run make the question needless. Otherwise the reason has been told, and the command ends with what is
// returned: kUsage when there is no terminal to ask on, kRefused when the answer was another.
ExitCode Confirm(const MutationFlags& flags, const std::string& command, const std::string& question,
                 const std::string& expected);

}  // namespace ringd::ctl
