#pragma once

namespace ringd::ctl {

// ExitCode is what a script sees of a command; the numbers are part of ringctl's stable interface.
enum class ExitCode {
  kOk = 0,
  kRefused = 1,       // the server said no, or would have; or the output could not be written
  kDiffers = 1,       // of `diff` and `verify` alone, in which kCannotTell stands for kRefused
  kUsage = 2,         // the command line is wrong
  kUnreachable = 3,   // no server was reached, or what was asked for did not come in time
  kDenied = 4,        // permission or TLS
  kCannotTell = 5,    // they have no answer: the server said no, or a node cannot become what the file of `diff` says
  kNotApplied = 6,    // of --wait-for: the change was made, and too few watchers had applied it when the waiting ended
  kInterrupted = 130  // Ctrl-C
};

// OfComparison is how a command ends whose 1 says that there is a difference.
constexpr ExitCode OfComparison(ExitCode code) { return code == ExitCode::kRefused ? ExitCode::kCannotTell : code; }

}  // namespace ringd::ctl
