// What named watchers report, as metrics.
#include "server/watch_metrics.h"

#include <gtest/gtest.h>

#include "tests/server/metrics_page.h"
#include "tests/server/test_directory.h"

namespace ringd::server {
namespace {

class NoRings : public WatchedRings {
 public:
  void EachRing(const std::string&, const VisitRing&) const override {}
};

class WatchMetricsTest : public ::testing::Test {
 protected:
  WatchMetricsTest() { metrics_.Attach(watchers_); }

  void Watch(const std::string& name, const RingSelector& selector = {.prefix = ""}) {
    streams_.push_back(std::make_shared<NoRings>());
    watchers_.Add(streams_.back(), {.name = name, .selector = selector});
  }
  void Report(const std::string& name, const std::string& ring, ring::Version version) {
    const std::pair<std::string, ring::Version> position{ring, version};
    EXPECT_TRUE(watchers_.Report(name, std::span(&position, 1)).ok());
  }
  MetricsPage Page() const { return MetricsPage(metrics_.Collect()); }

  TestDirectory directory_;
  Watchers watchers_{*directory_, {}};
  WatchMetrics metrics_;
  std::vector<std::shared_ptr<NoRings>> streams_;
};

TEST_F(WatchMetricsTest, AreThereFromTheStart) {
  for (const char* series : {"ringd_watch_names", "ringd_watch_silent_names", "ringd_watch_lag_revisions_count",
                             "ringd_watch_lag_revisions_bucket{le=\"0\"}", "ringd_watch_applied_duration_seconds_count",
                             "ringd_watch_applied_duration_seconds_bucket{le=\"+Inf\"}"}) {
    EXPECT_EQ(Page()[series], 0) << series;
  }
}

TEST_F(WatchMetricsTest, ALagIsThatOfAReportedRingAsItIsNow) {
  directory_.Make("r", {"n1", "n2"});
  directory_.Make("gone");
  for (const char* name : {"a", "b", "c", "", ""}) Watch(name);
  Report("a", "r", {1, 3});
  Report("a", "gone", {2, 1});
  Report("b", "r", {1, 1});
  directory_.Do(Delete("gone"));
  const MetricsPage page = Page();
  EXPECT_EQ(page["ringd_watch_names"], 3);
  EXPECT_EQ(page["ringd_watch_silent_names"], 1);
  EXPECT_EQ(page["ringd_watch_lag_revisions_count"], 2) << "a ring that is gone is none to lag in";
  EXPECT_EQ(page["ringd_watch_lag_revisions_sum"], 2);
  EXPECT_EQ(page["ringd_watch_lag_revisions_bucket{le=\"0\"}"], 1);
  EXPECT_EQ(page["ringd_watch_lag_revisions_bucket{le=\"1\"}"], 1);
  EXPECT_EQ(page["ringd_watch_lag_revisions_bucket{le=\"2\"}"], 2);
  directory_.Do(Add("r", "n3"));
  EXPECT_EQ(Page()["ringd_watch_lag_revisions_sum"], 4);
  Report("b", "r", {1, 4});
  EXPECT_EQ(Page()["ringd_watch_lag_revisions_sum"], 1);
  for (const auto& stream : streams_) watchers_.Remove(stream.get());
  EXPECT_EQ(Page()["ringd_watch_lag_revisions_count"], 0);
}

TEST_F(WatchMetricsTest, ARingThatANameSelectsNoLongerIsNoLag) {
  directory_.Make("r");
  Watch("a", {.names = {"r"}});
  Watch("a", {.names = {"s"}});
  Report("a", "r", {1, 1});
  EXPECT_EQ(Page()["ringd_watch_lag_revisions_count"], 1);
  watchers_.Remove(streams_.front().get());
  EXPECT_EQ(Page()["ringd_watch_lag_revisions_count"], 0);
}

TEST_F(WatchMetricsTest, NamesByTheThousandAreAllCounted) {
  directory_.Make("r");
  for (int i = 0; i < 2'000; ++i) {
    Watch("w" + std::to_string(i));
    Report("w" + std::to_string(i), "r", {1, 1});
  }
  EXPECT_EQ(Page()["ringd_watch_names"], 2'000);
  EXPECT_EQ(Page()["ringd_watch_lag_revisions_count"], 2'000);
}

TEST_F(WatchMetricsTest, TimesToAppliedAreCountedByBucket) {
  for (const int millis : {1, 2, 70'000}) metrics_.Applied(std::chrono::milliseconds(millis));
  const MetricsPage page = Page();
  EXPECT_EQ(page["ringd_watch_applied_duration_seconds_bucket{le=\"0.001\"}"], 1);
  EXPECT_EQ(page["ringd_watch_applied_duration_seconds_bucket{le=\"0.0025\"}"], 2);
  EXPECT_EQ(page["ringd_watch_applied_duration_seconds_bucket{le=\"60\"}"], 2);
  EXPECT_EQ(page["ringd_watch_applied_duration_seconds_count"], 3);
  EXPECT_NEAR(page["ringd_watch_applied_duration_seconds_sum"], 70.003, 1e-9);
}

}  // namespace
}  // namespace ringd::server
