#pragma once

#include <string_view>

#include "client/ringctl/exit_code.h"

namespace ringd::ctl {

// Standard output carries data only, and a command whose data did not arrive never ends with 0.

// Print appends to standard output, through a buffer.
void Print(std::string_view data);

// FlushOutput hands what was printed to the reader. False when output has failed, now or before: stop then.
bool FlushOutput();

// FinishOutput flushes and answers how the command ends: with `code`, or, when output has failed, not with kOk. Says so
// on stderr, unless the reader has gone (as in `| head -1`). Call it last, once.
ExitCode FinishOutput(ExitCode code);

}  // namespace ringd::ctl
