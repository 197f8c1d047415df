// A ring of points, asked by position: the client, and a local copy that follows a real ringd.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "ringd/client.h"
#include "ringd/local_ring.h"
#include "tests/support/ringd_process.h"
#include "tests/support/shared.h"

namespace ringd {
namespace {

using std::chrono::seconds;

TEST(LocalPoints, ACopyAnswersAsTheDirectoryDoes) {
  const support::RingdProcess ringd;
  const auto client =
      *Client::Connect({.endpoints = {ringd.endpoint()}, .lookup_timeout = seconds(20), .change_timeout = seconds(20)});
  ASSERT_TRUE(client->CreateRing("r", {.placement = PointsPlacement{.last_position = 999}}).ok());
  ASSERT_TRUE(client->AddNode("r", {.id = "a", .address = "a:1", .points = {500, 10}}).ok());

  support::Shared<LocalRingStatus> last;
  const auto ring = *LocalRing::Start(
      "r", {.directory = {.endpoints = {ringd.endpoint()}}, .on_change = [&](const LocalRingStatus& status) {
              last.Update([&](LocalRingStatus& held) { held = status; });
            }});
  ASSERT_EQ(ring->WaitReady(seconds(20)), absl::OkStatus());
  ASSERT_TRUE(client->AddNode("r", {.id = "b", .points = {0, 700}}).ok());
  const auto updated = client->UpdateNode("r", {.id = "a", .points = std::vector<uint64_t>{11, 501, 999}});
  ASSERT_TRUE(updated.ok()) << updated.status();
  last.Await([&](const LocalRingStatus& status) { return status.version == updated->version; });

  EXPECT_EQ(ring->status().checksum_mismatches, 0u);
  EXPECT_EQ(ring->Copy()->node(0).points, (std::vector<uint64_t>{11, 501, 999}));
  for (uint64_t position = 0; position < 1'000; ++position) {
    const auto called = client->LookupPosition("r", position, {.owners = 2});
    ASSERT_TRUE(called.ok()) << called.status();
    std::array<const Node*, 2> owners{};
    ASSERT_EQ(*ring->OwnersAt(position, owners), 2u) << position;
    EXPECT_EQ(owners[0]->id, called->owners[0].id) << position;
    EXPECT_EQ(owners[1]->id, called->owners[1].id) << position;
    EXPECT_EQ(called->hash, position);
  }
  EXPECT_EQ(ring->lookups().ring, 1'000u);

  std::array<const Node*, 1> one{};
  EXPECT_TRUE(absl::IsInvalidArgument(ring->OwnersAt(1'000, one).status())) << "beyond the circle";
  EXPECT_TRUE(absl::IsInvalidArgument(client->LookupPosition("r", 1'000).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ring->OwnersAt(7, {}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ring->Owner("key").status())) << "no key has a place";
  EXPECT_TRUE(absl::IsInvalidArgument(client->Lookup("r", "key").status()));
  EXPECT_EQ(ring->Copy()->Owner("key"), nullptr);
}

// A position is a value of the hash function where the ring has one.
TEST(LocalPoints, AKeyIsWhereItsHashIs) {
  const support::RingdProcess ringd;
  const auto client = *Client::Connect({.endpoints = {ringd.endpoint()}, .lookup_timeout = seconds(20)});
  ASSERT_TRUE(client->CreateRing("r", {.placement = PresetPlacement{.preset = "java-crc32-vn"}}).ok());
  for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(client->AddNode("r", {.id = id}).ok());
  const auto ring = *LocalRing::Start("r", {.directory = {.endpoints = {ringd.endpoint()}}});
  ASSERT_EQ(ring->WaitReady(seconds(20)), absl::OkStatus());
  for (int i = 0; i < 200; ++i) {
    const std::string key = "user:" + std::to_string(i);
    const auto called = client->Lookup("r", key);
    ASSERT_TRUE(called.ok()) << called.status();
    std::array<const Node*, 1> owner{};
    ASSERT_EQ(*ring->OwnersAt(called->hash, owner), 1u);
    EXPECT_EQ(owner[0]->id, called->owners[0].id) << key;
    EXPECT_EQ(owner[0]->id, (*ring->Owner(key))->id) << key;
  }
}

}  // namespace
}  // namespace ringd
