// ringd: reads the settings, opens the store, serves until SIGTERM or SIGINT, drains. SIGHUP reloads.
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>

#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "fmt/format.h"
#include "server/certificate_keeper.h"
#include "server/listen_plan.h"
#include "server/options.h"
#include "server/server.h"
#include "server/sqlite_store.h"
#include "server/stderr_log.h"
#include "server/systemd_notify.h"
#include "spdlog/spdlog.h"

namespace ringd::server {
namespace {

constexpr std::chrono::seconds kCertificatePeriod{1};  // between two looks at the files

// Signals are taken by sigwait on the main thread; every other thread is started with them blocked.
sigset_t AwaitedSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, number);
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

int ExitCodeOf(const absl::Status& status) { return absl::IsInvalidArgument(status) ? 2 : 1; }

int Fail(const absl::Status& status, int exit_code = 1) {
  spdlog::critical("{}", std::string(status.message()));
  return exit_code;
}

absl::StatusOr<ListenPlan> PlanOf(const Options& options) {
  return PlanListening({.listen = options.listen,
                        .allow_plaintext = options.allow_plaintext,
                        .http_listen = options.http_listen,
                        .metrics_listen = options.metrics_listen,
                        .has_certificates = options.has_certificates()});
}

// --check-config, for settings that make sense by themselves.
int Check(const Options& options) {
  absl::Status status = PlanOf(options).status();
  if (status.ok() && options.has_certificates()) {
    const auto texts = ReadPemFiles(options.certificates);
    status = texts.ok() ? CheckPem(*texts, options.certificates, absl::Now()).status() : texts.status();
  }
  if (!status.ok()) {
    fmt::print(stderr, "error: {}\n", std::string(status.message()));
    return ExitCodeOf(status);
  }
  fmt::print("ok\n");
  return 0;
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

// SIGHUP. What is wrong leaves everything as it was.
void Reload(const SettingSources& sources, CertificateKeeper* certificates) {
  const ParsedOptions parsed = ParseOptions(sources);
  for (const std::string& error : parsed.errors) spdlog::error("not reloaded: {}", error);
  if (!parsed.errors.empty()) return;
  std::string certificates_too;
  if (certificates != nullptr && parsed.options.has_certificates()) {
    certificates_too =
        certificates->Look(parsed.options.certificates) ? " and the certificates" : ", but not the certificates";
  }
  // Told if the level from before or the new one lets it be told.
  const auto before = spdlog::get_level();
  SetLogLevel(parsed.options.log_level);
  const auto after = spdlog::get_level();
  spdlog::set_level(std::min(before, after));
  spdlog::info("reloaded the log level ({}){}; other settings change with a restart", parsed.options.log_level,
               certificates_too);
  spdlog::set_level(after);
}

// Until it is time to stop; answers the signal that said so.
int AwaitStop(const sigset_t& signals, const SettingSources& sources, CertificateKeeper* certificates) {
  while (true) {
    int number = 0;
    sigwait(&signals, &number);
    if (number != SIGHUP) return number;
    NotifyReloading();
    Reload(sources, certificates);
    NotifyReady();
  }
}

int Run(const Options& options, const SettingSources& sources) {
  const sigset_t signals = AwaitedSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the store like a full disk
  RaiseDescriptorLimit();

  // Before anything is made on the disk.
  const auto plan = PlanOf(options);
  if (!plan.ok()) return Fail(plan.status(), ExitCodeOf(plan.status()));
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
  if (certificates != nullptr && options.admin_sans.empty()) {
    spdlog::warn("no --admin-san is given: nobody may change rings over mTLS");
  }
  LogAddresses((*server)->plan());
  NotifyReady();

  const int number = AwaitStop(signals, sources, certificates.get());
  NotifyStopping();
  spdlog::info("signal {}: draining", number);
  server->reset();
  spdlog::info("stopped");
  return 0;
}

int Main(const SettingSources& sources) {
  const ParsedOptions parsed = ParseOptions(sources);
  if (!parsed.text.empty()) {
    fmt::print("{}", parsed.text);
    return 0;
  }
  for (const std::string& error : parsed.errors) fmt::print(stderr, "error: {}\n", error);
  if (!parsed.errors.empty()) {
    fmt::print(stderr, "Try `ringd --help`.\n");
    return 2;
  }
  SetLogFormat(parsed.options.log_format);
  SetLogLevel(parsed.options.log_level);
  for (const std::string& warning : parsed.warnings) spdlog::warn("{}", warning);
  return parsed.check_only ? Check(parsed.options) : Run(parsed.options, sources);
}

}  // namespace
}  // namespace ringd::server

int main(int argc, char** argv) {
  // gRPC's locks are Abseil's, and Debian builds both with checks: each lock is looked for in a graph of all locks,
  // which is a tenth of a Lookup, and a cycle in it ends the process.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  ringd::server::OpenStandardStreams();
  ringd::server::LogToStderr();
  ringd::server::SettingSources sources{.arguments = {argv + 1, argv + argc}};
  for (char** entry = environ; *entry != nullptr; ++entry) sources.environment.emplace_back(*entry);
  return ringd::server::Main(sources);
}
