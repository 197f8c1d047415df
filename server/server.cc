#include "server/server.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <limits>
#include <random>
#include <thread>

#include "fmt/format.h"
#include "grpcpp/ext/proto_server_reflection_plugin.h"
#include "grpcpp/health_check_service_interface.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "ring/error.h"
#include "ring/mutex.h"
#include "server/admin_http.h"
#include "server/applied_waits.h"
#include "server/auth.h"
#include "server/build_commit.h"
#include "server/directory.h"
#include "server/directory_service.h"
#include "server/grpc_log.h"
#include "server/listener.h"
#include "server/metered_store.h"
#include "server/metrics.h"
#include "server/process_metrics.h"
#include "server/tls_credentials.h"
#include "server/transport.h"
#include "server/version_waits.h"
#include "server/watch_hub.h"
#include "server/watch_metrics.h"
#include "server/watchers.h"
#include "server/write_queue.h"
#include "spdlog/spdlog.h"

namespace ringd::server {
namespace {

using Acceptor = grpc::experimental::ExternalConnectionAcceptor;

constexpr char kService[] = "ringd.v1.Directory";
constexpr char kWriteService[] = "ringd.v1.Directory.Write";

// Connections are closed when no new call has come for this long, at most kLongestLameDuck: a call that gRPC drops as
// it closes ends with CANCELLED, which tells its caller nothing, while ours are answered UNAVAILABLE.
constexpr std::chrono::milliseconds kQuiet{200};
constexpr std::chrono::milliseconds kLongestLameDuck{1'000};
// Descriptors that gRPC's connections leave to the store, the log, and the probes.
constexpr int kReservedDescriptors = 64;
// How long a connection may take to read the last answers, and how often those that do not are looked for then.
constexpr std::chrono::milliseconds kBreakEvery{100};
constexpr std::chrono::milliseconds kLastAnswers{1'000};

DirectoryOptions ForDirectory(const Options& options) {
  DirectoryOptions result{.ring_limits = options.ring_limits,
                          .max_rings = options.max_rings,
                          .history_age = options.history_age,
                          .history_max = options.history_max};
  result.random = [device = std::make_shared<std::random_device>()] { return (*device)(); };
  return result;
}

// As gRPC takes it, whose longest means for ever.
int ToGrpcMillis(std::chrono::milliseconds duration) {
  return static_cast<int>(std::min<int64_t>(duration.count(), std::numeric_limits<int>::max()));
}

}  // namespace

// In the order in which they are made; the last is destroyed first.
struct Server::Parts {
  Options options;
  std::unique_ptr<MeteredStore> store;
  std::unique_ptr<Authorizer> authorizer;
  std::unique_ptr<Directory> directory;
  std::unique_ptr<WatchHub> hub;
  WatchMetrics watch_metrics;
  std::unique_ptr<Watchers> watchers;
  std::unique_ptr<AppliedWaits> applied_waits;
  std::unique_ptr<VersionWaits> waits;
  std::unique_ptr<WriteQueue> writes;
  std::unique_ptr<DirectoryService> service;
  ProcessMetrics process;
  std::unique_ptr<Metrics> metrics;
  std::unique_ptr<AdminHttp> http;
  std::unique_ptr<AdminHttp> metrics_http;
  const CertificateKeeper* certificates = nullptr;
  std::shared_ptr<grpc::ServerCredentials> tls_credentials;
  std::unique_ptr<grpc::Server> grpc;
  std::unique_ptr<Acceptor> plaintext;
  std::unique_ptr<Acceptor> mutual_tls;
  std::vector<std::unique_ptr<Listener>> listeners;  // in the order of plan.grpc
  ListenPlan plan;

  absl::Status OpenDirectory();
  void SetUpMetrics();
  void AddCertificateMetrics();
  absl::Status StartHttp();
  absl::Status BindGrpc();
  absl::Status StartGrpc();
  void Accept();
  void SetReady(bool ready) const;
  void SetWritable(const absl::Status& status) const;
};

absl::Status Server::Parts::OpenDirectory() {
  DirectoryOptions directory_options = ForDirectory(options);
  directory_options.on_published = [this](std::span<const std::string> rings) {
    waits->Published(rings);
    applied_waits->Published(rings);
    hub->Published(rings);
  };
  directory_options.on_writable = [this](const absl::Status& status) { SetWritable(status); };
  auto opened = Directory::Open(*store, std::move(directory_options));
  if (!opened.ok()) return opened.status();
  directory = *std::move(opened);
  hub = std::make_unique<WatchHub>(*store,
                                   WatchHub::Options{.heartbeat_interval = options.heartbeat_interval,
                                                     .max_watches_per_connection = options.max_watches_per_connection,
                                                     .max_watches = options.max_watches,
                                                     .max_connection_age = options.max_connection_age});
  watchers = std::make_unique<Watchers>(
      *directory,
      Watchers::Options{.on_reached = [this](std::span<const uint64_t> places) { applied_waits->Reached(places); },
                        .on_applied = [this](std::chrono::nanoseconds duration) { watch_metrics.Applied(duration); }});
  watch_metrics.Attach(*watchers);
  applied_waits = std::make_unique<AppliedWaits>(*directory, *watchers);
  waits = std::make_unique<VersionWaits>(*directory);
  writes = std::make_unique<WriteQueue>(*directory);
  authorizer = std::make_unique<Authorizer>(options.admin_sans);
  service = std::make_unique<DirectoryService>(*directory, *writes, *waits, *applied_waits, *hub, *watchers,
                                               *authorizer, options.request_limits);
  return absl::OkStatus();
}

void Server::Parts::SetUpMetrics() {
  metrics = std::make_unique<Metrics>(
      *directory, Metrics::Limits{.max_nodes = options.metrics_max_nodes, .max_series = options.metrics_max_series});
  metrics->AddValue(Gauges("ringd_build_info", "Always 1; the labels say what was built."), [] { return 1.0; },
                    {{"version", RINGD_VERSION}, {"commit", kBuildCommit}});
  metrics->AddValue(Gauges("ringd_store_writable", "1 when the store took the last change, 0 when it refuses changes."),
                    [this] { return directory->writable() ? 1.0 : 0.0; });
  metrics->AddValue(Gauges("ringd_watchers", "Watch streams that are open."),
                    [this] { return static_cast<double>(hub->watches()); });
  metrics->AddValue(Counters("ringd_watch_rewound_total", "Snapshots marked rewound: the store was rolled back."),
                    [this] { return static_cast<double>(hub->rewound()); });
  metrics->AddValue(Counters("ringd_rpc_lookups_unknown_ring_total",
                             "Keys asked for in rings that do not exist, whatever their names."),
                    [this] { return static_cast<double>(service->unknown_ring_lookups()); });
  metrics->AddValue(Gauges("ringd_plaintext_listeners", "Addresses that speak plaintext by --allow-plaintext."),
                    [this] { return static_cast<double>(PlaintextOverrides(plan)); });
  if (certificates != nullptr) AddCertificateMetrics();
  metrics->Add(*store);
  metrics->Add(service->rpcs());
  metrics->Add(watch_metrics);
  metrics->Add(process);
}

void Server::Parts::AddCertificateMetrics() {
  metrics->AddValue(
      Gauges("ringd_cert_expiry_timestamp_seconds",
             "When the certificate expires that new connections are served with."),
      [this] { return absl::ToDoubleSeconds(certificates->served()->facts.not_after - absl::UnixEpoch()); });
  metrics->AddValue(Counters("ringd_certs_refused_total", "Times that what the certificate files held was not taken."),
                    [this] { return static_cast<double>(certificates->refused()); });
}

absl::Status Server::Parts::StartHttp() {
  const auto start = [this](std::optional<ListenAddress>& address, AdminHttp::Pages pages,
                            std::unique_ptr<AdminHttp>& listening) {
    if (!address.has_value()) return absl::OkStatus();
    auto started = AdminHttp::Start(*address, pages, [this] { return metrics->Page(); });
    if (!started.ok()) return started.status();
    listening = *std::move(started);
    address = listening->address();
    return absl::OkStatus();
  };
  if (absl::Status status = start(plan.http, AdminHttp::Pages::kLocal, http); !status.ok()) return status;
  return start(plan.metrics, AdminHttp::Pages::kPublic, metrics_http);
}

absl::Status Server::Parts::BindGrpc() {
  for (GrpcListen& one : plan.grpc) {
    auto bound = Listener::Bind(one.address, kReservedDescriptors);
    if (!bound.ok()) return bound.status();
    listeners.push_back(*std::move(bound));
    one.address = listeners.back()->address();
  }
  return absl::OkStatus();
}

void Server::Parts::SetReady(bool ready) const {
  if (http != nullptr) http->SetReady(ready);
  if (metrics_http != nullptr) metrics_http->SetReady(ready);
}

absl::Status Server::Parts::StartGrpc() {
  if (absl::Status status = BindGrpc(); !status.ok()) return status;
  TakeLogsOfGrpcAndProtobuf();
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  SetTransport(builder, options.max_request_bytes);
  // The Watches of an old connection leave it by themselves; see WatchHub.
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS, ToGrpcMillis(options.max_connection_age));
  constexpr auto kFromFd = grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD;
  plaintext = builder.experimental().AddExternalConnectionAcceptor(kFromFd, grpc::InsecureServerCredentials());
  if (certificates != nullptr) {
    tls_credentials = MutualTlsCredentials(*certificates);
    mutual_tls = builder.experimental().AddExternalConnectionAcceptor(kFromFd, tls_credentials);
  }
  builder.RegisterService(service.get());
  grpc = builder.BuildAndStart();
  if (grpc == nullptr) {
    return ring::Error(absl::StatusCode::kUnavailable, kCannotListen, "gRPC does not start: see the log");
  }
  grpc->GetHealthCheckService()->SetServingStatus(kService, true);
  grpc->GetHealthCheckService()->SetServingStatus(kWriteService, true);
  Accept();
  return absl::OkStatus();
}

void Server::Parts::Accept() {
  for (size_t i = 0; i < listeners.size(); i++) {
    Acceptor& acceptor = plan.grpc[i].transport == Transport::kMutualTls ? *mutual_tls : *plaintext;
    listeners[i]->Start([&acceptor](int fd) {
      Acceptor::NewConnectionParameters connection;
      connection.fd = fd;
      acceptor.HandleNewConnection(&connection);
    });
  }
}

// On the writer's thread, which has nothing to write before the first connection.
void Server::Parts::SetWritable(const absl::Status& status) const {
  grpc->GetHealthCheckService()->SetServingStatus(kWriteService, status.ok());
  if (status.ok()) {
    spdlog::info("the store takes writes again");
  } else {
    spdlog::error("the store refuses writes; lookups and watches go on: {}", std::string(status.message()));
  }
}

absl::StatusOr<std::unique_ptr<Server>> Server::Start(const Options& options, const ListenPlan& plan,
                                                      const CertificateKeeper* certificates,
                                                      std::unique_ptr<Store> store) {
  auto parts = std::make_unique<Parts>();
  parts->options = options;
  parts->plan = plan;
  parts->certificates = certificates;
  parts->store = std::make_unique<MeteredStore>(std::move(store));
  if (absl::Status status = parts->OpenDirectory(); !status.ok()) return status;
  parts->SetUpMetrics();
  if (absl::Status status = parts->StartHttp(); !status.ok()) return status;
  if (absl::Status status = parts->StartGrpc(); !status.ok()) return status;
  parts->SetReady(true);
  return std::unique_ptr<Server>(new Server(std::move(parts)));
}

Server::Server(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Server::~Server() { Drain(); }

void Server::Drain() {
  if (parts_->grpc == nullptr) return;
  using Clock = std::chrono::steady_clock;
  parts_->SetReady(false);
  parts_->grpc->GetHealthCheckService()->Shutdown();
  parts_->service->Drain();
  // Before the streams end: whoever has gone is not waited for, and would make it look as if all had applied it.
  parts_->applied_waits->Stop();
  parts_->hub->Stop();
  parts_->waits->Stop();
  parts_->writes->Stop();
  // The clients' time begins now: the disk may have taken long.
  const Clock::time_point start = Clock::now();
  const auto longest = start + std::min(kLongestLameDuck, parts_->options.drain_timeout);
  for (uint64_t refused = UINT64_MAX; refused != parts_->service->refused() && Clock::now() < longest;) {
    refused = parts_->service->refused();
    std::this_thread::sleep_until(std::min<Clock::time_point>(longest, Clock::now() + kQuiet));
  }
  for (const auto& listener : parts_->listeners) listener->Stop();
  // By now every call is answered. gRPC waits for connections too, also for one whose client does not read its answer.
  const Clock::time_point until = std::min(start + parts_->options.drain_timeout, Clock::now() + kLastAnswers);
  std::promise<void> shut;
  std::thread breaker([this, until, done = shut.get_future()] {
    for (auto next = until; done.wait_until(next) == std::future_status::timeout; next = Clock::now() + kBreakEvery) {
      for (const auto& listener : parts_->listeners) listener->BreakConnections();
    }
  });
  parts_->grpc->Shutdown(std::chrono::system_clock::now() + (until - Clock::now()));
  shut.set_value();
  breaker.join();
  parts_->grpc.reset();
}

const ListenPlan& Server::plan() const { return parts_->plan; }

}  // namespace ringd::server
