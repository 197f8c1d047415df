// What is counted of RPCs, under which names, and that counting takes neither locks nor memory.
#include "server/rpc_metrics.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "fmt/format.h"
#include "tests/server/metrics_page.h"

namespace ringd::server {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

RpcMetrics TwoMethods() {
  return RpcMetrics(
      {{.service = "s.S", .name = "Ask"}, {.service = "s.S", .name = "See", .kind = RpcKind::kServerStream}});
}

std::string Ask(const std::string& name, const std::string& more = "") {
  return fmt::format(R"({}{{grpc_type="unary",grpc_service="s.S",grpc_method="Ask"{}}})", name, more);
}
std::string See(const std::string& name, const std::string& more = "") {
  return fmt::format(R"({}{{grpc_type="server_stream",grpc_service="s.S",grpc_method="See"{}}})", name, more);
}

TEST(RpcMetrics, EverySeriesIsThereFromTheStartWithZero) {
  const RpcMetrics metrics = TwoMethods();
  const MetricsPage page(metrics.Collect());
  for (const char* code : {"OK", "Canceled", "Unknown", "InvalidArgument", "DeadlineExceeded", "NotFound",
                           "AlreadyExists", "PermissionDenied", "ResourceExhausted", "FailedPrecondition", "Aborted",
                           "OutOfRange", "Unimplemented", "Internal", "Unavailable", "DataLoss", "Unauthenticated"}) {
    EXPECT_EQ(page[Ask("grpc_server_handled_total", fmt::format(",grpc_code=\"{}\"", code))], 0);
    EXPECT_EQ(page[See("grpc_server_handled_total", fmt::format(",grpc_code=\"{}\"", code))], 0);
  }
  EXPECT_EQ(page[Ask("grpc_server_handling_seconds_bucket", ",le=\"+Inf\"")], 0);
  EXPECT_EQ(page.size(), 2u * (3 + 17) + 17 + 2) << "a stream has no duration";
}

TEST(RpcMetrics, ACallIsCountedWhenItComesAndWhenItIsAnswered) {
  RpcMetrics metrics = TwoMethods();
  metrics.of(0).Started();
  metrics.of(0).Started();
  metrics.of(0).Sent();
  metrics.of(0).Handled(0, microseconds(30));
  metrics.of(1).Started();
  for (int i = 0; i < 5; i++) metrics.of(1).Sent();
  metrics.of(1).Handled(14);
  const MetricsPage page(metrics.Collect());
  EXPECT_EQ(page[Ask("grpc_server_started_total")], 2);
  EXPECT_EQ(page[Ask("grpc_server_msg_received_total")], 2);
  EXPECT_EQ(page[Ask("grpc_server_msg_sent_total")], 1);
  EXPECT_EQ(page[Ask("grpc_server_handled_total", ",grpc_code=\"OK\"")], 1) << "one is in flight";
  EXPECT_EQ(page[See("grpc_server_started_total")], 1);
  EXPECT_EQ(page[See("grpc_server_msg_sent_total")], 5);
  EXPECT_EQ(page[See("grpc_server_handled_total", ",grpc_code=\"Unavailable\"")], 1);
  EXPECT_EQ(page[See("grpc_server_handled_total", ",grpc_code=\"OK\"")], 0);
}

TEST(RpcMetrics, ACodeThatGrpcDoesNotKnowIsUnknown) {
  RpcMetrics metrics = TwoMethods();
  metrics.of(0).Handled(17);
  metrics.of(0).Handled(static_cast<size_t>(-1));
  EXPECT_EQ(MetricsPage(metrics.Collect())[Ask("grpc_server_handled_total", ",grpc_code=\"Unknown\"")], 2);
}

TEST(RpcMetrics, ADurationFallsIntoTheBucketThatHoldsIt) {
  RpcMetrics metrics = TwoMethods();
  for (const auto took : {microseconds(0), microseconds(10), microseconds(11), microseconds(25), microseconds(999'999),
                          microseconds(1'000'000), microseconds(1'000'001)}) {
    metrics.of(0).Handled(0, took);
  }
  const MetricsPage page(metrics.Collect());
  const auto bucket = [&](const char* bound) {
    return page[Ask("grpc_server_handling_seconds_bucket", fmt::format(",le=\"{}\"", bound))];
  };
  EXPECT_EQ(bucket("1e-05"), 2) << "a bound belongs to its bucket";
  EXPECT_EQ(bucket("2.5e-05"), 4);
  EXPECT_EQ(bucket("0.5"), 4);
  EXPECT_EQ(bucket("1"), 6);
  EXPECT_EQ(bucket("+Inf"), 7);
  EXPECT_EQ(page[Ask("grpc_server_handling_seconds_count")], 7);
  EXPECT_NEAR(page[Ask("grpc_server_handling_seconds_sum")], 3.000046, 1e-9);
}

TEST(RpcMetrics, NothingIsLostAmongThreads) {
  RpcMetrics metrics = TwoMethods();
  constexpr int kThreads = 12;  // more than there are rows
  constexpr int kEach = 2'000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; i++) {
    threads.emplace_back([&metrics] {
      for (int n = 0; n < kEach; n++) {
        metrics.of(0).Started();
        metrics.of(0).Handled(n % 17, milliseconds(1));
      }
    });
  }
  double last = 0;
  for (int i = 0; i < 50; i++) {
    const double now = MetricsPage(metrics.Collect())[Ask("grpc_server_started_total")];
    EXPECT_GE(now, last) << "a counter went back";
    last = now;
  }
  for (std::thread& thread : threads) thread.join();
  const MetricsPage page(metrics.Collect());
  EXPECT_EQ(page[Ask("grpc_server_started_total")], kThreads * kEach);
  EXPECT_EQ(page[Ask("grpc_server_handling_seconds_count")], kThreads * kEach);
  EXPECT_NEAR(page[Ask("grpc_server_handling_seconds_sum")], kThreads * kEach * 0.001, 1e-6);
}

}  // namespace
}  // namespace ringd::server
