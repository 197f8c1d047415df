// The registry of watchers: who is listed, in what order, and whose report counts for what.
#include "server/watchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/server/test_directory.h"
#include "tests/support/shared.h"

namespace ringd::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A stream that has delivered what the test says.
class FakeStream : public WatchedRings {
 public:
  using Delivered = std::map<std::string, std::optional<ring::Version>>;
  explicit FakeStream(Delivered delivered) : delivered_(std::move(delivered)) {}
  void EachRing(const std::string& from, const VisitRing& visit) const override {
    for (auto it = delivered_.lower_bound(from); it != delivered_.end(); ++it) {
      asked++;
      if (!visit(it->first, it->second)) return;
    }
  }
  mutable std::atomic<int> asked = 0;

 private:
  const Delivered delivered_;
};

const RingSelector kAll{.prefix = ""};

class WatchersTest : public ::testing::Test {
 protected:
  std::shared_ptr<FakeStream> Watch(const std::string& name, const RingSelector& selector,
                                    FakeStream::Delivered delivered = {}) {
    auto stream = std::make_shared<FakeStream>(std::move(delivered));
    watchers_.Add(stream, {.name = name, .peer = "p", .since = absl::UnixEpoch(), .selector = selector});
    return stream;
  }
  absl::Status Report(const std::string& name, const std::string& ring, ring::Version version,
                      Watchers::Clock::duration ago = {}) {
    const std::pair<std::string, ring::Version> position{ring, version};
    return watchers_.Report(name, std::span(&position, 1), ago);
  }
  // ring/name/stream, and where they are known the versions: sent, then applied.
  static std::string Text(const WatcherRow& row) {
    std::string text = row.key.ring + "/" + row.key.name + "/" + std::to_string(row.key.stream);
    if (row.sent.has_value()) text += " sent " + ToString(*row.sent);
    if (row.applied.has_value()) text += " applied " + ToString(*row.applied);
    return text;
  }
  std::vector<std::string> List(const std::optional<std::string>& ring = std::nullopt,
                                const WatcherRow::Key& after = {}, size_t max = 100) {
    std::vector<std::string> texts;
    for (const WatcherRow& row : watchers_.List(ring, after, max)) texts.push_back(Text(row));
    return texts;
  }
  // What is listed as applied of ring `ring` by the watchers of that name.
  std::string Applied(const std::string& name, const std::string& ring) {
    std::string text;
    for (const WatcherRow& row : watchers_.List(ring, {}, 100)) {
      if (row.key.name == name && row.applied.has_value()) text += ToString(*row.applied);
    }
    return text;
  }

  Watchers::Clock::time_point now_;
  support::Shared<std::vector<Watchers::Clock::duration>> taken_;  // from publish to applied
  TestDirectory directory_{DirectoryOptions{.steady_clock = [this] { return now_; }}};
  Watchers watchers_{*directory_,
                     {.on_applied = [this](auto taken) { taken_.Update([taken](auto& all) { all.push_back(taken); }); },
                      .clock = [this] { return now_; }}};
};

TEST_F(WatchersTest, AreListedByRingThenNameThenStream) {
  const auto all = Watch("b", kAll, {{"r", ring::Version{1, 2}}, {"s", std::nullopt}});
  const auto unnamed = Watch("", {.names = {"r"}}, {{"r", ring::Version{1, 1}}});
  const auto same = Watch("b", {.names = {"r"}}, {{"r", std::nullopt}});
  const auto first = Watch("a", {.names = {"s"}}, {{"s", ring::Version{2, 1}}});
  EXPECT_THAT(List(), ElementsAre("r//2 sent 1/1", "r/b/1 sent 1/2", "r/b/3", "s/a/4 sent 2/1", "s/b/1"));
  EXPECT_THAT(List("s"), ElementsAre("s/a/4 sent 2/1", "s/b/1"));
  EXPECT_THAT(List("absent"), IsEmpty());
  const WatcherRow row = watchers_.List("s", {}, 1).front();
  EXPECT_EQ(row.peer, "p");
  EXPECT_EQ(row.since, absl::UnixEpoch());
}

