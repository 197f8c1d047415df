// ringd: reads the options, opens the store, serves until SIGTERM or SIGINT, drains.
#include <pthread.h>

#include <csignal>
#include <memory>

#include "ring/error.h"
#include "server/options.h"
#include "server/server.h"
#include "server/sqlite_store.h"
#include "spdlog/sinks/stdout_sinks.h"
#include "spdlog/spdlog.h"

namespace ringd::server {
namespace {

// Signals are taken by sigwait on the main thread; every other thread is started with them blocked.
sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

int Fail(const absl::Status& status) {
  spdlog::critical("{}", std::string(status.message()));
  return 1;
}

int Run(const Options& options) {
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);

  // Before anything is made on the disk.
  const auto addresses = ReadAddresses(options);
  if (!addresses.ok()) return Fail(addresses.status());
  auto store = SqliteStore::Open(options.data_dir, options.init ? InitMode::kCreate : InitMode::kMustExist);
  if (!store.ok()) return Fail(store.status());
  auto server = Server::Start(options, *addresses, *std::move(store));
  if (!server.ok()) return Fail(server.status());
  spdlog::info("ringd " RINGD_VERSION " listening on {}", (*server)->addresses().grpc.ToString());
  if (const auto& http = (*server)->addresses().http; http.has_value()) {
    spdlog::info("http listening on {}", http->ToString());
  }

  int signal_number = 0;
  sigwait(&signals, &signal_number);
  spdlog::info("signal {}: draining", signal_number);
  server->reset();
  spdlog::info("stopped");
  return 0;
}

}  // namespace
}  // namespace ringd::server

int main(int argc, char** argv) {
  spdlog::set_default_logger(spdlog::stderr_logger_mt("ringd"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%fZ %l %v", spdlog::pattern_time_type::utc);
  const ringd::server::ParsedOptions parsed = ringd::server::ParseOptions(argc, argv);
  return parsed.run ? ringd::server::Run(parsed.options) : parsed.exit_code;
}
