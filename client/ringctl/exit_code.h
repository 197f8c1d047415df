#pragma once

namespace ringd::ctl {

// ExitCode is what a script sees of a command; the numbers are part of ringctl's stable interface.
enum class ExitCode {
  kOk = 0,
  kRefused = 1,       // the server said no, or would have; or the output could not be written
  kDiffers = 1,       // of `diff` alone, in which kCannotTell stands for kRefused
  kUsage = 2,         // the command line is wrong
  kUnreachable = 3,   // no server was reached, or what was asked for did not come in time
  kDenied = 4,        // permission or TLS
  kCannotTell = 5,    // `diff` has no answer: the server said no, or a node cannot become what the file says
  kInterrupted = 130  // Ctrl-C
};

}  // namespace ringd::ctl