TEST_F(WatchersTest, EveryPageGoesOnWhereTheOneBeforeEnded) {
  std::vector<std::shared_ptr<FakeStream>> streams;
  for (const std::string name : {"c", "", "a", "b", "b"}) {
    streams.push_back(Watch(name, kAll, {{"q", std::nullopt}, {"r", std::nullopt}, {"s", std::nullopt}}));
  }
  const std::vector<std::string> whole = List();
  ASSERT_EQ(whole.size(), 15u);
  for (size_t page = 1; page <= whole.size(); ++page) {
    std::vector<std::string> paged;
    WatcherRow::Key after;
    while (true) {
      const std::vector<WatcherRow> rows = watchers_.List(std::nullopt, after, page);
      EXPECT_LE(rows.size(), page);
      if (rows.empty()) break;
      for (const WatcherRow& row : rows) paged.push_back(Text(row));
      after = rows.back().key;
    }
    EXPECT_EQ(paged, whole) << "pages of " << page;
  }
}

TEST_F(WatchersTest, APageLooksNoFurtherIntoAStreamThanItGoes) {
  FakeStream::Delivered many;
  for (int i = 1000; i < 2000; ++i) many.emplace("r" + std::to_string(i), std::nullopt);
  const auto first = Watch("a", kAll, many);
  const auto second = Watch("b", kAll, many);
  EXPECT_THAT(List(std::nullopt, {}, 2), ElementsAre("r1000/a/1", "r1000/b/2"));
  EXPECT_LE(first->asked, 3);
  EXPECT_LE(second->asked, 3);
}

TEST_F(WatchersTest, AStreamThatIsOverIsNotListed) {
  auto removed = Watch("a", kAll, {{"r", std::nullopt}});
  const auto stays = Watch("b", kAll, {{"r", std::nullopt}});
  watchers_.Remove(removed.get());
  watchers_.Remove(removed.get());
  EXPECT_THAT(List(), ElementsAre("r/b/2"));
}

TEST_F(WatchersTest, AReportIsListedForAllWatchesOfTheName) {
  directory_.Make("r", {"n1"});
  const auto first = Watch("a", {.names = {"r"}}, {{"r", std::nullopt}});
  const auto second = Watch("a", kAll, {{"r", std::nullopt}});
  const auto other = Watch("b", kAll, {{"r", std::nullopt}});
  EXPECT_TRUE(Report("a", "r", {1, 2}).ok());
  EXPECT_THAT(List(), ElementsAre("r/a/1 applied 1/2", "r/a/2 applied 1/2", "r/b/3"));
}

TEST_F(WatchersTest, WithinAnEpochTheHighestVersionCounts) {
  directory_.Make("r", {"n1", "n2"});
  const auto stream = Watch("a", kAll, {{"r", std::nullopt}});
  for (const auto& [reported, listed] : std::vector<std::pair<ring::Version, std::string>>{
           {{1, 2}, "1/2"}, {{1, 1}, "1/2"}, {{1, 3}, "1/3"}, {{0, 99}, "1/3"}}) {
    EXPECT_TRUE(Report("a", "r", reported).ok());
    EXPECT_EQ(Applied("a", "r"), listed) << "after " << ToString(reported);
  }
}

TEST_F(WatchersTest, AVersionThatTheRingHasNotReachedIsPassedOver) {
  directory_.Make("r", {"n1"});
  const auto stream = Watch("a", kAll, {{"r", std::nullopt}});
  for (const ring::Version version : {ring::Version{1, 3}, {2, 1}, {UINT64_MAX, UINT64_MAX}}) {
    EXPECT_TRUE(Report("a", "r", version).ok());
    EXPECT_EQ(Applied("a", "r"), "") << ToString(version);
  }
}

