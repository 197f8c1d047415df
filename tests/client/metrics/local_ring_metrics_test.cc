// What a page tells of local copies.
#include "ringd/local_ring_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>
#include <stdio.h>

#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include "ringd/testing/fake_directory.h"
#include "tests/support/shared.h"

namespace ringd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class LocalRingMetricsTest : public ::testing::Test {
 protected:
  std::shared_ptr<LocalRing> Start(const std::string& name) {
    auto ring = LocalRing::Start(
        name, {.directory = {.endpoints = {directory_.endpoint()}}, .on_change = [this](const LocalRingStatus& status) {
                 status_.Update([&](LocalRingStatus& last) { last = status; });
               }});
    EXPECT_TRUE(ring.ok()) << ring.status();
    return *std::move(ring);
  }
  void AwaitInSync(const std::string& name) {
    status_.Await([&](const LocalRingStatus& status) {
      return status.state == LocalRingState::kInSync && status.version == directory_.version(name);
    });
  }
  void SetRing(const std::string& name, std::initializer_list<const char*> ids) {
    std::vector<Node> nodes;
    for (const char* id : ids) nodes.push_back({.id = id});
    ASSERT_EQ(directory_.SetRing(name, nodes), absl::OkStatus());
  }
  static std::string Page(const LocalRingMetrics& metrics) {
    return prometheus::TextSerializer().Serialize(metrics.Collect());
  }
  std::string Page() const { return Page(metrics_); }

  testing::FakeDirectory directory_;
  support::Shared<LocalRingStatus> status_;
  LocalRingMetrics metrics_;
};

TEST_F(LocalRingMetricsTest, TellsHowTheCopyFares) {
  SetRing("r", {"n1", "n2"});
  const auto ring = Start("r");
  metrics_.Add(ring);
  AwaitInSync("r");
  for (const char* line :
       {"ringd_local_ring_in_sync{ring=\"r\"} 1\n", "ringd_local_ring_revision{ring=\"r\"} 1\n",
        "ringd_local_ring_nodes{ring=\"r\"} 2\n", "ringd_local_ring_streams_total{ring=\"r\"} 1\n",
        "ringd_local_ring_snapshots_total{ring=\"r\"} 1\n", "ringd_local_ring_tls_refused{ring=\"r\"} 0\n",
        "ringd_local_ring_rewound_total{ring=\"r\"} 0\n", "ringd_local_ring_checksum_mismatches_total{ring=\"r\"} 0\n",
        "ringd_local_ring_lookups_total{ring=\"r\"} 0\n", "ringd_local_lookups_total{ring=\"r\",node=\"n1\"} 0\n",
        "ringd_local_lookups_total{ring=\"r\",node=\"n2\"} 0\n"}) {
    EXPECT_THAT(Page(), HasSubstr(line));
  }
  directory_.Stop();
  status_.Await([](const LocalRingStatus& status) { return status.state == LocalRingState::kConnecting; });
  EXPECT_THAT(Page(), HasSubstr("ringd_local_ring_in_sync{ring=\"r\"} 0\n"));
}

TEST_F(LocalRingMetricsTest, BeforeTheFirstCopyTheAgeIsInfinite) {
  directory_.Stop();
  const auto ring = Start("r");
  metrics_.Add(ring);
  EXPECT_THAT(Page(), HasSubstr("ringd_local_ring_age_seconds{ring=\"r\"} +Inf\n"));
  EXPECT_THAT(Page(), HasSubstr("ringd_local_ring_revision{ring=\"r\"} 0\n"));
  EXPECT_THAT(Page(), Not(HasSubstr("ringd_local_lookups_total")));
}

