// LocalRing against a directory that does as the test says.
#include "ringd/local_ring.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ringd/testing/fake_directory.h"
#include "tests/support/shared.h"
#include "tests/support/silent_listener.h"

namespace ringd {
namespace {

using std::chrono::seconds;

class LocalRingTest : public ::testing::Test {
 protected:
  // A copy that has come. Its statuses go to statuses_.
  std::unique_ptr<LocalRing> StartReady() {
    auto ring = Start();
    EXPECT_EQ(ring->WaitReady(seconds(20)), absl::OkStatus());
    return ring;
  }
  std::unique_ptr<LocalRing> Start() {
    auto ring = LocalRing::Start(
        "r", {.directory = {.endpoints = {directory_.endpoint()}}, .on_change = [this](const LocalRingStatus& status) {
                statuses_.Update([&](std::vector<LocalRingStatus>& seen) { seen.push_back(status); });
              }});
    EXPECT_TRUE(ring.ok()) << ring.status();
    return *std::move(ring);
  }
  template <class Holds>
  void Await(Holds holds) {
    statuses_.Await([&](const auto& seen) { return !seen.empty() && holds(seen.back()); });
  }
  void AwaitState(LocalRingState state) {
    Await([state](const LocalRingStatus& status) { return status.state == state; });
  }

