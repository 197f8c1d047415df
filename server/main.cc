// ringd: reads the options, opens the store, serves until SIGTERM or SIGINT, drains.
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <memory>

#include "absl/time/clock.h"
#include "ring/error.h"
#include "server/certificate_keeper.h"
#include "server/listen_plan.h"
#include "server/options.h"
#include "server/server.h"
#include "server/sqlite_store.h"
#include "server/stderr_log.h"
#include "spdlog/spdlog.h"

namespace ringd::server {
namespace {

constexpr std::chrono::seconds kCertificatePeriod{1};  // between two looks at the files

// Signals are taken by sigwait on the main thread; every other thread is started with them blocked.
sigset_t StopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// Whoever starts a server with these closed would give their numbers to a socket or the store, and the log would go
// there.
void OpenStandardStreams() {
  for (int fd = open("/dev/null", O_RDWR); fd >= 0; fd = open("/dev/null", O_RDWR)) {
    if (fd <= STDERR_FILENO) continue;
    close(fd);
    return;
  }
}

// Each connection takes a descriptor; the soft limit is low for the sake of programs that use select().
void RaiseDescriptorLimit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
}

int Fail(const absl::Status& status, int exit_code = 1) {
  spdlog::critical("{}", std::string(status.message()));
  return exit_code;
}

void LogAddresses(const ListenPlan& plan) {
  for (const GrpcListen& one : plan.grpc) {
    spdlog::info("ringd " RINGD_VERSION " listening on {} ({})", one.address.ToString(),
                 one.transport == Transport::kMutualTls ? "mTLS" : "plaintext");
    if (!one.by_override) continue;
    spdlog::warn("--allow-plaintext: whoever reaches {} may change every ring", one.address.ToString());
  }
  if (plan.http.has_value()) spdlog::info("http listening on {}", plan.http->ToString());
  if (plan.metrics.has_value()) spdlog::info("metrics listening on {}", plan.metrics->ToString());
  spdlog::info("ringd " RINGD_VERSION " is ready");
}

int Run(const Options& options) {
  const sigset_t signals = StopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the store like a full disk
  RaiseDescriptorLimit();

  // Before anything is made on the disk.
  const auto plan = PlanListening({.listen = options.listen,
                                   .allow_plaintext = options.allow_plaintext,
                                   .http_listen = options.http_listen,
                                   .metrics_listen = options.metrics_listen,
                                   .has_certificates = options.has_certificates()});
  if (!plan.ok()) return Fail(plan.status(), absl::IsInvalidArgument(plan.status()) ? 2 : 1);
  std::unique_ptr<CertificateKeeper> certificates;
  if (options.has_certificates()) {
    auto loaded = CertificateKeeper::Load(options.certificates, absl::Now);
    if (!loaded.ok()) return Fail(loaded.status());
    certificates = *std::move(loaded);
    certificates->Start(kCertificatePeriod);
  }
  auto store = SqliteStore::Open(options.data_dir, options.init ? InitMode::kCreate : InitMode::kMustExist);
  if (!store.ok()) return Fail(store.status());
  auto server = Server::Start(options, *plan, certificates.get(), *std::move(store));
  if (!server.ok()) return Fail(server.status());
  LogAddresses((*server)->plan());
  if (certificates != nullptr && options.admin_sans.empty()) {
    spdlog::warn("no --admin-san is given: nobody may change rings over mTLS");
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
  ringd::server::OpenStandardStreams();
  ringd::server::LogToStderr();
  const ringd::server::ParsedOptions parsed = ringd::server::ParseOptions(argc, argv);
  return parsed.run ? ringd::server::Run(parsed.options) : parsed.exit_code;
}
