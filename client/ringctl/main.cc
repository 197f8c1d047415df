#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "client/ringctl/cli.h"
#include "client/ringctl/standard_output.h"

namespace {

// Closed by the caller, their numbers would go to the first connections. Opened the wrong way round, so that reading or
// writing fails and is told.
void ReserveStandardStreams() {
  if (fcntl(STDIN_FILENO, F_GETFD) < 0) (void)open("/dev/null", O_WRONLY);
  if (fcntl(STDOUT_FILENO, F_GETFD) < 0) (void)open("/dev/null", O_RDONLY);
  if (fcntl(STDERR_FILENO, F_GETFD) < 0) (void)open("/dev/null", O_WRONLY);
}

void EndAtOnce(int) { _exit(static_cast<int>(ringd::ctl::ExitCode::kInterrupted)); }

}  // namespace

int main(int argc, char** argv) {
  ReserveStandardStreams();
  // stderr is for our own lines, unless someone debugs gRPC.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  std::signal(SIGINT, EndAtOnce);
  return static_cast<int>(ringd::ctl::FinishOutput(ringd::ctl::RunCommandLine({argv + 1, argv + argc})));
}
