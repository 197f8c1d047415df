// What the messages of a call take from the heap: blocks, and not one for each string.
#include "server/arena_messages.h"

#include <gtest/gtest.h>

#include <string>

#include "ringd/v1/directory.pb.h"
#include "tests/support/allocations.h"

namespace ringd::server {
namespace {

using support::allocations;

using BatchMessages = ArenaMessages<v1::BatchLookupRequest, v1::BatchLookupResponse>;

TEST(ArenaMessages, AThousandKeysTakeAFewBlocks) {
  v1::BatchLookupRequest request;
  for (int i = 0; i < 1'000; i++) request.add_keys("user:" + std::to_string(i));
  const std::string bytes = request.SerializeAsString();

  BatchMessages messages;
  const size_t before = allocations;
  auto* const call = messages.AllocateMessages();
  ASSERT_TRUE(call->request()->ParseFromString(bytes));
  for (int i = 0; i < 100; i++) call->response()->add_nodes()->set_id("node");
  EXPECT_LT(allocations - before, 20u);

  EXPECT_EQ(call->request()->keys_size(), 1'000);
  EXPECT_EQ(call->request()->keys(999), "user:999");
  EXPECT_EQ(call->response()->nodes_size(), 100);
  call->Release();
}

TEST(ArenaMessages, ASmallCallTakesOneSmallBlock) {
  BatchMessages messages;
  const size_t before = support::allocated_bytes;
  auto* const call = messages.AllocateMessages();
  call->request()->add_keys("key");
  call->response()->add_nodes()->set_id("node");
  EXPECT_LT(support::allocated_bytes - before, 5'000u);
  call->Release();
}

TEST(ArenaMessages, CallsHaveMessagesOfTheirOwn) {
  BatchMessages messages;
  auto* const one = messages.AllocateMessages();
  one->request()->add_keys("key");
  auto* const other = messages.AllocateMessages();
  EXPECT_EQ(other->request()->keys_size(), 0);
  one->Release();
  other->request()->add_keys("other");
  EXPECT_EQ(other->request()->keys(0), "other");
  other->Release();
}

}  // namespace
}  // namespace ringd::server
