// Counting takes no memory from the heap: not a lookup, not an RPC.
#include <gtest/gtest.h>

#include <vector>

#include "server/lookup_counts.h"
#include "server/rpc_metrics.h"
#include "tests/support/allocations.h"

namespace ringd::server {
namespace {

using support::allocations;

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
