// What is counted of the store's commits, and that all else passes through.
#include "server/metered_store.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "tests/server/metrics_page.h"
#include "tests/server/test_directory.h"

namespace ringd::server {
namespace {

TEST(MeteredStore, CommitsAreTimedAndThoseThatFailAreCounted) {
  absl::Status verdict;
  MeteredStore store(std::make_unique<MemoryStore>([&](const auto&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    return verdict;
  }));
  const auto page = [&] { return MetricsPage(store.Collect()); };
  EXPECT_EQ(page()["ringd_store_commit_duration_seconds_count"], 0);
  EXPECT_EQ(page()["ringd_store_commit_failures_total"], 0);
  {
    TestDirectory directory(store, {});
    directory.Make("r", {"a"});
    EXPECT_EQ(page()["ringd_store_commit_duration_seconds_count"], 2);
    EXPECT_EQ(page()["ringd_store_commit_duration_seconds_bucket{le=\"0.0025\"}"], 0);
    EXPECT_GE(page()["ringd_store_commit_duration_seconds_sum"], 0.006);
    EXPECT_TRUE(directory->writable());

    verdict = absl::AbortedError("another writer was first");
    EXPECT_FALSE(directory.Refused(Add("r", "b")).ok());
    EXPECT_EQ(page()["ringd_store_commit_failures_total"], 0) << "a lost race is no failure of the store";
    EXPECT_TRUE(directory->writable());
    verdict = absl::ResourceExhaustedError("disk full");
    EXPECT_FALSE(directory.Refused(Add("r", "b")).ok());
    EXPECT_EQ(page()["ringd_store_commit_failures_total"], 1);
    EXPECT_EQ(page()["ringd_store_commit_duration_seconds_count"], 4);
    EXPECT_FALSE(directory->writable());
    verdict = absl::OkStatus();
    directory.Do(WithId(Add("r", "b"), "id", 1));
    EXPECT_TRUE(directory->writable());
  }
  TestDirectory again(store, {});
  EXPECT_EQ(again.At("r"), "1/3") << "Load";
  EXPECT_TRUE(again.Do(WithId(Add("r", "b"), "id", 1)).repeated) << "FindRequest";
  EXPECT_EQ(store.ReadChanges("r", 1, 2, 10, 1 << 20)->size(), 2u) << "ReadChanges";
  EXPECT_EQ(store.ReadEarlierChanges("r", 1, 2, 10, 1 << 20)->size(), 2u) << "ReadEarlierChanges";
}

}  // namespace
}  // namespace ringd::server
