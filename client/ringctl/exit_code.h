#pragma once

namespace ringd::ctl {

// ExitCode is what a script sees of a command; the numbers are part of ringctl's stable interface.
enum class ExitCode {
  kOk = 0,
  kRefused = 1,       // the server said no, or would have; or the output could not be written
  kUsage = 2,         // the command line is wrong
  kUnreachable = 3,   // no server was reached, or what was asked for did not come in time
  kDenied = 4,        // permission or TLS
  kInterrupted = 130  // Ctrl-C
};

}  // namespace ringd::ctl
