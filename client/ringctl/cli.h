#pragma once

#include <string>
#include <vector>

#include "client/ringctl/exit_code.h"

namespace ringd::ctl {

// RunCommandLine does what the arguments (without the name of the program) say, and answers how ringctl ends. The
// caller finishes standard output.
ExitCode RunCommandLine(std::vector<std::string> arguments);

}  // namespace ringd::ctl
