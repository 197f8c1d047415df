// What a local copy promises, against a real ringd that is killed and stopped.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "ringd/client.h"
#include "ringd/local_ring.h"
#include "tests/support/ringd_process.h"
#include "tests/support/shared.h"

namespace ringd {
namespace {

using std::chrono::seconds;

class LocalCopyTest : public testing::Test {
 protected:
  LocalCopyTest() {
    EXPECT_TRUE(client_->CreateRing("r").ok());
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(client_->AddNode("r", {.id = "n" + std::to_string(i)}).ok());
  }
  std::unique_ptr<LocalRing> StartReady() {
    auto ring = LocalRing::Start(
        "r", {.directory = {.endpoints = {ringd_.endpoint()}}, .on_change = [this](const LocalRingStatus& status) {
                status_.Update([&](LocalRingStatus& last) { last = status; });
              }});
    EXPECT_TRUE(ring.ok()) << ring.status();
    EXPECT_EQ((*ring)->WaitReady(seconds(20)), absl::OkStatus());
    return *std::move(ring);
  }
  LocalRingStatus AwaitVersion(const Version& version) {
    return status_.Await([&](const LocalRingStatus& status) { return status.version >= version; });
  }

  support::RingdProcess ringd_;
  std::unique_ptr<Client> client_ = *Client::Connect(
      {.endpoints = {ringd_.endpoint()}, .lookup_timeout = seconds(20), .change_timeout = seconds(20)});
  support::Shared<LocalRingStatus> status_;
};

// B65 (shubhamranjan/dotnet-etcd#310), B74 (airbnb/synapse#287): a process keeps looking up through 20 restarts. No
// lookup fails, no version goes back, and a change that is made right after the start, before the copy is back, is
// seen.
TEST_F(LocalCopyTest, TwentyRestartsWithoutAFailedLookupOrAVersionThatGoesBack) {
  const auto ring = StartReady();
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> lookups = 0;
  std::atomic<uint64_t> failed = 0;
  std::atomic<uint64_t> went_back = 0;
  std::vector<std::thread> readers;
  for (int reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&, reader] {
      Version last;
      for (uint64_t i = 0; !stop; ++i) {
        if (!ring->Owner("user:" + std::to_string(reader) + ":" + std::to_string(i)).ok()) ++failed;
        const Version now = ring->Copy()->version();
        if (now < last) ++went_back;
        last = now;
        ++lookups;
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    round % 2 == 0 ? ringd_.Kill() : ringd_.Stop();
    ringd_.Start();
    const auto added = client_->AddNode("r", {.id = "added-" + std::to_string(round)});
    ASSERT_TRUE(added.ok()) << added.status();
    AwaitVersion(added->version);
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_GT(lookups, 1'000u);
  EXPECT_EQ(failed, 0u);
  EXPECT_EQ(went_back, 0u);
  const LocalRingStatus status = ring->status();
  EXPECT_EQ(status.snapshots, 1u) << "each stream resumed from what was held";
  EXPECT_EQ(status.changes, 20u);
  EXPECT_EQ(status.checksum_mismatches + status.broken_order + status.rewound, 0u);
}

// B123 (databricks/dicer, UserGuide): drained to weight 0, then removed: the second step moves no key, and the copy is
// at each step where the directory is.
TEST_F(LocalCopyTest, DrainThenRemoveMovesOnlyKeysOfTheNode) {
  const auto ring = StartReady();
  std::vector<std::string> keys;
  for (int i = 0; i < 10'000; ++i) keys.push_back("user:" + std::to_string(i));
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  const auto owners = [&](const Version& version) {
    AwaitVersion(version);
    std::vector<std::string> local;
    for (const std::string& key : keys) local.push_back((*ring->Owner(key))->id);
    const auto called = client_->BatchLookup("r", views, {.min_version = version});
    EXPECT_TRUE(called.ok()) << called.status();
    for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(local[i], called->owner(i).id) << keys[i];
    return local;
  };
  const auto before = owners(client_->GetRing("r")->ring.version);
  const auto drained = owners(client_->UpdateNode("r", {.id = "n4", .weight = 0})->version);
  const auto removed = owners(client_->RemoveNode("r", "n4")->version);
  for (size_t i = 0; i < keys.size(); ++i) {
    if (before[i] != "n4") {
      EXPECT_EQ(drained[i], before[i]) << keys[i];
    }
    EXPECT_NE(drained[i], "n4");
  }
  EXPECT_EQ(removed, drained);
}

// B122 (grpc/grpc#10418): a server that stands still: the library's own deadline ends the call.
TEST_F(LocalCopyTest, ACallToAServerThatStandsStillEndsByItsDeadline) {
  const auto client = *Client::Connect({.endpoints = {ringd_.endpoint()}});
  ASSERT_TRUE(client->Lookup("r", "k").ok());
  const auto ring = StartReady();
  ringd_.Pause();
  EXPECT_EQ(client->Lookup("r", "k").status().code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_TRUE(ring->Owner("k").ok());
  ringd_.Resume();
}

// The same request twice, as after a restart of the caller: made once.
TEST_F(LocalCopyTest, ARequestIdOfOnesOwnMakesARepetitionSafe) {
  const MutationOptions options{.request_id = "deploy-17"};
  const auto first = client_->AddNode("r", {.id = "x"}, options);
  ringd_.Kill();
  ringd_.Start();
  const auto second = client_->AddNode("r", {.id = "x"}, options);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(first->version, second->version);
}

}  // namespace
}  // namespace ringd
