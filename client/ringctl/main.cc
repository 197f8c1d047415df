#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "client/ringctl/cli.h"
#include "client/ringctl/standard_output.h"

namespace {

void EndAtOnce(int) { _exit(static_cast<int>(ringd::ctl::ExitCode::kInterrupted)); }

}  // namespace

int main(int argc, char** argv) {
  // stderr is for our own lines, unless someone debugs gRPC.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  std::signal(SIGINT, EndAtOnce);
  return static_cast<int>(ringd::ctl::FinishOutput(ringd::ctl::RunCommandLine({argv + 1, argv + argc})));
}
