// What lookups in a local copy take from the heap: nothing, but for a thread's first after a change of the ring.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/local/lookup_view.h"
#include "client/local/thread_cached.h"
#include "tests/ring/ring_builder.h"
#include "tests/support/allocations.h"

namespace ringd {
namespace {

using support::allocated_bytes;
using support::allocations;

constexpr size_t kNodes = 1'000;

class CopyAllocationTest : public ::testing::Test {
 protected:
  std::shared_ptr<const LookupView> ViewOf(LocalRingState state) {
    return std::make_shared<LookupView>(LookupView{.state = state, .copy = copy_, .counts = counts_});
  }

  static HeldRingPtr MakeHeld() {
    std::vector<ring::Operation> nodes;
    for (size_t i = 0; i < kNodes; ++i) nodes.push_back(ring::Add("n" + std::to_string(i)));
    return std::make_shared<HeldRing>(
        HeldRing{.version = {1, 1}, .ring = ring::With(ring::EmptyRing(ring::SettingsOf(4)), nodes)});
  }

  const std::shared_ptr<const RingCopy> copy_ = MakeCopy(MakeHeld(), nullptr);
  const std::shared_ptr<LookupCounts> counts_ = std::make_shared<LookupCounts>();
  ThreadCached<LookupView, ThreadView> view_{ViewOf(LocalRingState::kInSync)};
};

TEST_F(CopyAllocationTest, ALookupAllocatesNothing) {
  std::array<const Node*, 3> owners{};
  // More than are looked up at once.
  const std::vector<std::string_view> keys(100, "key");
  std::vector<const Node*> of_keys(keys.size());
  view_.Get();
  const size_t before = allocations;
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_NE(view_.Get().Owner("key"), nullptr);
    EXPECT_EQ(view_.Get().Owners("key", owners), 3u);
    view_.Get().OwnersOf(keys, of_keys);
  }
  EXPECT_EQ(allocations, before);
}

// So an outage, with all that a copy tells of it, costs lookups nothing.
TEST_F(CopyAllocationTest, OnlyAnotherCopyMakesCounters) {
  const size_t before = allocated_bytes;
  view_.Get();
  EXPECT_GE(allocated_bytes - before, kNodes * 24);
  view_.Set(ViewOf(LocalRingState::kConnecting));
  const size_t in_outage = allocated_bytes;
  view_.Get();
  EXPECT_LT(allocated_bytes - in_outage, 1'000u);
  EXPECT_EQ(view_.Get().shared().state, LocalRingState::kConnecting);
  EXPECT_NE(view_.Get().Owner("key"), nullptr);
}

}  // namespace
}  // namespace ringd
