// RpcMetrics: what is counted of each RPC, under the names that dashboards know from go-grpc-prometheus:
//
//   grpc_server_started_total, grpc_server_msg_received_total, grpc_server_msg_sent_total
//   grpc_server_handled_total{grpc_code}, with a series for each code from the start
//   grpc_server_handling_seconds, of unary RPCs: a stream lasts as long as its reader wants
//
// The handlers call it. (An interceptor of gRPC's would see the calls that gRPC refuses by itself too, but it sends
// each call through gRPC's completion queue again, which costs a fifth of all instructions of a Lookup.)
//
// Threads: all from any thread. Counting takes no lock and no memory: each thread adds to one of a few rows of atomics.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "prometheus/collectable.h"
#include "server/metric_families.h"

namespace ringd::server {

enum class RpcKind { kUnary, kServerStream };

// One method's counts.
class RpcCounts {
 public:
  using Clock = std::chrono::steady_clock;
  // As gRPC numbers the status codes.
  static constexpr size_t kCodes = 17;

  // A call has come, with its request.
  void Started() { Add(row().started); }
  void Sent() { Add(row().sent); }
  // A call is answered with this code; a code out of range counts as unknown.
  void Handled(size_t code) { Add(row().handled[code < kCodes ? code : kUnknown]); }
  // The same for a call that has a duration.
  void Handled(size_t code, Clock::duration took) {
    Handled(code);
    row().took.Add(took);
  }

  struct Sums {
    uint64_t started = 0;
    uint64_t sent = 0;
    std::array<uint64_t, kCodes> handled{};
    DurationCounts::Sums took;
  };
  Sums Sum() const;

 private:
  static constexpr size_t kUnknown = 2;
  static constexpr size_t kRows = 8;
  struct alignas(64) Row {
    std::atomic<uint64_t> started = 0;
    std::atomic<uint64_t> sent = 0;
    std::array<std::atomic<uint64_t>, kCodes> handled{};
    DurationCounts took;
  };

  static void Add(std::atomic<uint64_t>& count) { count.fetch_add(1, std::memory_order_relaxed); }
  // The row of the calling thread.
  Row& row() { return rows_[RowOfThread() % kRows]; }
  static size_t RowOfThread();

  std::array<Row, kRows> rows_;
};

class RpcMetrics final : public prometheus::Collectable {
 public:
  struct Method {
    std::string service;
    std::string name;
    RpcKind kind = RpcKind::kUnary;
  };

  explicit RpcMetrics(std::vector<Method> methods);

  // Of the method at this index of those given.
  RpcCounts& of(size_t method) { return counts_[method]; }

  MetricFamilies Collect() const override;

 private:
  const std::vector<Method> methods_;
  std::deque<RpcCounts> counts_;
};

}  // namespace ringd::server
