// The window of changes in memory: what it keeps, what it lets go, and that it never answers with another change.
#include "server/change_log.h"

#include <gtest/gtest.h>

#include "tests/server/store_test_data.h"

namespace ringd::server {
namespace {

std::shared_ptr<const PublishedChange> ChangeTo(uint64_t revision, size_t deltas = 1) {
  std::vector<ring::NodeDelta> nodes(deltas, ring::NodeDelta{nullptr, TestNode("n")});
  return std::make_shared<const PublishedChange>(
      PublishedChange{"r", TestPut("r", {7, revision}, std::move(nodes)).change});
}

void AppendUpTo(ChangeLog& log, uint64_t first, uint64_t last, size_t deltas = 1) {
  for (uint64_t revision = first; revision <= last; ++revision) log.Append(ChangeTo(revision, deltas));
}

// The revision that the log answers `revision` with; 0 = not kept.
uint64_t Got(const ChangeLog& log, uint64_t revision) {
  const auto change = log.Get(revision);
  return change == nullptr ? 0 : change->record.version.revision;
}

TEST(ChangeLog, AnEmptyLogHasNothing) {
  const ChangeLog log;
  for (const uint64_t revision : {0ull, 1ull, ~0ull}) EXPECT_EQ(Got(log, revision), 0u);
}

// A server that was started again begins its window at whatever revision comes next.
TEST(ChangeLog, AWindowMayBeginAtAnyRevision) {
  ChangeLog log;
  AppendUpTo(log, 500, 502);
  for (const uint64_t revision : {500, 501, 502}) EXPECT_EQ(Got(log, revision), revision);
  for (const uint64_t revision : {0ull, 1ull, 499ull, 503ull, ~0ull}) EXPECT_EQ(Got(log, revision), 0u);
}

TEST(ChangeLog, KeepsExactlyTheNewestChanges) {
  ChangeLog log;
  AppendUpTo(log, 1, ChangeLog::kMaxChanges);
  EXPECT_EQ(Got(log, 1), 1u);
  log.Append(ChangeTo(ChangeLog::kMaxChanges + 1));
  EXPECT_EQ(Got(log, 1), 0u);
  for (uint64_t revision = 2; revision <= ChangeLog::kMaxChanges + 1; ++revision)
    EXPECT_EQ(Got(log, revision), revision);
}

TEST(ChangeLog, LargeChangesNarrowTheWindow) {
  constexpr size_t kHalf = ChangeLog::kMaxDeltas / 2;
  ChangeLog log;
  AppendUpTo(log, 1, 2, kHalf);
  EXPECT_EQ(Got(log, 1), 1u);  // just full
  log.Append(ChangeTo(3));
  EXPECT_EQ(Got(log, 1), 0u);
  EXPECT_EQ(Got(log, 2), 2u);
  AppendUpTo(log, 4, 13, kHalf / 10);
  EXPECT_EQ(Got(log, 2), 0u);  // what was let go is no longer counted: all that came since fits
  EXPECT_EQ(Got(log, 3), 3u);
}

// What is large of a change need not be its nodes.
TEST(ChangeLog, PointsAndRunsOfSlotsNarrowTheWindowToo) {
  const auto change = [](uint64_t revision, size_t points, size_t runs) {
    ring::Node node = *TestNode("n");
    node.points.resize(points);
    auto record = TestPut("r", {7, revision}, {{nullptr, std::make_shared<const ring::Node>(node)}}).change;
    record.slot_moves.runs.resize(runs);
    return std::make_shared<const PublishedChange>(PublishedChange{"r", std::move(record)});
  };
  constexpr size_t kHalf = ChangeLog::kMaxDeltas / 2;
  for (const auto& [points, runs] :
       {std::pair(kHalf * ChangeLog::kPointsOfDelta, size_t{0}), {size_t{0}, kHalf * ChangeLog::kRunsOfDelta}}) {
    ChangeLog log;
    log.Append(change(1, points, runs));
    log.Append(change(2, 0, 0));
    EXPECT_EQ(Got(log, 1), 1u);
    log.Append(change(3, points, runs));
    EXPECT_EQ(Got(log, 1), 0u);
    EXPECT_EQ(Got(log, 2), 2u);
  }
}

TEST(ChangeLog, TheNewestChangeIsKeptHoweverLarge) {
  ChangeLog log;
  AppendUpTo(log, 1, 3);
  log.Append(ChangeTo(4, ChangeLog::kMaxDeltas + 1));
  EXPECT_EQ(Got(log, 3), 0u);
  EXPECT_EQ(Got(log, 4), 4u);
  log.Append(ChangeTo(5));
  EXPECT_EQ(Got(log, 4), 0u);
  EXPECT_EQ(Got(log, 5), 5u);
}

TEST(ChangeLog, AChangeOutlivesItsPlaceInTheWindow) {
  ChangeLog log;
  log.Append(ChangeTo(1));
  const auto held = log.Get(1);
  AppendUpTo(log, 2, ChangeLog::kMaxChanges + 1);
  EXPECT_EQ(Got(log, 1), 0u);
  EXPECT_EQ(held->record.version.revision, 1u);
}

}  // namespace
}  // namespace ringd::server
