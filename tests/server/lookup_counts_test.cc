// The counts of lookups over the life of a ring: nodes that stay keep theirs, nodes that come begin at 0.
#include "server/lookup_counts.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "tests/server/test_directory.h"

namespace ringd::server {
namespace {

std::map<std::string, uint64_t> CountsOf(const RingState& state) {
  std::map<std::string, uint64_t> counts;
  for (size_t i = 0; i < state.ring.node_count(); i++) counts[state.ring.node(i).id] = state.lookups.OfNode(i);
  return counts;
}

void CountOne(const RingState& state, const std::string& node) {
  state.lookups.Add(static_cast<uint32_t>(state.ring.Find(node)), 1);
}

using Counts = std::map<std::string, uint64_t>;

TEST(LookupCounts, ANewRingAndOneThatWasLoadedCountFromZero) {
  TestDirectory directory;
  directory.Make("r", {"a", "b"});
  EXPECT_EQ(CountsOf(*directory.State("r")), (Counts{{"a", 0}, {"b", 0}}));
  CountOne(*directory.State("r"), "a");
  directory.Reopen();
  EXPECT_EQ(CountsOf(*directory.State("r")), (Counts{{"a", 0}, {"b", 0}}));
  EXPECT_EQ(directory.State("r")->lookups.OfRing(), 0u);
}

TEST(LookupCounts, ANodeThatStaysKeepsItsCountOverEveryChange) {
  TestDirectory directory;
  directory.Make("r", {"b", "d", "f"});
  for (const char* node : {"b", "d", "d", "f", "f", "f"}) CountOne(*directory.State("r"), node);
  directory.Do(Change("r", {AddOp("a"), AddOp("c"), AddOp("e"), AddOp("g")}));
  EXPECT_EQ(CountsOf(*directory.State("r")),
            (Counts{{"a", 0}, {"b", 1}, {"c", 0}, {"d", 2}, {"e", 0}, {"f", 3}, {"g", 0}}));
  directory.Do(Change("r", {RemoveOp("a"), WeightOp("d", 3), RemoveOp("b"), AddOp("ba")}));
  EXPECT_EQ(CountsOf(*directory.State("r")), (Counts{{"ba", 0}, {"c", 0}, {"d", 2}, {"e", 0}, {"f", 3}, {"g", 0}}));
  EXPECT_EQ(directory.State("r")->lookups.OfRing(), 6u) << "that of the ring does not go back with a node";
}

// B101 (kubernetes-sigs/metrics-server#1876): added again, a node begins at 0, whatever was counted before.
TEST(LookupCounts, ANodeThatIsRemovedAndAddedAgainStartsAtZero) {
  TestDirectory directory;
  directory.Make("r", {"a", "b", "c"});
  CountOne(*directory.State("r"), "b");
  const RingStatePtr before = directory.State("r");
  directory.Do(Change("r", {RemoveOp("b")}));
  CountOne(*before, "b");  // a lookup that began before the removal
  directory.Do(Add("r", "b"));
  EXPECT_EQ(CountsOf(*directory.State("r")), (Counts{{"a", 0}, {"b", 0}, {"c", 0}}));
  directory.Do(Forced(Delete("r")));
  directory.Make("r", {"a"});
  EXPECT_EQ(CountsOf(*directory.State("r")), (Counts{{"a", 0}}));
  EXPECT_EQ(directory.State("r")->lookups.OfRing(), 0u);
}

TEST(LookupCounts, AChangeThatTheStoreRefusesAndAPlanLeaveTheCounts) {
  TestDirectory directory;
  directory.Make("r", {"a", "b"});
  CountOne(*directory.State("r"), "a");
  directory.store_verdict = absl::ResourceExhaustedError("disk full");
  EXPECT_FALSE(directory.Refused(Change("r", {RemoveOp("a")})).ok());
  directory.store_verdict = absl::OkStatus();
  directory.Do(Checked(Change("r", {RemoveOp("a")})));
  EXPECT_EQ(CountsOf(*directory.State("r")), (Counts{{"a", 1}, {"b", 0}}));
}

// Threads that count on whatever state they find, while the ring changes round the node.
TEST(LookupCounts, NothingIsLostWhileTheRingChanges) {
  TestDirectory directory;
  directory.Make("r", {"b", "c"});
  constexpr uint64_t kEach = 5'000;
  std::atomic<int> running = 2;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; i++) {
    threads.emplace_back([&] {
      for (uint64_t n = 0; n < kEach; n++) CountOne(*directory.State("r"), "b");
      running--;
    });
  }
  for (uint64_t last = 0; running > 0;) {
    directory.Do(Add("r", "a"));
    directory.Do(Change("r", {RemoveOp("a")}));
    const uint64_t now = CountsOf(*directory.State("r"))["b"];
    EXPECT_GE(now, last) << "a counter went back";
    last = now;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(CountsOf(*directory.State("r")), (Counts{{"b", 2 * kEach}, {"c", 0}}));
  EXPECT_EQ(directory.State("r")->lookups.OfRing(), 2 * kEach);
}

}  // namespace
}  // namespace ringd::server
