// However its stream ends, a local copy goes on from what it holds, within its bound.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "ringd/client.h"
#include "ringd/local_ring.h"
#include "tests/support/ringd_process.h"
#include "tests/support/shared.h"
#include "tests/support/tcp_proxy.h"

namespace ringd {
namespace {

using std::chrono::seconds;

// A local copy of the ring "r", and the last that it said of itself.
class WatchedCopy {
 public:
  explicit WatchedCopy(const std::string& endpoint) {
    auto ring = LocalRing::Start("r", {.directory = {.endpoints = {endpoint}}, .on_change = [this](const auto& status) {
                                         status_.Update([&](LocalRingStatus& last) { last = status; });
                                       }});
    EXPECT_TRUE(ring.ok()) << ring.status();
    ring_ = *std::move(ring);
  }
  LocalRingStatus AwaitVersion(const Version& version) {
    return status_.Await([&](const LocalRingStatus& status) {
      return status.state == LocalRingState::kInSync && status.version >= version;
    });
  }
  LocalRing* operator->() const { return ring_.get(); }

 private:
  support::Shared<LocalRingStatus> status_;
  std::unique_ptr<LocalRing> ring_;
};

std::unique_ptr<Client> ConnectTo(const support::RingdProcess& ringd) {
  return *Client::Connect({.endpoints = {ringd.endpoint()}, .change_timeout = seconds(20)});
}

// A ring with some nodes; its version.
Version MakeRing(Client& client) {
  EXPECT_TRUE(client.CreateRing("r").ok());
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(client.AddNode("r", {.id = "n" + std::to_string(i)}).ok());
  return client.GetRing("r")->ring.version;
}

// B65 (shubhamranjan/dotnet-etcd#310, etcd-io/etcd#4564): copies that were told nothing since their snapshots. The
// server is killed and started again, then all connections are reset; each time a node is added before any copy is
// back. Fifty copies, so a hundred times: each goes on from what it holds and sees the node.
TEST(LocalResume, AHundredIdleCopiesSeeWhatWasAddedBeforeTheyWereBack) {
  support::RingdProcess ringd;
  support::TcpProxy proxy([&] { return ringd.endpoint(); });
  const auto client = ConnectTo(ringd);
  const Version before = MakeRing(*client);
  std::vector<std::unique_ptr<WatchedCopy>> copies;
  for (int i = 0; i < 50; ++i) copies.push_back(std::make_unique<WatchedCopy>(proxy.endpoint()));
  for (const auto& copy : copies) copy->AwaitVersion(before);
  for (const bool killed : {true, false}) {
    SCOPED_TRACE(killed ? "killed" : "reset");
    if (killed) {
      ringd.Kill();
      ringd.Start();
    } else {
      proxy.Reset();
    }
    const std::string node = killed ? "after the kill" : "after the reset";
    const auto added = client->AddNode("r", {.id = node});
    ASSERT_TRUE(added.ok()) << added.status();
    for (const auto& copy : copies) {
      const LocalRingStatus status = copy->AwaitVersion(added->version);
      EXPECT_EQ(status.snapshots, 1u) << "it went on from what it held";
      EXPECT_EQ(status.changes, killed ? 1u : 2u);
      EXPECT_GE(status.streams, killed ? 2u : 3u) << "the test cut nothing off";
      EXPECT_EQ(status.broken_order + status.checksum_mismatches + status.rewound, 0u);
    }
  }
}

}  // namespace
}  // namespace ringd
