#include "client/ringctl/watch_position.h"

#include <gtest/gtest.h>

namespace ringd::ctl {
namespace {

v1::WatchResponse Chunk(uint64_t revision, bool last) {
  v1::WatchResponse message;
  v1::Snapshot& snapshot = *message.mutable_snapshot();
  snapshot.mutable_ring()->mutable_version()->set_revision(revision);
  snapshot.mutable_ring()->mutable_checksum()->set_value(revision * 10);
  snapshot.set_last(last);
  return message;
}

v1::WatchResponse Change(uint64_t revision) {
  v1::WatchResponse message;
  message.mutable_change()->mutable_version()->set_revision(revision);
  message.mutable_change()->mutable_checksum()->set_value(revision * 10);
  return message;
}

TEST(WatchPosition, BeginsWithNothingOrWithTheVersionGiven) {
  const v1::WatchRequest fresh = WatchPosition("cache", std::nullopt).Request();
  EXPECT_EQ(fresh.selector().names().rings(0), "cache");
  EXPECT_EQ(fresh.held_size(), 0);
  v1::Version from;
  from.set_revision(3);
  const v1::WatchRequest resumed = WatchPosition("cache", from).Request();
  ASSERT_EQ(resumed.held_size(), 1);
  EXPECT_EQ(resumed.held(0).ring(), "cache");
  EXPECT_EQ(resumed.held(0).position().version().revision(), 3u);
  EXPECT_FALSE(resumed.held(0).position().has_checksum());
}

TEST(WatchPosition, MovesWithTheLastChunkAndWithChanges) {
  WatchPosition position("cache", std::nullopt);
  position.Observe(Chunk(7, false));
  EXPECT_EQ(position.Request().held_size(), 0);
  position.Observe(Chunk(7, true));
  EXPECT_EQ(position.Request().held(0).position().version().revision(), 7u);
  position.Observe(Change(8));
  EXPECT_EQ(position.Request().held(0).position().version().revision(), 8u);
  EXPECT_EQ(position.Request().held(0).position().checksum().value(), 80u);
}

TEST(WatchPosition, StaysWithMarksAndIsClearedWhenTheRingHasGone) {
  WatchPosition position("cache", std::nullopt);
  position.Observe(Change(8));
  v1::WatchResponse message;
  message.mutable_heartbeat();
  position.Observe(message);
  message.mutable_in_sync();
  position.Observe(message);
  EXPECT_EQ(position.Request().held_size(), 1);
  message.mutable_deleted();
  position.Observe(message);
  EXPECT_EQ(position.Request().held_size(), 0);
  position.Observe(Change(9));
  message.mutable_absent();
  position.Observe(message);
  EXPECT_EQ(position.Request().held_size(), 0);
}

}  // namespace
}  // namespace ringd::ctl