TEST_F(WatchersTest, RingsThatItDoesNotWatchOrThatAreNotThereArePassedOver) {
  for (const std::string ring : {"pre-r", "r", "s"}) directory_.Make(ring);
  // Every stream is listed with every ring, so that a report which counts too much is seen.
  const FakeStream::Delivered every = {
      {"absent", std::nullopt}, {"pre-r", std::nullopt}, {"r", std::nullopt}, {"s", std::nullopt}};
  const auto by_name = Watch("a", {.names = {"s", "absent"}}, every);
  const auto by_prefix = Watch("b", {.prefix = "pre-"}, every);
  const auto all = Watch("z", kAll, every);
  for (const std::string name : {"a", "b", "z"}) {
    const std::vector<std::pair<std::string, ring::Version>> positions = {
        {"absent", {1, 1}}, {"pre-r", {1, 1}}, {"r", {2, 1}}, {"s", {3, 1}}};
    EXPECT_TRUE(watchers_.Report(name, positions).ok());
  }
  EXPECT_THAT(List("absent"), ElementsAre("absent/a/1", "absent/b/2", "absent/z/3"));
  EXPECT_THAT(List("pre-r"), ElementsAre("pre-r/a/1", "pre-r/b/2 applied 1/1", "pre-r/z/3 applied 1/1"));
  EXPECT_THAT(List("r"), ElementsAre("r/a/1", "r/b/2", "r/z/3 applied 2/1"));
  EXPECT_THAT(List("s"), ElementsAre("s/a/1 applied 3/1", "s/b/2", "s/z/3 applied 3/1"));
}

TEST_F(WatchersTest, ANameThatNoWatchHasIsNotFound) {
  directory_.Make("r");
  const auto unnamed = Watch("", kAll);
  for (const std::string name : {"a", ""}) {
    const absl::Status status = Report(name, "r", {1, 1});
    EXPECT_TRUE(absl::IsNotFound(status)) << status;
    EXPECT_EQ(ring::ReasonOf(status), kWatcherNotFound);
  }
  EXPECT_THAT(std::string(Report("a\n", "r", {1, 1}).message()), HasSubstr("\"a\\x0A\""));
}

TEST_F(WatchersTest, WhatWasReportedGoesWithTheLastWatchOfTheName) {
  directory_.Make("r");
  const auto first = Watch("a", kAll, {{"r", std::nullopt}});
  const auto second = Watch("a", kAll, {{"r", std::nullopt}});
  ASSERT_TRUE(Report("a", "r", {1, 1}).ok());
  watchers_.Remove(first.get());
  EXPECT_EQ(Applied("a", "r"), "1/1");
  watchers_.Remove(second.get());
  EXPECT_TRUE(absl::IsNotFound(Report("a", "r", {1, 1})));
  const auto again = Watch("a", kAll, {{"r", std::nullopt}});
  EXPECT_EQ(Applied("a", "r"), "");
}

// Whoever applied the ring as it was before and nothing since is behind, and not unknown.
TEST_F(WatchersTest, ARingMadeAnewGoesBeyondWhatWasReportedOfItsFormerSelf) {
  directory_.Make("r", {"n1", "n2"});
  const auto stream = Watch("a", kAll, {{"r", std::nullopt}});
  ASSERT_TRUE(Report("a", "r", {1, 3}).ok());
  directory_.Do(Forced(Delete("r")));
  directory_.Make("r");
  EXPECT_EQ(Applied("a", "r"), "1/3");
  ASSERT_TRUE(Report("a", "r", {2, 1}).ok());
  EXPECT_EQ(Applied("a", "r"), "2/1");
  ASSERT_TRUE(Report("a", "r", {1, 3}).ok());
  EXPECT_EQ(Applied("a", "r"), "2/1");
}

