#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <memory>
#include <thread>

#include "client/backoff.h"
#include "client/ringctl/channel.h"
#include "client/ringctl/commands.h"
#include "client/ringctl/failure.h"
#include "client/ringctl/json.h"
#include "client/ringctl/standard_output.h"
#include "client/ringctl/watch_line.h"
#include "client/ringctl/watch_position.h"
#include "client/ringctl/watch_reporter.h"
#include "client/wire_check.h"

namespace ringd::ctl {
namespace {

constexpr std::chrono::milliseconds kFindOutWithin{500};  // what is wrong with an endpoint

// What every server would say.
bool IsPermanent(grpc::StatusCode code) {
  return code == grpc::StatusCode::INVALID_ARGUMENT || code == grpc::StatusCode::PERMISSION_DENIED ||
         code == grpc::StatusCode::UNIMPLEMENTED;
}

// WatchLog tells on stderr how the connection fares, each loss once and not each try.
class WatchLog {
 public:
  explicit WatchLog(bool quiet) : quiet_(quiet) {}

  void Lost(const std::string& endpoint, const grpc::Status& status) {
    if (told_ == status.error_code() || quiet_) return;
    told_ = status.error_code();
    Notice(fmt::format("watch: no stream from {}: {} ({}); trying again until there is one", endpoint,
                       status.error_message(), CodeName(status.error_code())));
  }

  void Progress(const std::string& endpoint) {
    if (told_ != grpc::StatusCode::OK) Notice(fmt::format("watch: connected to {}", endpoint));
    told_ = grpc::StatusCode::OK;
  }

 private:
  const bool quiet_;
  grpc::StatusCode told_ = grpc::StatusCode::OK;  // of the loss that was told; OK = none
};

// What one stream came to. Output that failed ends it with OK.
struct StreamEnd {
  grpc::Status status;
  bool progress;  // a message came
};

// Whether a message brings the ring to a version that is worth a report: not where it is a part of a snapshot.
bool BringsVersion(const v1::WatchResponse& message) {
  return message.has_change() || (message.has_snapshot() && message.snapshot().last()) ||
         (message.has_in_sync() && message.in_sync().has_ring());
}

v1::WatchRequest RequestOf(const WatchPosition& position, const WatchOptions& options) {
  v1::WatchRequest request = position.Request();
  request.set_watcher(options.name);
  return request;
}

StreamEnd FollowStream(const std::string& endpoint, const GlobalOptions& global, const WatchOptions& options,
                       WatchPosition& position, WatchLog& log) {
  const std::shared_ptr<grpc::Channel> channel = NewChannel(endpoint, global.security);
  if (!WaitUntilConnected(*channel, Clock::time_point::max())) {
    const std::string why = global.security.WhyRefused(endpoint, kFindOutWithin);
    if (!why.empty()) return {grpc::Status(grpc::StatusCode::UNAUTHENTICATED, why), false};
    return {grpc::Status(grpc::StatusCode::UNAVAILABLE, "cannot reach it"), false};
  }
  const auto stub = v1::Directory::NewStub(channel);
  grpc::ClientContext context;
  const auto reader = stub->Watch(&context, RequestOf(position, options));
  std::optional<WatchReporter> reporter;
  if (!options.name.empty()) reporter.emplace(*stub, options.name, options.ring);
  bool progress = false;
  v1::WatchResponse message;
  while (reader->Read(&message)) {
    log.Progress(endpoint);
    progress = true;
    Print(global.format == Format::kJson ? JsonLine(ToJson(message)) : WatchLine(message) + "\n");
    if (!FlushOutput()) {
      context.TryCancel();
      reader->Finish();
      return {grpc::Status::OK, true};
    }
    position.Observe(message);
    if (reporter && BringsVersion(message) && position.version() != nullptr) reporter->Shown(*position.version());
  }
  grpc::Status status = Understood(reader->Finish());
  if (status.ok()) status = grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server ended the stream");
  return {status, progress};
}

// Ends the process when nobody reads it any more, as in `| head -1`: the next event may be long in coming.
void EndWithReader() {
  std::thread([] {
    pollfd output{STDOUT_FILENO, 0, 0};
    while (poll(&output, 1, -1) < 0) {
    }
    _exit(static_cast<int>(ExitCode::kRefused));
  }).detach();
}

}  // namespace

ExitCode Watch(const GlobalOptions& global, const WatchOptions& options) {
  WatchPosition position(options.ring, options.from);
  const grpc::Status unfit = CheckWire(RequestOf(position, options));
  if (!unfit.ok()) return ReportStatus(unfit);
  EndWithReader();
  WatchLog log(global.quiet);
  Backoff backoff({.first = std::chrono::milliseconds(200), .longest = std::chrono::milliseconds(5000)},
                  SystemRandom());
  bool ever = false;
  std::size_t refused = 0;  // tries in a row that failed for TLS
  for (std::size_t tries = 0;; ++tries) {
    const std::string& endpoint = global.endpoints[tries % global.endpoints.size()];
    const StreamEnd end = FollowStream(endpoint, global, options, position, log);
    if (end.status.ok()) return ExitCode::kRefused;
    ever |= end.progress;
    refused = end.status.error_code() == grpc::StatusCode::UNAUTHENTICATED ? refused + 1 : 0;
    // TLS that worked before may work again, when a certificate has been renewed.
    const bool none_is_left = !ever && refused == global.endpoints.size();
    if (IsPermanent(end.status.error_code()) || none_is_left) return ReportStatus(end.status, endpoint);
    if (end.progress) backoff.Reset();
    log.Lost(endpoint, end.status);
    std::this_thread::sleep_for(backoff.Next());
  }
}

}  // namespace ringd::ctl
