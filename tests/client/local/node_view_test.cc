#include "ringd/node_view.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ringd/testing/fake_directory.h"
#include "tests/support/shared.h"

namespace ringd {
namespace {

using Moves = std::vector<NodeMoves>;

class NodeViewTest : public ::testing::Test {
 protected:
  std::unique_ptr<NodeView> Start(const std::string& node_id) {
    return *NodeView::Start("r", {.node_id = node_id,
                                  .ring = {.directory = {.endpoints = {directory_.endpoint()}}},
                                  .on_moved = [this](const NodeMoves& moves) {
                                    moves_.Update([&](Moves& seen) { seen.push_back(moves); });
                                  }});
  }
  NodeMoves AwaitMoves(size_t number) {
    return moves_.Await([number](const Moves& seen) { return seen.size() >= number; })[number - 1];
  }

  const Node n1_{.id = "n1"};
  const Node n2_{.id = "n2"};
  testing::FakeDirectory directory_;
  support::Shared<Moves> moves_;
};

TEST_F(NodeViewTest, TellsWhatTheNodeGainsAndLosesFromTheFirstCopyToTheLast) {
  ASSERT_EQ(directory_.SetRing("r", {n1_}), absl::OkStatus());
  const auto view = Start("n1");
  EXPECT_EQ(AwaitMoves(1), (NodeMoves{.gained = {{.first = 0, .last = UINT64_MAX, .from = std::nullopt, .to = "n1"}}}));
  EXPECT_EQ(view->OwnedRanges(), (std::vector<KeyRange>{{0, UINT64_MAX}}));

  ASSERT_EQ(directory_.SetRing("r", {n1_, n2_}), absl::OkStatus());
  const NodeMoves with_another = AwaitMoves(2);
  EXPECT_TRUE(with_another.gained.empty());
  ASSERT_FALSE(with_another.lost.empty());
  EXPECT_EQ(with_another.lost[0].to, "n2");
  const std::vector<KeyRange> owned = view->OwnedRanges();

  ASSERT_EQ(directory_.SetRing("r", {n1_, {.id = "n2", .address = "elsewhere"}}), absl::OkStatus());
  directory_.DeleteRing("r");
  const NodeMoves at_last = AwaitMoves(3);  // of the change of an address, which moves nothing, nothing is told
  EXPECT_TRUE(at_last.gained.empty());
  ASSERT_EQ(at_last.lost.size(), owned.size());
  for (size_t i = 0; i < owned.size(); ++i) {
    EXPECT_EQ(at_last.lost[i],
              (MovedRange{.first = owned[i].first, .last = owned[i].last, .from = "n1", .to = std::nullopt}));
  }
  EXPECT_TRUE(view->OwnedRanges().empty());
  EXPECT_EQ(view->Owns("k", {}).ownership, Ownership::kBehind);
}

TEST_F(NodeViewTest, SaysWhetherTheNodeMayTakeARequest) {
  ASSERT_EQ(directory_.SetRing("r", {n1_, n2_}), absl::OkStatus());
  const auto view = Start("n1");
  AwaitMoves(1);
  Version newer = directory_.version("r");
  newer.revision++;
  for (int i = 0; i < 100; ++i) {
    const std::string key = "user:" + std::to_string(i);
    const Node* owner = *view->ring().Owner(key);
    const bool owned = owner->id == "n1";
    const OwnsAnswer answer = view->Owns(key, directory_.version("r"));
    EXPECT_EQ(answer.ownership, owned ? Ownership::kOwned : Ownership::kNotOwned);
    EXPECT_EQ(answer.owner->id, owner->id);
    EXPECT_EQ(view->Owns(key, newer).ownership, Ownership::kBehind);
  }
  EXPECT_EQ(view->OwnsAt(0, newer).ownership, Ownership::kBehind);
}

TEST_F(NodeViewTest, NobodyIsCalledBackOnceItIsDestroyedFromACallback) {
  support::Shared<std::unique_ptr<NodeView>> view;
  support::Shared<bool> destroyed;
  NodeViewOptions options{.node_id = "n1", .ring = {.directory = {.endpoints = {directory_.endpoint()}}}};
  options.ring.on_copy = [&](const auto&, const auto&) {
    view.Update([](auto& held) { held.reset(); });
    destroyed.Update([](bool& value) { value = true; });
  };
  options.on_moved = [this](const NodeMoves& moves) { moves_.Update([&](Moves& seen) { seen.push_back(moves); }); };
  const std::weak_ptr<int> of_callbacks = [&] {
    const auto token = std::make_shared<int>(0);
    options.ring.on_change = [token](const LocalRingStatus&) {};
    return token;
  }();
  view.Update([&](auto& held) { held = *NodeView::Start("r", std::move(options)); });
  ASSERT_EQ(directory_.SetRing("r", {n1_}), absl::OkStatus());
  destroyed.Await([](bool value) { return value; });
  while (!of_callbacks.expired()) std::this_thread::yield();
  EXPECT_TRUE(moves_.Get().empty());
}

TEST_F(NodeViewTest, NeedsANode) {
  EXPECT_EQ(NodeView::Start("r", {.ring = {.directory = {.endpoints = {directory_.endpoint()}}}}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace ringd
