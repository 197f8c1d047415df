// Promise: readers of the rings hold the lock for a pointer's copy, so they never keep a writer out.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/directory.h"
#include "server/memory_store.h"
#include "server/write_queue.h"

namespace ringd::server {
namespace {

Mutation AddNode(const std::string& id) {
  ChangeNodes change;
  change.operations.push_back(ring::AddNode{.node = {.id = id, .weight = 100}});
  return {.ring = "r", .what = change};
}

absl::StatusOr<MutationResult> Do(WriteQueue& writes, Mutation mutation) {
  std::promise<absl::StatusOr<MutationResult>> done;
  writes.Submit({.mutation = std::move(mutation),
                 .done = [&](absl::StatusOr<MutationResult> result) { done.set_value(std::move(result)); }});
  return done.get_future().get();
}

// B98 (Framstag/libosmscout#1553, apache/trafficserver#7611, seqan/seqan3#1081): 32 threads look keys up without pause;
// a change must still come through, the slowest in under a second.
TEST(Guarantee, WritersAreNotStarvedByReaders) {
  MemoryStore store;
  auto directory = Directory::Open(store, {.random = [] { return 7u; }});
  ASSERT_TRUE(directory.ok());
  WriteQueue writes(**directory);
  ASSERT_TRUE(Do(writes, {.ring = "r", .what = CreateRing{}}).ok());
  ASSERT_TRUE(Do(writes, AddNode("first")).ok());

  std::atomic<bool> stop = false;
  std::atomic<uint64_t> lookups = 0;
  std::vector<std::thread> readers;
  for (int t = 0; t < 32; t++) {
    readers.emplace_back([&, t] {
      for (uint64_t key = t; !stop; key += 32) {
        const auto state = (*directory)->Find("r");
        ASSERT_TRUE(state.ok());
        const ring::Ring& ring = (*state)->ring;
        ASSERT_LT(ring.Owner(ring.Position("user:" + std::to_string(key))), ring.node_count());
        lookups++;
      }
    });
  }
  std::chrono::steady_clock::duration worst{};
  for (int i = 0; i < 50; i++) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(Do(writes, AddNode("n" + std::to_string(i))).ok());
    worst = std::max(worst, std::chrono::steady_clock::now() - begin);
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_LT(worst, std::chrono::seconds(1));
  EXPECT_GT(lookups, 1'000u) << "the readers did not read: the test shows nothing";
}

}  // namespace
}  // namespace ringd::server
