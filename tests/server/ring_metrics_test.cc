// The metrics of rings and nodes: what they say, what goes away with what it was about, and how many there may be.
#include "server/ring_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "fmt/format.h"
#include "tests/server/metrics_page.h"
#include "tests/server/test_directory.h"

namespace ringd::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr size_t kPlenty = 1'000'000;

MetricsPage Page(TestDirectory& directory, size_t max_series = kPlenty, size_t max_nodes = 100) {
  return MetricsPage(RingMetrics(*directory, max_nodes).Collect(max_series));
}

std::vector<std::string> Numbered(const std::string& prefix, int count) {
  std::vector<std::string> ids;
  for (int i = 0; i < count; i++) ids.push_back(fmt::format("{}{:05}", prefix, i));
  return ids;
}

Mutation AddAll(const std::string& ring, const std::vector<std::string>& nodes) {
  std::vector<ring::Operation> operations;
  for (const std::string& node : nodes) operations.push_back(AddOp(node));
  return Change(ring, std::move(operations));
}

TEST(RingMetrics, ARingSaysWhatItIs) {
  TestDirectory directory;
  directory.now = absl::FromUnixSeconds(1'000);
  directory.Do(Create("r"));
  directory.Do(Change("r", {AddOp("a", 1), AddOp("b", 3)}));
  directory.now = absl::FromUnixMillis(2'500'250);
  directory.Do(Add("r", "idle", 0));
  const RingStatePtr state = directory.State("r");
  const MetricsPage page = Page(directory);
  EXPECT_EQ(page["ringd_rings"], 1);
  EXPECT_EQ(page["ringd_metrics_series_left_out"], 0);
  EXPECT_EQ(page["ringd_ring_revision{ring=\"r\"}"], 3);
  EXPECT_EQ(page["ringd_ring_nodes{ring=\"r\"}"], 3);
  EXPECT_EQ(page["ringd_ring_points{ring=\"r\"}"], static_cast<double>(state->ring.point_count()));
  EXPECT_EQ(page["ringd_last_change_timestamp_seconds{ring=\"r\"}"], 2'500.25);
  EXPECT_EQ(page["ringd_node_expected_share_ratio{ring=\"r\",node=\"a\"}"], 0.25);
  EXPECT_EQ(page["ringd_node_expected_share_ratio{ring=\"r\",node=\"b\"}"], 0.75);
  EXPECT_EQ(page["ringd_node_expected_share_ratio{ring=\"r\",node=\"idle\"}"], 0);
  EXPECT_EQ(page["ringd_node_key_share_ratio{ring=\"r\",node=\"idle\"}"], 0);
  const double a = page["ringd_node_key_share_ratio{ring=\"r\",node=\"a\"}"];
  const double b = page["ringd_node_key_share_ratio{ring=\"r\",node=\"b\"}"];
  EXPECT_NEAR(a + b, 1, 1e-12);
  EXPECT_NEAR(page["ringd_ring_imbalance_ratio{ring=\"r\"}"], std::max(a / 0.25, b / 0.75), 1e-12);
  EXPECT_NEAR(page["ringd_ring_imbalance_min_ratio{ring=\"r\"}"], std::min(a / 0.25, b / 0.75), 1e-12);
  EXPECT_EQ(page.size(), 2u + 7 + 3 * 3) << "a series without a test";
}

TEST(RingMetrics, WithoutRingsOrNodesThereAreZeros) {
  TestDirectory directory;
  EXPECT_EQ(Page(directory).size(), 2u);
  directory.Make("r");
  const MetricsPage page = Page(directory);
  EXPECT_EQ(page["ringd_ring_imbalance_ratio{ring=\"r\"}"], 0);
  EXPECT_EQ(page["ringd_ring_imbalance_min_ratio{ring=\"r\"}"], 0);
  EXPECT_EQ(page["ringd_rpc_ring_lookups_total{ring=\"r\"}"], 0);
  directory.Do(Add("r", "n"));
  EXPECT_EQ(Page(directory)["ringd_rpc_lookups_total{ring=\"r\",node=\"n\"}"], 0);
}

// B101 (kubernetes-sigs/metrics-server#1876, digitalocean/ceph_exporter#102): no series of a node or ring that is gone
// is left, and a node that comes back has the values of now.
TEST(RingMetrics, SeriesGoWithTheirNodeAndRing) {
  TestDirectory directory;
  directory.Make("r", {"m1", "m2", "m3", "m4", "m5"});
  directory.Make("other", {"m2"});
  const RingStatePtr first = directory.State("r");
  for (uint32_t i = 0; i < 5; i++) first->lookups.Add(i, 10 + i);
  EXPECT_THAT(Page(directory).SeriesWith("ring=\"r\",node=\"m2\""), SizeIs(3));
  EXPECT_EQ(Page(directory)["ringd_rpc_lookups_total{ring=\"r\",node=\"m2\"}"], 11);

  directory.Do(Change("r", {RemoveOp("m2"), RemoveOp("m3")}));
  EXPECT_THAT(Page(directory).SeriesWith("ring=\"r\",node=\"m2\""), IsEmpty());
  EXPECT_THAT(Page(directory).SeriesWith("\"m3\""), IsEmpty());
  EXPECT_EQ(Page(directory)["ringd_rpc_lookups_total{ring=\"r\",node=\"m4\"}"], 13);
  EXPECT_EQ(Page(directory)["ringd_rpc_ring_lookups_total{ring=\"r\"}"], 60);

  directory.Do(Add("r", "m2"));
  EXPECT_EQ(Page(directory)["ringd_rpc_lookups_total{ring=\"r\",node=\"m2\"}"], 0);
  EXPECT_EQ(Page(directory)["ringd_node_expected_share_ratio{ring=\"r\",node=\"m2\"}"], 0.25);

  directory.Do(Forced(Delete("r")));
  EXPECT_THAT(Page(directory).SeriesWith("ring=\"r\""), IsEmpty());
  EXPECT_THAT(Page(directory).SeriesWith("ring=\"other\""), SizeIs(7 + 3));
}

TEST(RingMetrics, ARingOfMoreNodesThanTheCapHasAHistogramInsteadOfANodesSeries) {
  TestDirectory directory;
  directory.Make("r");
  directory.Do(AddAll("r", Numbered("n", 10)));
  directory.Do(Add("r", "idle", 0));
  EXPECT_THAT(Page(directory, kPlenty, 11).SeriesWith("node=\""), SizeIs(33)) << "at the cap";
  const MetricsPage page = Page(directory, kPlenty, 10);
  EXPECT_THAT(page.SeriesWith("node=\""), IsEmpty()) << "over it";
  EXPECT_THAT(page.SeriesWith("ring=\"r\""), SizeIs(7 + 14));
  EXPECT_EQ(page["ringd_metrics_series_left_out"], 0) << "the cap leaves nothing out, it says it otherwise";

  const ring::NodeTable& table = *directory.State("r")->ring.table();
  double below = 0, up_to_half_more = 0, sum = 0;
  for (size_t i = 0; i < table.nodes.size(); i++) {
    if (table.nodes[i]->weight == 0) continue;
    const double imbalance = table.ShareOf(i) / 0.1;
    below += imbalance <= 0.95 ? 1 : 0;
    up_to_half_more += imbalance <= 1.5 ? 1 : 0;
    sum += imbalance;
  }
  EXPECT_EQ(page["ringd_node_imbalance_ratio_count{ring=\"r\"}"], 10) << "weighted nodes";
  EXPECT_EQ(page["ringd_node_imbalance_ratio_bucket{ring=\"r\",le=\"+Inf\"}"], 10);
  EXPECT_EQ(page["ringd_node_imbalance_ratio_bucket{ring=\"r\",le=\"0.95\"}"], below);
  EXPECT_EQ(page["ringd_node_imbalance_ratio_bucket{ring=\"r\",le=\"1.5\"}"], up_to_half_more);
  EXPECT_NEAR(page["ringd_node_imbalance_ratio_sum{ring=\"r\"}"], sum, 1e-9);
}

TEST(RingMetrics, TheBudgetHoldsAndRingsComeBeforeNodesInOrderOfName) {
  TestDirectory directory;
  for (const char* ring : {"a", "b", "c"}) directory.Make(ring, {"n1", "n2"});
  const size_t all = 2 + 3 * 7 + 3 * 6;
  const auto with = [&](size_t budget) {
    const MetricsPage page = Page(directory, budget);
    EXPECT_LE(page.size(), budget);
    EXPECT_EQ(page.size() + static_cast<size_t>(page["ringd_metrics_series_left_out"]), all) << budget;
    return page;
  };
  EXPECT_EQ(with(all).size(), all);
  EXPECT_THAT(
      with(all - 1).SeriesWith("ringd_rpc_lookups_total"),
      ElementsAre("ringd_rpc_lookups_total{ring=\"a\",node=\"n1\"}", "ringd_rpc_lookups_total{ring=\"a\",node=\"n2\"}",
                  "ringd_rpc_lookups_total{ring=\"b\",node=\"n1\"}",
                  "ringd_rpc_lookups_total{ring=\"b\",node=\"n2\"}"));
  EXPECT_THAT(with(2 + 3 * 7).SeriesWith("node="), IsEmpty());
  EXPECT_THAT(with(2 + 3 * 7).SeriesWith("ringd_ring_nodes"), SizeIs(3));
  EXPECT_THAT(with(2 + 3 * 7 - 1).SeriesWith("ringd_ring_nodes"),
              ElementsAre("ringd_ring_nodes{ring=\"a\"}", "ringd_ring_nodes{ring=\"b\"}"));
  EXPECT_EQ(with(2).size(), 2u);
}

TEST(RingMetrics, FromTheFirstRingOnThatDoesNotFitNoneHasSeriesOfNodes) {
  TestDirectory directory;
  directory.Make("a", {"n1"});
  directory.Make("b", {"n1", "n2", "n3"});
  directory.Make("c", {"n1"});
  const MetricsPage page = Page(directory, 2 + 3 * 7 + 3 + 6);
  EXPECT_THAT(page.SeriesWith("ringd_rpc_lookups_total"),
              ElementsAre("ringd_rpc_lookups_total{ring=\"a\",node=\"n1\"}"));
  EXPECT_EQ(page["ringd_metrics_series_left_out"], 9 + 3);
}

// Rings as large as they may be are few series, made in time.
TEST(RingMetrics, LargeRingsAreBounded) {
  TestDirectory directory;
  for (const std::string& ring : Numbered("big", 3)) {
    directory.Make(ring);
    directory.Do(AddAll(ring, Numbered("n", 10'000)));
  }
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(Page(directory, 10'000).size(), 2u + 3 * (7 + 14));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(RingMetrics, ManyRingsAreBounded) {
  TestDirectory directory;
  for (const std::string& ring : Numbered("r", 2'500)) directory.Make(ring);
  const auto start = std::chrono::steady_clock::now();
  const MetricsPage page = Page(directory, 10'000);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
  EXPECT_EQ(page["ringd_rings"], 2'500) << "more than are read from the directory at a time";
  EXPECT_EQ(page.size(), 2u + 7 * (9'998 / 7));
  EXPECT_TRUE(page.Has("ringd_ring_nodes{ring=\"r00000\"}"));
  EXPECT_FALSE(page.Has("ringd_ring_nodes{ring=\"r02499\"}"));
}

// B104 (claws/aioprometheus#91): what names may hold is escaped, and one line stays one line.
TEST(RingMetrics, LabelValuesAreEscaped) {
  TestDirectory directory;
  directory.Make("r", {"a\"b", "a\\b", "a{b}", "\xD0\xBA\xD0\xBB\xD1\x8E\xD1\x87", "x\"} 99", "a\\nb"});
  const MetricsPage page = Page(directory);
  for (const char* node : {"a\\\"b", "a\\\\b", "a{b}", "\xD0\xBA\xD0\xBB\xD1\x8E\xD1\x87", "x\\\"} 99", "a\\\\nb"}) {
    EXPECT_EQ(page[fmt::format("ringd_rpc_lookups_total{{ring=\"r\",node=\"{}\"}}", node)], 0);
  }
  EXPECT_EQ(page.size(), 2u + 7 + 6 * 3);
}

}  // namespace
}  // namespace ringd::server
