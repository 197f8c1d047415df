// What is counted: every lookup of every thread, once, over all versions of a ring; and no sum goes back.
#include "client/local/lookup_counts.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace ringd {
namespace {

// A ring's versions, each a list of nodes with their counts.
class LookupCountsTest : public ::testing::Test {
 protected:
  struct Version {
    std::vector<std::shared_ptr<const Node>> nodes;
    std::shared_ptr<LookupCounts::OfNodes> counts = std::make_shared<LookupCounts::OfNodes>();
  };

  static Version NewVersion(size_t nodes) {
    Version version;
    for (size_t i = 0; i < nodes; ++i) {
      version.nodes.push_back(std::make_shared<const Node>(Node{.id = "n" + std::to_string(i)}));
      version.counts->push_back(std::make_shared<LookupCounts::OfNode>());
    }
    return version;
  }
  // Without the first node, and with one more at the end.
  static Version Next(const Version& version) {
    Version next = NewVersion(version.nodes.size());
    std::copy(version.counts->begin() + 1, version.counts->end(), next.counts->begin());
    return next;
  }
  std::unique_ptr<CountedNodes> OfThread(const Version& version) {
    return std::make_unique<CountedNodes>(version.nodes, version.counts, sums_);
  }
  std::vector<uint64_t> Nodes(const Version& version) { return sums_->Read(*version.counts).nodes; }
  uint64_t Ring() { return sums_->Read({}).ring; }

  const std::shared_ptr<LookupCounts> sums_ = std::make_shared<LookupCounts>();
};

TEST_F(LookupCountsTest, AnAnswerIsCountedAndALookIsNot) {
  const Version version = NewVersion(3);
  const auto nodes = OfThread(version);
  EXPECT_EQ(nodes->Answer(1)->id, "n1");
  EXPECT_EQ(nodes->Answer(1)->id, "n1");
  EXPECT_EQ(nodes->Answer(2)->id, "n2");
  EXPECT_EQ(nodes->at(0)->id, "n0");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(Nodes(version), (std::vector<uint64_t>{0, 2, 1})) << "however often it is read";
  EXPECT_EQ(Ring(), 3u);
}

TEST_F(LookupCountsTest, ThreadsThatHaveEndedCountOn) {
  const Version version = NewVersion(2);
  const auto stays = OfThread(version);
  stays->Answer(0);
  for (int i = 0; i < 3; ++i) std::thread([&] { OfThread(version)->Answer(0); }).join();
  EXPECT_EQ(Nodes(version), (std::vector<uint64_t>{4, 0}));
}

TEST_F(LookupCountsTest, ANodeThatStaysKeepsItsCountAndARemovedOneTakesItAlong) {
  const Version first = NewVersion(2);
  auto slow = OfThread(first);
  slow->Answer(0);
  slow->Answer(1);
  const Version second = Next(first);
  const auto quick = OfThread(second);
  quick->Answer(0);
  EXPECT_EQ(Nodes(second), (std::vector<uint64_t>{2, 0}));
  // A thread that has not seen the second version yet.
  slow->Answer(0);
  slow->Answer(1);
  EXPECT_EQ(Nodes(second), (std::vector<uint64_t>{3, 0}));
  slow->Answer(1);
  slow.reset();
  EXPECT_EQ(Nodes(second), (std::vector<uint64_t>{4, 0}));
  EXPECT_EQ(Ring(), 6u) << "of all nodes that there ever were";
}

TEST_F(LookupCountsTest, ARingWithoutNodesCountsNothing) {
  const Version version = NewVersion(0);
  OfThread(version);
  EXPECT_EQ(Ring(), 0u);
}

// Threads count, come and go, and versions change, while somebody reads all the time.
TEST_F(LookupCountsTest, NothingIsLostAndNoSumGoesBack) {
  constexpr int kThreads = 3;
  constexpr int kVersions = 40;
  constexpr uint64_t kLookups = 500;  // by each thread of each version
  std::atomic<bool> counting = true;
  std::atomic<bool> went_back = false;
  std::thread reader([&] {
    for (uint64_t last = 0; counting;) {
      const uint64_t now = Ring();
      if (now < last) went_back = true;
      last = now;
    }
  });
  Version version = NewVersion(4);
  for (int v = 0; v < kVersions; ++v, version = Next(version)) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        const auto nodes = OfThread(version);
        for (uint64_t i = 0; i < kLookups; ++i) nodes->Answer(i % 4);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  counting = false;
  reader.join();
  EXPECT_FALSE(went_back);
  EXPECT_EQ(Ring(), kThreads * kVersions * kLookups);
}

}  // namespace
}  // namespace ringd