TEST_F(LocalRingMetricsTest, LookupsAreCountedByTheirFirstOwnerOverAllVersions) {
  SetRing("r", {"n1"});
  const auto ring = Start("r");
  metrics_.Add(ring);
  AwaitInSync("r");
  std::array<const Node*, 2> owners{};
  ASSERT_TRUE(ring->Owner("k").ok());
  ASSERT_TRUE(ring->Owners("k", owners).ok());
  ASSERT_NE(ring->Copy()->Owner("k"), nullptr);
  EXPECT_FALSE(ring->Owner("").ok());
  EXPECT_THAT(Page(), HasSubstr("ringd_local_lookups_total{ring=\"r\",node=\"n1\"} 2\n"));
  SetRing("r", {"n1", "n2"});
  AwaitInSync("r");
  int first = 2;
  for (int key = 0; key < 100; ++key) first += (*ring->Owner("user:" + std::to_string(key)))->id == "n1" ? 1 : 0;
  EXPECT_THAT(Page(), HasSubstr("node=\"n1\"} " + std::to_string(first) + "\n"));
  EXPECT_THAT(Page(), HasSubstr("node=\"n2\"} " + std::to_string(102 - first) + "\n"));
}

TEST_F(LocalRingMetricsTest, SeriesGoWithTheirNodeAndTheirCopy) {
  SetRing("r", {"n1", "n2"});
  auto ring = Start("r");
  metrics_.Add(ring);
  AwaitInSync("r");
  ASSERT_TRUE(ring->Owner("k").ok());
  SetRing("r", {"n3"});
  AwaitInSync("r");
  EXPECT_THAT(Page(), Not(HasSubstr("node=\"n1\"")));
  EXPECT_THAT(Page(), HasSubstr("node=\"n3\"} 0\n"));
  EXPECT_THAT(Page(), HasSubstr("ringd_local_ring_lookups_total{ring=\"r\"} 1\n")) << "of all nodes that there were";
  ring.reset();
  EXPECT_EQ(Page(), "");
}

TEST_F(LocalRingMetricsTest, ARingOfMoreNodesThanTheCapHasNoSeriesForEach) {
  SetRing("r", {"n1", "n2", "n3"});
  const auto ring = Start("r");
  AwaitInSync("r");
  LocalRingMetrics of_three(3);
  LocalRingMetrics of_two(2);
  of_three.Add(ring);
  of_two.Add(ring);
  EXPECT_THAT(Page(of_three), HasSubstr("ringd_local_lookups_total"));
  EXPECT_THAT(Page(of_two), Not(HasSubstr("ringd_local_lookups_total")));
  EXPECT_THAT(Page(of_two), HasSubstr("ringd_local_ring_lookups_total"));
}

// Else the page would have series twice.
TEST_F(LocalRingMetricsTest, OfTwoCopiesOfOneNameTheFirstIsShown) {
  SetRing("r", {"n1"});
  SetRing("s", {"n1"});
  auto first = Start("r");
  AwaitInSync("r");
  const auto second = Start("r");
  const auto other = Start("s");
  metrics_.Add(first);
  metrics_.Add(second);
  metrics_.Add(other);
  ASSERT_TRUE(first->Owner("k").ok());
  EXPECT_THAT(Page(), HasSubstr("ringd_local_ring_lookups_total{ring=\"r\"} 1\n"));
  EXPECT_THAT(Page(), HasSubstr("ringd_local_ring_lookups_total{ring=\"s\"} 0\n"));
  EXPECT_THAT(Page(), Not(HasSubstr("ringd_local_ring_lookups_total{ring=\"r\"} 0\n")));
  first.reset();
  EXPECT_THAT(Page(), HasSubstr("ringd_local_ring_lookups_total{ring=\"r\"} 0\n"));
}

TEST_F(LocalRingMetricsTest, ThePageIsCleanAndClientReadmeHasEachMetric) {
  SetRing("r", {"n1"});
  const auto ring = Start("r");
  metrics_.Add(ring);
  AwaitInSync("r");
  FILE* promtool = popen("promtool check metrics", "w");
  ASSERT_NE(promtool, nullptr);
  fputs(Page().c_str(), promtool);
  EXPECT_EQ(pclose(promtool), 0) << Page();

  std::stringstream readme;
  readme << std::ifstream(CLIENT_README).rdbuf();
  for (const prometheus::MetricFamily& family : metrics_.Collect()) {
    const std::string type = family.type == prometheus::MetricType::Counter ? "counter" : "gauge";
    EXPECT_THAT(readme.str(), HasSubstr("| `" + family.name + "` | " + type + " |"));
  }
}

}  // namespace
}  // namespace ringd
