#include "server/rpc_metrics.h"

#include <utility>

namespace ringd::server {
namespace {

// As Go's gRPC spells them, which is what dashboards ask for.
constexpr std::array<std::string_view, RpcCounts::kCodes> kCodeNames = {
    "OK",       "Canceled",       "Unknown",          "InvalidArgument",   "DeadlineExceeded",
    "NotFound", "AlreadyExists",  "PermissionDenied", "ResourceExhausted", "FailedPrecondition",
    "Aborted",  "OutOfRange",     "Unimplemented",    "Internal",          "Unavailable",
    "DataLoss", "Unauthenticated"};

Labels LabelsOf(const RpcMetrics::Method& method) {
  return {{"grpc_type", method.kind == RpcKind::kUnary ? "unary" : "server_stream"},
          {"grpc_service", method.service},
          {"grpc_method", method.name}};
}

}  // namespace

size_t RpcCounts::RowOfThread() {
  static std::atomic<size_t> threads = 0;
  static thread_local const size_t number = threads++;
  return number;
}

RpcCounts::Sums RpcCounts::Sum() const {
  Sums sums;
  for (const Row& row : rows_) {
    sums.started += row.started.load(std::memory_order_relaxed);
    sums.sent += row.sent.load(std::memory_order_relaxed);
    for (size_t code = 0; code < kCodes; code++)
      sums.handled[code] += row.handled[code].load(std::memory_order_relaxed);
    row.took.AddTo(sums.took);
  }
  return sums;
}

RpcMetrics::RpcMetrics(std::vector<Method> methods) : methods_(std::move(methods)), counts_(methods_.size()) {}

MetricFamilies RpcMetrics::Collect() const {
  auto started = Counters("grpc_server_started_total", "RPCs that came to a handler.");
  auto received = Counters("grpc_server_msg_received_total", "Messages received: the requests of those RPCs.");
  auto sent = Counters("grpc_server_msg_sent_total", "Messages sent.");
  auto handled = Counters("grpc_server_handled_total", "RPCs that were answered, by status code.");
  auto seconds =
      Histograms("grpc_server_handling_seconds", "Time from the start of a unary RPC's handler to its answer.");
  for (size_t i = 0; i < methods_.size(); i++) {
    const Labels labels = LabelsOf(methods_[i]);
    const RpcCounts::Sums sums = counts_[i].Sum();
    AddSeries(started, labels, static_cast<double>(sums.started));
    AddSeries(received, labels, static_cast<double>(sums.started));
    AddSeries(sent, labels, static_cast<double>(sums.sent));
    for (size_t code = 0; code < RpcCounts::kCodes; code++) {
      Labels with_code = labels;
      with_code.push_back({"grpc_code", std::string(kCodeNames[code])});
      AddSeries(handled, std::move(with_code), static_cast<double>(sums.handled[code]));
    }
    if (methods_[i].kind == RpcKind::kUnary) AddSeries(seconds, labels, sums.took.ToHistogram());
  }
  return {std::move(started), std::move(received), std::move(sent), std::move(handled), std::move(seconds)};
}

}  // namespace ringd::server
