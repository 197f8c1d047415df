// A SqliteStore does not grow for ever: history is pruned in bounded steps, the log is merged, space goes back.
#include <gtest/gtest.h>

#include <filesystem>

#include "server/sqlite_store.h"
#include "tests/server/store_test_data.h"

namespace ringd::server {
namespace {

class SqliteStoreGrowth : public ::testing::Test {
 protected:
  SqliteStoreGrowth() {
    auto opened = SqliteStore::Open(temp_ / "data", InitMode::kCreate);
    EXPECT_TRUE(opened.ok()) << opened.status();
    store_ = *std::move(opened);
    EXPECT_TRUE(store_->Load().ok());
    EXPECT_TRUE(CommitOne(*store_, TestCreate("r", 1)).ok());
  }
  // The same node is changed again and again.
  PutRing Change(uint64_t revision) {
    ring::NodePtr before = revision == 2 ? nullptr : TestNode("n", static_cast<uint32_t>(revision - 1));
    return TestPut("r", {1, revision}, {{before, TestNode("n", static_cast<uint32_t>(revision))}});
  }
  uintmax_t SizeOf(const std::string& file) { return std::filesystem::file_size(temp_ / ("data/" + file)); }

  TempDir temp_{FastParent()};
  std::unique_ptr<SqliteStore> store_;
};

TEST_F(SqliteStoreGrowth, FileAndLogStayBoundedUnderSteadyChange) {
  constexpr uint64_t kChanges = 3'000;
  for (uint64_t revision = 2; revision <= kChanges; ++revision) {
    PutRing put = Change(revision);
    put.keep_from_revision = revision > 100 ? revision - 100 : 0;
    ASSERT_TRUE(CommitOne(*store_, put).ok());
  }
  EXPECT_LT(SizeOf("ringd.db"), 300'000u);
  EXPECT_LT(SizeOf("ringd.db-wal"), 6'000'000u);
}

TEST_F(SqliteStoreGrowth, AHistoryThatBecomesTooLongIsPrunedInSteps) {
  constexpr uint64_t kLong = 2'500;
  for (uint64_t revision = 2; revision <= kLong; ++revision) ASSERT_TRUE(CommitOne(*store_, Change(revision)).ok());
  const auto oldest_kept = [&](uint64_t head) {
    for (uint64_t revision = 1; revision <= head; ++revision) {
      if (!store_->ReadChanges("r", 1, revision, 1, SIZE_MAX)->empty()) return revision;
    }
    return uint64_t{0};
  };
  for (const uint64_t expected : {1'001, 2'001, 2'490}) {
    static uint64_t head = kLong;
    PutRing put = Change(++head);
    put.keep_from_revision = 2'490;
    ASSERT_TRUE(CommitOne(*store_, put).ok());
    EXPECT_EQ(oldest_kept(head), expected);
  }
}

TEST_F(SqliteStoreGrowth, SpaceOfADeletedRingGoesBackToTheDisk) {
  std::vector<ring::NodeDelta> nodes;
  for (int i = 0; i < 4'000; ++i) {
    ring::Node node = *TestNode("n" + std::to_string(i));
    node.metadata["padding"] = std::string(1'000, 'x');
    nodes.push_back({nullptr, std::make_shared<const ring::Node>(node)});
  }
  PutRing big = TestPut("big", {2, 1}, nodes);
  big.change.nodes = nodes;
  ASSERT_TRUE(CommitOne(*store_, big).ok());
  const uintmax_t full = SizeOf("ringd.db");
  ASSERT_TRUE(CommitOne(*store_, TestDrop("big", {2, 1})).ok());
  for (uint64_t revision = 2; revision <= 2'000; ++revision) {
    PutRing put = Change(revision);
    put.keep_from_revision = revision > 100 ? revision - 100 : 0;
    ASSERT_TRUE(CommitOne(*store_, put).ok());
  }
  EXPECT_LT(SizeOf("ringd.db"), full / 2);
}

}  // namespace
}  // namespace ringd::server
