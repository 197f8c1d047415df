// A change that waits for its watchers is answered when the copies that follow the ring have it.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "ringd/client.h"
#include "ringd/local_ring.h"
#include "tests/support/ringd_process.h"

namespace ringd {
namespace {

using std::chrono::seconds;

class LocalReportsTest : public testing::Test {
 protected:
  LocalReportsTest() {
    EXPECT_TRUE(client_->CreateRing("r", {.placement = HashedPlacement{}}).ok());
    for (int i = 0; i < 10; ++i) {
      copies_.push_back(*LocalRing::Start(
          "r", {.directory = {.endpoints = {ringd_.endpoint()}}, .watcher = "copy-" + std::to_string(i)}));
      EXPECT_EQ(copies_.back()->WaitReady(seconds(20)), absl::OkStatus());
    }
  }

  MutationResult AddAndWait(const std::string& node, const WaitFor& wait_for) {
    auto added = client_->AddNode("r", {.id = node}, {.wait_for = wait_for});
    EXPECT_TRUE(added.ok()) << added.status();
    return *std::move(added);
  }

  support::RingdProcess ringd_;
  const std::unique_ptr<Client> client_ = *Client::Connect({.endpoints = {ringd_.endpoint()}});
  std::vector<std::unique_ptr<LocalRing>> copies_;
};

TEST_F(LocalReportsTest, AChangeThatWaitedForAllIsInAllCopies) {
  for (int i = 0; i < 3; ++i) {
    const MutationResult added = AddAndWait("n" + std::to_string(i), {.timeout = seconds(60)});
    ASSERT_TRUE(added.waited.has_value());
    EXPECT_TRUE(added.waited->reached);
    EXPECT_EQ(added.waited->watchers, 10u);
    EXPECT_EQ(added.waited->applied, 10u);
    for (const auto& copy : copies_) EXPECT_GE(copy->status().version, added.version);
  }
}

TEST_F(LocalReportsTest, WhoHasGoneIsNotWaitedForAndWhoLagsIsNamed) {
  copies_.resize(5);
  const MutationResult with_five = AddAndWait("n1", {.timeout = seconds(60)});
  EXPECT_TRUE(with_five.waited->reached);
  EXPECT_EQ(with_five.waited->watchers, 5u);
  // Copies report within a second; how many do in a millisecond, nobody knows.
  const WaitResult at_once = *AddAndWait("n2", {.timeout = std::chrono::milliseconds(1)}).waited;
  EXPECT_EQ(at_once.watchers, 5u);
  EXPECT_EQ(at_once.applied + at_once.lagging.size(), 5u);
  EXPECT_EQ(at_once.reached, at_once.lagging.empty());
}

}  // namespace
}  // namespace ringd
