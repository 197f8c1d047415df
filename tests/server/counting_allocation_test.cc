// Counting takes no memory from the heap: not a lookup, not an RPC. This binary counts what operator new gives out.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>
#include <vector>

#include "server/lookup_counts.h"
#include "server/rpc_metrics.h"

namespace {
size_t allocations = 0;
}

void* operator new(size_t size) {
  ++allocations;
  void* memory = std::malloc(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace ringd::server {
namespace {

TEST(Counting, AllocatesNothing) {
  ring::NodeTable table;
  for (int i = 0; i < 10; i++) table.nodes.push_back(std::make_shared<ring::Node>());
  const LookupCounts lookups(table);
  RpcMetrics rpcs(std::vector<RpcMetrics::Method>{{.service = "s.S", .name = "Ask"}});
  const size_t before = allocations;
  for (uint32_t i = 0; i < 1'000; i++) {
    lookups.Add(i % 10, 1);
    rpcs.of(0).Started();
    rpcs.of(0).Sent();
    rpcs.of(0).Handled(i % 17, std::chrono::microseconds(i));
  }
  EXPECT_EQ(allocations, before);
  EXPECT_GT(allocations, 0u) << "the counter counts";
  EXPECT_EQ(lookups.OfRing(), 1'000u);
}

}  // namespace
}  // namespace ringd::server