  const std::vector<Node> three_{{.id = "n1", .address = "10.0.0.1:1", .zone = "a", .metadata = {{"k", "v"}}},
                                 {.id = "n2", .address = "10.0.0.2:1", .zone = "b"},
                                 {.id = "n3", .address = "10.0.0.3:1", .zone = "b"}};
  testing::FakeDirectory directory_;
  support::Shared<std::vector<LocalRingStatus>> statuses_;
};

TEST_F(LocalRingTest, AnswersAsTheDirectoryDoes) {
  ASSERT_EQ(directory_.SetRing("r", three_), absl::OkStatus());
  const auto ring = StartReady();
  const auto client = *Client::Connect({.endpoints = {directory_.endpoint()}});
  for (int i = 0; i < 200; ++i) {
    const std::string key = "user:" + std::to_string(i);
    const auto called = client->Lookup("r", key, {.owners = 3});
    ASSERT_TRUE(called.ok()) << called.status();
    std::array<const Node*, 3> owners{};
    ASSERT_EQ(*ring->Owners(key, owners), 3u);
    for (size_t place = 0; place < owners.size(); ++place)
      EXPECT_EQ(owners[place]->id, called->owners[place].id) << key;
    EXPECT_EQ((*ring->Owner(key))->id, called->owners[0].id);
  }
}

// As many keys as make several blocks and a part of one.
TEST_F(LocalRingTest, ManyKeysAreAnsweredAsEachIs) {
  ASSERT_EQ(directory_.SetRing("r", three_), absl::OkStatus());
  const auto ring = StartReady();
  std::vector<std::string> texts;
  for (int i = 0; i < 1'000; ++i) texts.push_back("user:" + std::to_string(i));
  for (const size_t count : {0, 1, 31, 32, 33, 1'000}) {
    const std::vector<std::string_view> keys(texts.begin(), texts.begin() + static_cast<std::ptrdiff_t>(count));
    std::vector<const Node*> owners(count);
    std::vector<const Node*> of_copy(count);
    const uint64_t before = ring->lookups().ring;
    ASSERT_EQ(ring->OwnersOf(keys, owners), absl::OkStatus());
    EXPECT_EQ(ring->lookups().ring - before, count);
    ring->Copy()->OwnersOf(keys, of_copy);
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(owners[i], *ring->Owner(keys[i]));
      EXPECT_EQ(of_copy[i], owners[i]);
    }
  }
}

TEST_F(LocalRingTest, ManyKeysAreRefusedTogether) {
  ASSERT_EQ(directory_.SetRing("r", three_), absl::OkStatus());
  const auto ring = StartReady();
  const std::array<std::string_view, 3> keys{"a", "", "c"};
  std::array<const Node*, 3> owners{};
  const absl::Status empty = ring->OwnersOf(keys, owners);
  EXPECT_EQ(empty.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(empty.message().find("keys[1]: key is empty"), absl::string_view::npos) << empty;
  EXPECT_EQ(owners[0], nullptr);
  EXPECT_EQ(ring->lookups().ring, 0u);
  EXPECT_EQ(ring->OwnersOf(std::span(keys).first(1), owners).code(), absl::StatusCode::kInvalidArgument);

  ASSERT_EQ(directory_.SetRing("r", {}), absl::OkStatus());
  Await([](const LocalRingStatus& status) { return status.version.revision == 2; });
  EXPECT_EQ(ring->OwnersOf(std::span(keys).first(1), std::span(owners).first(1)).code(),
            absl::StatusCode::kFailedPrecondition);
  ring->Copy()->OwnersOf(keys, owners);
  EXPECT_EQ(owners[2], nullptr);
}

TEST_F(LocalRingTest, ANodeIsWhole) {
  ASSERT_EQ(directory_.SetRing("r", {three_[0]}), absl::OkStatus());
  const auto ring = StartReady();
  const Node* node = *ring->Owner("any");
  EXPECT_EQ(node->address, "10.0.0.1:1");
  EXPECT_EQ(node->zone, "a");
  EXPECT_EQ(node->weight, 100u);
  EXPECT_EQ(node->hash_key, "n1");
  EXPECT_EQ(node->metadata, (std::map<std::string, std::string>{{"k", "v"}}));
}

TEST_F(LocalRingTest, FollowsChanges) {
  ASSERT_EQ(directory_.SetRing("r", three_), absl::OkStatus());
  const auto ring = StartReady();
  ASSERT_EQ(directory_.SetRing("r", {three_[1]}), absl::OkStatus());
  Await([&](const LocalRingStatus& status) { return status.version == directory_.version("r"); });
  EXPECT_EQ((*ring->Owner("any"))->id, "n2");
}

// A copy that is held on to stays as it is; nodes that did not change are shared with the next one.
TEST_F(LocalRingTest, ACopyIsOneVersionForAsLongAsItIsHeld) {
  ASSERT_EQ(directory_.SetRing("r", three_), absl::OkStatus());
  const auto ring = StartReady();
  const std::shared_ptr<const RingCopy> before = ring->Copy();
  ASSERT_EQ(directory_.SetRing("r", {three_[1]}), absl::OkStatus());
  Await([&](const LocalRingStatus& status) { return status.version == directory_.version("r"); });
  EXPECT_EQ(before->node_count(), 3u);
  EXPECT_EQ(before->version().revision + 1, ring->Copy()->version().revision);
  double sum = 0;
  for (size_t i = 0; i < before->node_count(); ++i) sum += before->share(i);
  EXPECT_DOUBLE_EQ(sum, 1);
}

TEST_F(LocalRingTest, BeforeTheFirstCopyLookupsAreUnavailable) {
  directory_.Stop();
  const auto ring = Start();
  EXPECT_EQ(ring->Owner("k").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(ring->Copy(), nullptr);
  EXPECT_EQ(ring->status().age, std::chrono::milliseconds::max());
  EXPECT_EQ(ring->WaitReady(std::chrono::milliseconds(1)).code(), absl::StatusCode::kUnavailable);
}

TEST_F(LocalRingTest, ARingThatIsNotThereIsNotFoundUntilItIs) {
  const auto ring = Start();
  AwaitState(LocalRingState::kAbsent);
  EXPECT_EQ(ring->Owner("k").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(ErrorReason(ring->Owner("k").status()), "RING_NOT_FOUND");
  EXPECT_EQ(ring->WaitReady(std::chrono::milliseconds(1)).code(), absl::StatusCode::kNotFound);
  ASSERT_EQ(directory_.SetRing("r", three_), absl::OkStatus());
  AwaitState(LocalRingState::kInSync);
  EXPECT_TRUE(ring->Owner("k").ok());
  directory_.DeleteRing("r");
  AwaitState(LocalRingState::kAbsent);
  EXPECT_EQ(ring->Owner("k").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(LocalRingTest, ARingWithoutWeightedNodesIsFailedPrecondition) {
  ASSERT_EQ(directory_.SetRing("r", {{.id = "n1", .weight = 0}}), absl::OkStatus());
  const auto ring = StartReady();
  EXPECT_EQ(ring->Owner("k").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ErrorReason(ring->Owner("k").status()), "RING_EMPTY");
}

TEST_F(LocalRingTest, AnEmptyKeyAndTooManyOwnersAreInvalid) {
  ASSERT_EQ(directory_.SetRing("r", three_), absl::OkStatus());
  const auto ring = StartReady();
  EXPECT_EQ(ring->Owner("").status().code(), absl::StatusCode::kInvalidArgument);
  std::vector<const Node*> owners(65);
  EXPECT_EQ(ring->Owners("k", owners).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ring->Owners("k", {}).status().code(), absl::StatusCode::kInvalidArgument);
  owners.resize(64);
  EXPECT_EQ(*ring->Owners("k", owners), 3u);
}

TEST_F(LocalRingTest, TheLastCopyAnswersWhileTheDirectoryIsDown) {
  ASSERT_EQ(directory_.SetRing("r", three_), absl::OkStatus());
  const auto ring = StartReady();
  const std::string owner = (*ring->Owner("k"))->id;
  directory_.Stop();
  AwaitState(LocalRingState::kConnecting);
  EXPECT_EQ((*ring->Owner("k"))->id, owner);
  EXPECT_EQ(ring->status().problem.code(), absl::StatusCode::kUnavailable);
  ASSERT_EQ(directory_.SetRing("r", {three_[2]}), absl::OkStatus());
  directory_.Start();
  Await([&](const LocalRingStatus& status) {
    return status.version == directory_.version("r") && status.state == LocalRingState::kInSync;
  });
  EXPECT_EQ((*ring->Owner("k"))->id, "n3");
}

TEST_F(LocalRingTest, TheNextEndpointIsTriedWhereOneDoesNotAnswer) {
  ASSERT_EQ(directory_.SetRing("r", three_), absl::OkStatus());
  testing::FakeDirectory down;
  down.Stop();
  auto ring = LocalRing::Start("r", {.directory = {.endpoints = {down.endpoint(), directory_.endpoint()}}});
  ASSERT_TRUE(ring.ok()) << ring.status();
  EXPECT_EQ((*ring)->WaitReady(seconds(20)), absl::OkStatus());
}

// It accepts connections, and that is all: what a directory looks like whose machine stands still.
TEST_F(LocalRingTest, TheNextEndpointIsAskedTooWhereOneSaysNothing) {
  ASSERT_EQ(directory_.SetRing("r", three_), absl::OkStatus());
  const support::SilentListener silent;
  auto ring = LocalRing::Start("r", {.directory = {.endpoints = {silent.endpoint(), directory_.endpoint()}}});
  ASSERT_TRUE(ring.ok()) << ring.status();
  EXPECT_EQ((*ring)->WaitReady(seconds(20)), absl::OkStatus());
  EXPECT_EQ((*ring)->status().streams, 2u);
}

TEST_F(LocalRingTest, EachNewCopyIsToldWithTheOneBeforeIt) {
  ASSERT_EQ(directory_.SetRing("r", three_), absl::OkStatus());
  using Told = std::vector<std::pair<uint64_t, uint64_t>>;  // revisions; 0 = no copy
  support::Shared<Told> told;
  const auto revision = [](const std::shared_ptr<const RingCopy>& copy) {
    return copy == nullptr ? 0 : copy->version().revision;
  };
  const auto await = [&told](size_t count) {
    return told.Await([count](const Told& seen) { return seen.size() >= count; });
  };
  const auto ring = *LocalRing::Start(
      "r", {.directory = {.endpoints = {directory_.endpoint()}}, .on_copy = [&](const auto& before, const auto& after) {
              told.Update([&](Told& seen) { seen.emplace_back(revision(before), revision(after)); });
            }});
  await(1);
  ASSERT_EQ(directory_.SetRing("r", {three_[1]}), absl::OkStatus());
  await(2);
  directory_.DeleteRing("r");
  EXPECT_EQ(await(3), (Told{{0, 1}, {1, 2}, {2, 0}}));
}

TEST_F(LocalRingTest, IsDestroyedInEveryState) {
  ASSERT_EQ(directory_.SetRing("r", three_), absl::OkStatus());
  for (int i = 0; i < 20; ++i) Start();  // while it connects
  StartReady();
  directory_.Stop();
  Start();
}

TEST(LocalRingStart, RefusesWrongOptions) {
  EXPECT_EQ(LocalRing::Start("", {.directory = {.endpoints = {"127.0.0.1:1"}}}).status().code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(LocalRing::Start("r", {}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(LocalRing::Start("r", {.directory = {.endpoints = {"127.0.0.1:1"}, .tls = TlsFiles{.ca_file = "/nowhere"}}})
                .status()
                .code(),
            absl::StatusCode::kFailedPrecondition);
  for (const std::string& name : {std::string(256, 'a'), std::string("a\nb"), std::string("\xff")}) {
    EXPECT_EQ(LocalRing::Start("r", {.directory = {.endpoints = {"127.0.0.1:1"}}, .watcher = name}).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace ringd
