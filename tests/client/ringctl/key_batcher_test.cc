#include "client/ringctl/key_batcher.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace ringd::ctl {
namespace {

v1::BatchLookupRequest Prototype() {
  v1::BatchLookupRequest request;
  request.set_ring("cache");
  request.set_owners(2);
  return request;
}

std::vector<v1::BatchLookupRequest> Split(const std::vector<std::string>& keys) {
  KeyBatcher batcher(Prototype());
  std::vector<v1::BatchLookupRequest> batches;
  for (const std::string& key : keys) {
    if (!batcher.Fits(key)) batches.push_back(batcher.Take());
    batcher.Add(key);
  }
  if (!batcher.empty()) batches.push_back(batcher.Take());
  return batches;
}

TEST(KeyBatcher, SplitsByNumber) {
  const auto batches = Split(std::vector<std::string>(20'001, "k"));
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_EQ(batches[0].keys_size(), 10'000);
  EXPECT_EQ(batches[1].keys_size(), 10'000);
  EXPECT_EQ(batches[2].keys_size(), 1);
}

// B93: 10,000 keys of 120 bytes are over the request limit.
TEST(KeyBatcher, SplitsByBytes) {
  const auto batches = Split(std::vector<std::string>(10'000, std::string(120, 'k')));
  ASSERT_EQ(batches.size(), 2u);
  for (const auto& batch : batches) EXPECT_LE(batch.ByteSizeLong(), KeyBatcher::kMostBytes);
}

TEST(KeyBatcher, SendsATooLargeKeyByItself) {
  const auto batches = Split({"a", std::string(2 << 20, 'x'), "b"});
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_EQ(batches[1].keys_size(), 1);
}

TEST(KeyBatcher, KeepsOrderBytesAndThePrototype) {
  const auto batches = Split({"b", "", std::string("\0\xFF", 2), "a"});
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_EQ(batches[0].ring(), "cache");
  EXPECT_EQ(batches[0].owners(), 2u);
  EXPECT_EQ(std::vector<std::string>(batches[0].keys().begin(), batches[0].keys().end()),
            (std::vector<std::string>{"b", "", std::string("\0\xFF", 2), "a"}));
}

}  // namespace
}  // namespace ringd::ctl