TEST_F(WatchersTest, ReportsOfRingsThatAreGoneAreNotHeapedUp) {
  const auto stream = Watch("a", kAll);
  directory_.Make("stays");
  ASSERT_TRUE(Report("a", "stays", {1, 1}).ok());
  FakeStream::Delivered rings = {{"stays", std::nullopt}};
  for (uint64_t i = 0; i < 100; ++i) {
    const std::string ring = "r" + std::to_string(i);
    directory_.Make(ring);
    ASSERT_TRUE(Report("a", ring, {i + 2, 1}).ok());
    directory_.Do(Delete(ring));
    rings.emplace(ring, std::nullopt);
  }
  const auto lister = Watch("a", kAll, rings);
  size_t kept = 0;
  for (const WatcherRow& row : watchers_.List(std::nullopt, {}, 1'000)) kept += row.applied.has_value() ? 1 : 0;
  EXPECT_LT(kept, 20u);
  EXPECT_EQ(Applied("a", "stays"), "1/1");
}

TEST_F(WatchersTest, TheSelectionOfANameIsThatOfItsWatchesThatAreThere) {
  for (const std::string ring : {"r", "s"}) directory_.Make(ring);
  const FakeStream::Delivered both = {{"r", std::nullopt}, {"s", std::nullopt}};
  const auto first = Watch("a", {.names = {"r"}}, both);
  const auto second = Watch("a", {.names = {"s"}}, both);
  watchers_.Remove(first.get());
  ASSERT_TRUE(Report("a", "r", {1, 1}).ok());
  ASSERT_TRUE(Report("a", "s", {2, 1}).ok());
  EXPECT_EQ(Applied("a", "r"), "");
  EXPECT_EQ(Applied("a", "s"), "2/1");
}

TEST(Behind, CountsRevisionsOfTheEpochAndAllOfThemWhereThereIsNone) {
  EXPECT_EQ(Behind({2, 9}, ring::Version{2, 9}), 0u);
  EXPECT_EQ(Behind({2, 9}, ring::Version{2, 4}), 5u);
  EXPECT_EQ(Behind({2, 9}, ring::Version{2, 10}), 0u) << "heard of after the ring was looked at";
  EXPECT_EQ(Behind({2, 9}, ring::Version{1, 8}), 9u);
  EXPECT_EQ(Behind({2, 9}, std::nullopt), 9u);
}

using std::chrono::seconds;

TEST_F(WatchersTest, TheTimeToAppliedIsThatFromPublishLessHowLongAgoItWas) {
  const auto stream = Watch("a", kAll);
  directory_.Make("r");
  now_ += seconds(7);
  ASSERT_TRUE(Report("a", "r", {1, 1}).ok());
  directory_.Do(Add("r", "n1"));
  now_ += seconds(9);
  ASSERT_TRUE(Report("a", "r", {1, 2}, seconds(5)).ok());
  directory_.Do(Add("r", "n2"));
  ASSERT_TRUE(Report("a", "r", {1, 3}, seconds(5)).ok());
  EXPECT_THAT(taken_.Get(), ElementsAre(seconds(7), seconds(4), seconds(0))) << "never before it was published";
}

TEST_F(WatchersTest, TheTimeToAppliedIsToldOnceOfTheVersionThatAReportBringsANameTo) {
  const auto stream = Watch("a", kAll);
  const auto same = Watch("a", kAll);
  directory_.Make("r");
  now_ += seconds(1);
  directory_->Commit(std::vector<Mutation>{Add("r", "n1"), Add("r", "n2")});
  now_ += seconds(2);
  for (const ring::Version version : {ring::Version{1, 3}, {1, 3}, {1, 1}}) {
    ASSERT_TRUE(Report("a", "r", version).ok());
  }
  EXPECT_THAT(taken_.Get(), ElementsAre(seconds(2)));
}

// Else whoever begins to watch a ring that has long been as it is would seem to have taken as long.
TEST_F(WatchersTest, WhatWasPublishedBeforeTheNameWatchedHasNoTimeToApplied) {
  directory_.Make("r");
  now_ += seconds(1);
  const auto stream = Watch("a", kAll);
  ASSERT_TRUE(Report("a", "r", {1, 1}).ok());
  EXPECT_THAT(taken_.Get(), IsEmpty());
}

TEST_F(WatchersTest, WhatIsNoLongerInTheWindowHasNoTimeToApplied) {
  const auto stream = Watch("a", kAll);
  directory_.Make("r", {"n1"});
  directory_.ChangeUpTo("r", "n1", ChangeLog::kMaxChanges + 10);
  ASSERT_TRUE(Report("a", "r", {1, 3}).ok());
  EXPECT_THAT(taken_.Get(), IsEmpty());
  ASSERT_TRUE(Report("a", "r", {1, 100}).ok());
  EXPECT_THAT(taken_.Get(), ElementsAre(seconds(0)));
}

TEST_F(WatchersTest, StreamsComeGoReportAndAreListedAtOnce) {
  directory_.Make("r");
  std::vector<std::thread> threads;
  for (const std::string name : {"a", "b", "a"}) {
    threads.emplace_back([this, name] {
      for (int i = 0; i < 200; ++i) {
        const auto stream = Watch(name, kAll, {{"r", std::nullopt}});
        EXPECT_TRUE(Report(name, "r", {1, 1}).ok());
        EXPECT_THAT(List(), ::testing::Contains(HasSubstr("r/" + name + "/")));
        watchers_.Remove(stream.get());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(List(), IsEmpty());
}

}  // namespace
}  // namespace ringd::server
