// A directory that lets no connection grow old loses none of its watchers for a moment.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "ringd/client.h"
#include "ringd/local_ring.h"
#include "tests/support/ringd_process.h"
#include "tests/support/shared.h"

namespace ringd {
namespace {

using std::chrono::seconds;

// What a copy said from the moment that it was in sync first.
struct Story {
  bool began = false;
  uint64_t streams = 0;
  uint64_t lost = 0;  // times that it was not in sync
  LocalRingStatus last;
};

TEST(LocalAge, CopiesChangeTheirConnectionsAndAreInSyncThroughout) {
  support::RingdProcess ringd({"--max-connection-age", "300ms"});
  const auto client = *Client::Connect({.endpoints = {ringd.endpoint()}, .change_timeout = seconds(20)});
  ASSERT_TRUE(client->CreateRing("r", {.placement = HashedPlacement{}}).ok());
  ASSERT_TRUE(client->AddNode("r", {.id = "n"}).ok());

  constexpr size_t kCopies = 20;
  constexpr uint64_t kStreams = 5;  // of each
  std::vector<support::Shared<Story>> stories(kCopies);
  std::vector<std::unique_ptr<LocalRing>> copies;
  for (support::Shared<Story>& story : stories) {
    copies.push_back(*LocalRing::Start(
        "r", {.directory = {.endpoints = {ringd.endpoint()}}, .on_change = [&story](const LocalRingStatus& status) {
                story.Update([&](Story& told) {
                  const bool in_sync = status.state == LocalRingState::kInSync;
                  told.began |= in_sync;
                  told.streams = status.streams;
                  if (told.began && !in_sync) told.lost++;
                  told.last = status;
                });
              }}));
  }
  // Each change is awaited by all copies, until each of them has had so many streams.
  const auto all_have = [&stories](uint64_t streams) {
    return std::all_of(stories.begin(), stories.end(),
                       [streams](const auto& story) { return story.Get().streams >= streams; });
  };
  for (uint32_t i = 0; !all_have(kStreams); ++i) {
    UpdateNode update{.id = "n"};
    update.weight = 1'000 + i % 500;
    const auto changed = client->UpdateNode("r", update);
    ASSERT_TRUE(changed.ok()) << changed.status();
    for (support::Shared<Story>& story : stories) {
      story.Await([&](const Story& told) { return told.last.version >= changed->version; });
    }
  }
  for (support::Shared<Story>& story : stories) {
    const Story told = story.Get();
    EXPECT_EQ(told.lost, 0u);
    EXPECT_EQ(told.last.snapshots, 1u) << "each stream went on from what was held";
    EXPECT_EQ(told.last.broken_order + told.last.checksum_mismatches + told.last.rewound, 0u);
  }
}

}  // namespace
}  // namespace ringd
