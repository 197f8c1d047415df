// The page as a whole: everybody who counts is on it, it stays within its number of series, and scrapes may come at
// once.
#include "server/metrics.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "server/process_metrics.h"
#include "server/rpc_metrics.h"
#include "tests/server/metrics_page.h"
#include "tests/server/test_directory.h"

namespace ringd::server {
namespace {

TEST(Metrics, ThePageHasAllThatWasAdded) {
  TestDirectory directory;
  directory.Make("r", {"a"});
  const RpcMetrics rpcs(std::vector<RpcMetrics::Method>{{.service = "s.S", .name = "Ask"}});
  double value = 4;
  Metrics metrics(*directory, {});
  metrics.AddValue(Gauges("test_value", "A value."), [&] { return value; }, {{"what", "it \"is\""}});
  metrics.AddValue(Counters("test_total", "A count."), [] { return 1e15; });
  metrics.Add(rpcs);
  const std::string text = metrics.Page();
  EXPECT_EQ(text.find("# HELP test_value A value.\n# TYPE test_value gauge\ntest_value{what=\"it \\\"is\\\"\"} 4\n"),
            0u);
  EXPECT_NE(text.find("# HELP test_total A count.\n# TYPE test_total counter\n"), std::string::npos);
  const MetricsPage page(text);
  EXPECT_EQ(page["test_total"], 1e15);
  EXPECT_EQ(page["ringd_ring_nodes{ring=\"r\"}"], 1);
  EXPECT_EQ(page["grpc_server_started_total{grpc_type=\"unary\",grpc_service=\"s.S\",grpc_method=\"Ask\"}"], 0);
  value = 5;
  EXPECT_EQ(MetricsPage(metrics.Page())["test_value{what=\"it \\\"is\\\"\"}"], 5) << "read at each scrape";
}

TEST(Metrics, AllSeriesTogetherStayWithinTheLimit) {
  TestDirectory directory;
  for (int i = 0; i < 20; i++) directory.Make("r" + std::to_string(i), {"a", "b", "c"});
  const RpcMetrics rpcs(std::vector<RpcMetrics::Method>{{.service = "s.S", .name = "Ask"}});
  const size_t fixed = MetricsPage(rpcs.Collect()).size();
  for (const size_t limit : {fixed + 2, fixed + 50, fixed + 199, size_t{10'000}}) {
    Metrics metrics(*directory, {.max_series = limit});
    metrics.Add(rpcs);
    const MetricsPage page(metrics.Page());
    EXPECT_LE(page.size(), limit);
    EXPECT_EQ(page.size() + static_cast<size_t>(page["ringd_metrics_series_left_out"]), fixed + 2 + 20 * (7 + 9));
  }
}

TEST(Metrics, ScrapesMayComeAtOnceWhileRingsChange) {
  TestDirectory directory;
  directory.Make("r", {"a", "b"});
  const ProcessMetrics process;
  Metrics metrics(*directory, {});
  metrics.Add(process);
  std::atomic<bool> done = false;
  std::vector<std::thread> scrapers;
  for (int i = 0; i < 4; i++) {
    scrapers.emplace_back([&] {
      do {
        const MetricsPage page(metrics.Page());
        EXPECT_EQ(page["ringd_rpc_lookups_total{ring=\"r\",node=\"a\"}"], 0);
      } while (!done);
    });
  }
  for (int i = 0; i < 100; i++) {
    directory.Do(Add("r", "n"));
    directory.Do(Change("r", {RemoveOp("n")}));
  }
  done = true;
  for (std::thread& scraper : scrapers) scraper.join();
}

}  // namespace
}  // namespace ringd::server
