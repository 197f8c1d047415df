// The contract of a Watch stream, scenario by scenario: what a session says, in words and in order.
#include "server/watch_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/watch_reader.h"

namespace ringd::server {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

using Held = std::map<std::string, WatchPosition>;

RingSelector Named(std::vector<std::string> names) { return {.names = std::move(names)}; }
RingSelector Prefix(std::string prefix) { return {.prefix = std::move(prefix)}; }

// "change r 1/<first> =n1", ... up to `last`.
std::vector<std::string> Changes(const std::string& ring, uint64_t first, uint64_t last, uint64_t epoch = 1) {
  std::vector<std::string> texts;
  for (uint64_t revision = first; revision <= last; ++revision) {
    texts.push_back(fmt::format("change {} {}/{} =n1", ring, epoch, revision));
  }
  return texts;
}
std::vector<std::string> Said(std::initializer_list<std::string> texts) { return texts; }
std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// --- Nothing held.

TEST(WatchSession, BeginsWithASnapshotThenInSyncOfTheRingThenOfTheStream) {
  TestDirectory directory;
  directory.Make("r", {"n2", "n1"});
  WatchReader reader(directory, Named({"r"}));
  EXPECT_THAT(reader.Rest(), ElementsAre("snapshot r 1/3 #0 n1 n2", "in_sync r 1/3", "in_sync"));
  EXPECT_EQ(reader.history_reads(), 0);
}

// B18 (dgryski/go-rendezvous#1): an empty ring is told, it is not silence.
TEST(WatchSession, AnEmptyRingIsOneCompleteChunk) {
  TestDirectory directory;
  directory.Make("r");
  WatchReader reader(directory, Named({"r"}));
  EXPECT_THAT(reader.Rest(), ElementsAre("snapshot r 1/1 #0", "in_sync r 1/1", "in_sync"));
}

TEST(WatchSession, ThenChangesComeAsTheyHappen) {
  TestDirectory directory;
  directory.Make("r", {"n1"});
  WatchReader reader(directory, Named({"r"}));
  reader.Rest();
  reader.Do(Add("r", "n2"));
  reader.Do(Change("r", {RemoveOp("n1"), AddOp("n3")}));
  EXPECT_THAT(reader.Rest(), ElementsAre("change r 1/3 +n2", "change r 1/4 -n1 +n3"));
  EXPECT_THAT(reader.Rest(), IsEmpty());
}

TEST(WatchSession, AStreamOfNoRingIsInSync) {
  TestDirectory directory;
  WatchReader reader(directory, Prefix("x"));
  EXPECT_THAT(reader.Rest(), ElementsAre("in_sync"));
}

TEST(WatchSession, TouchTellsWhetherTheRingIsWatched) {
  TestDirectory directory;
  WatchReader named(directory, Named({"r"}));
  EXPECT_TRUE(named.session().Touch("r"));
  EXPECT_FALSE(named.session().Touch("r2"));
  WatchReader pattern(directory, Prefix("r"));
  EXPECT_TRUE(pattern.session().Touch("r2"));
  EXPECT_FALSE(pattern.session().Touch("q"));
}

// A ring of `count` nodes, each of about a kilobyte in a message.
void MakeLarge(TestDirectory& directory, const std::string& ring, size_t count) {
  std::vector<ring::Operation> operations;
  for (size_t i = 0; i < count; ++i) {
    ring::AddNode add = AddOp(fmt::format("n{:06}", i));
    add.node.metadata["padding"] = std::string(1'000, 'x');
    operations.push_back(add);
  }
  directory.Make(ring);
  directory.Do(Change(ring, operations));
}

TEST(WatchSession, ALargeRingComesInChunksOfBoundedSize) {
  TestDirectory directory;
  MakeLarge(directory, "r", 1'000);
  WatchSession session(*directory, Named({"r"}), {});
  WatchModel model;
  size_t chunks = 0;
  for (Next next = session.Advance(); !std::holds_alternative<Idle>(next); next = session.Advance()) {
    const auto& event = std::get<WatchEvent>(next);
    model.Apply(event);
    const auto* chunk = std::get_if<SnapshotChunk>(&event);
    if (chunk == nullptr) continue;
    EXPECT_EQ(chunk->number, chunks++);
    size_t bytes = 0;
    for (size_t i = chunk->first; i < chunk->last; ++i) bytes += chunk->table->nodes[i]->metadata.at("padding").size();
    EXPECT_LT(bytes, WatchSession::kChunkBytes);
    EXPECT_LT(chunk->first, chunk->last);
  }
  EXPECT_GE(chunks, 4u);
  EXPECT_EQ(model.complaint(), "");
  EXPECT_EQ(model.Difference(*directory, Named({"r"})), "");
}

TEST(WatchSession, AChangeDuringALongSnapshotComesAfterIt) {
  TestDirectory directory;
  MakeLarge(directory, "r", 300);
  WatchReader reader(directory, Named({"r"}));
  EXPECT_THAT(reader.Next(), StartsWith("snapshot r 1/2 #0"));
  reader.Do(Add("r", "a"));
  EXPECT_THAT(reader.Next(), StartsWith("snapshot r 1/2 #1"));
  EXPECT_THAT(reader.Rest(), ElementsAre("change r 1/3 +a", "in_sync r 1/3", "in_sync"));
}

TEST(WatchSession, ADeletionDuringALongSnapshotComesAfterIt) {
  TestDirectory directory;
  MakeLarge(directory, "r", 300);
  WatchReader reader(directory, Named({"r"}));
  EXPECT_THAT(reader.Next(), StartsWith("snapshot r 1/2 #0"));
  reader.Do(Forced(Delete("r")));
  reader.Do(Create("r"));
  EXPECT_THAT(reader.Next(), StartsWith("snapshot r 1/2 #1"));
  EXPECT_THAT(reader.Rest(), ElementsAre("deleted r 1/2", "snapshot r 2/1 #0", "in_sync r 2/1", "in_sync"));
}

// --- A position held. Each case is a ring "r" with node n1, at revision 10 of epoch 1, of which the store keeps the
// changes to 6..10. A position without a checksum is not verified.

struct HeldCase {
  std::string name;
  ring::Version version;
  enum Checksum { kNone, kRight, kWrong } checksum = kNone;
  bool started_anew = false;  // the window in memory is empty
  std::vector<std::string> said;
};
void PrintTo(const HeldCase& test, std::ostream* out) { *out << test.name; }

class WatchSessionHeld : public ::testing::TestWithParam<HeldCase> {};

TEST_P(WatchSessionHeld, IsServed) {
  const HeldCase& held = GetParam();
  TestDirectory directory({.history_max = 5});
  directory.Make("r", {"n1"});
  std::map<uint64_t, uint64_t> checksums = {{2, directory.State("r")->head.checksum}};
  for (uint64_t revision = 3; revision <= 10; ++revision) {
    directory.ChangeUpTo("r", "n1", revision);
    checksums[revision] = directory.State("r")->head.checksum;
  }
  if (held.started_anew) directory.Reopen();
  WatchPosition position{.version = held.version};
  if (held.checksum == HeldCase::kRight) position.checksum = checksums.at(held.version.revision);
  if (held.checksum == HeldCase::kWrong) position.checksum = 12'345;
  WatchReader reader(directory, Named({"r"}), {{"r", position}});
  EXPECT_EQ(reader.Rest(), held.said);
  const bool is_ahead = held.version.epoch == 1 && held.version.revision > 10;
  EXPECT_EQ(reader.session().rewound(), is_ahead ? 1u : 0u);
  reader.Do(Add("r", "n2"));
  EXPECT_THAT(reader.Rest(), ElementsAre("change r 1/11 +n2"));
}

const std::vector<std::string> kInSync = {"in_sync r 1/10", "in_sync"};
const std::vector<std::string> kSnapshot = Said({"snapshot r 1/10 #0 n1"}) + kInSync;
const std::vector<std::string> kRewound = Said({"snapshot r 1/10 #0 n1 rewound"}) + kInSync;

INSTANTIATE_TEST_SUITE_P(
    Positions, WatchSessionHeld,
    ::testing::Values(
        HeldCase{"AtTheHead", {1, 10}, HeldCase::kNone, false, kInSync},
        HeldCase{"AtTheHeadVerified", {1, 10}, HeldCase::kRight, false, kInSync},
        HeldCase{"AtTheHeadWithAnotherChecksum", {1, 10}, HeldCase::kWrong, false, kSnapshot},
        HeldCase{"AtTheHeadAfterAStart", {1, 10}, HeldCase::kRight, true, kInSync},
        HeldCase{"InTheWindow", {1, 7}, HeldCase::kRight, false, Changes("r", 8, 10) + kInSync},
        HeldCase{"InTheWindowBeyondTheStoresHistory", {1, 3}, HeldCase::kRight, false, Changes("r", 4, 10) + kInSync},
        HeldCase{"InTheWindowWithAnotherChecksum", {1, 7}, HeldCase::kWrong, false, kSnapshot},
        // B62 (grafana/grafana#130332, sensu/sensu-go#3101): exactly the change after the position decides.
        HeldCase{"AtTheLastBeforeWhatIsKept", {1, 5}, HeldCase::kRight, true, Changes("r", 6, 10) + kInSync},
        HeldCase{"OneBeforeThat", {1, 4}, HeldCase::kRight, true, kSnapshot},
        HeldCase{"AtTheOldestKept", {1, 6}, HeldCase::kRight, true, Changes("r", 7, 10) + kInSync},
        HeldCase{"OneBelowTheHeadAfterAStart", {1, 9}, HeldCase::kNone, true, Changes("r", 10, 10) + kInSync},
        HeldCase{"InTheHistoryWithAnotherChecksum", {1, 6}, HeldCase::kWrong, true, kSnapshot},
        HeldCase{"AtTheBeginning", {1, 0}, HeldCase::kNone, true, kSnapshot},
        HeldCase{"AtTheBeginningInTheWindow", {1, 0}, HeldCase::kNone, false, kSnapshot},
        HeldCase{"OfAnEarlierEpoch", {0, 10}, HeldCase::kNone, false, kSnapshot},
        HeldCase{"OfALaterEpoch", {2, 3}, HeldCase::kNone, false, kSnapshot},
        // B68 (etcd-io/etcd#20221): ahead of the directory. At once a snapshot, then changes from there.
        HeldCase{"AheadByOne", {1, 11}, HeldCase::kNone, false, kRewound},
        HeldCase{"AheadByTwo", {1, 12}, HeldCase::kWrong, false, kRewound},
        HeldCase{"AheadByAll", {1, ~0ull}, HeldCase::kNone, true, kRewound}),
    [](const auto& test) { return test.param.name; });

TEST(WatchSession, HistoryIsReadInBatchesUntilTheWindowTakesOver) {
  TestDirectory directory;
  directory.Make("r", {"n1"});
  directory.ChangeUpTo("r", "n1", 10);
  directory.Reopen();
  directory.ChangeUpTo("r", "n1", 12);
  WatchReader reader(directory, Named({"r"}), {{"r", {.version = {1, 2}}}});
  EXPECT_EQ(reader.Rest(), Changes("r", 3, 12) + Said({"in_sync r 1/12", "in_sync"}));
  EXPECT_EQ(reader.history_reads(), 3) << "3-5, 6-8, 9-11; 12 is in the window";
}

// Else a stream that comes back to 10,000 rings after a start would hold a batch of each.
TEST(WatchSession, HistoryOfOneRingAtATimeIsHeld) {
  TestDirectory directory;
  for (const char* ring : {"a", "b"}) {
    directory.Make(ring, {"n1"});
    directory.ChangeUpTo(ring, "n1", 7);
  }
  directory.Reopen();
  WatchReader reader(directory, Named({"a", "b"}), {{"a", {.version = {1, 2}}}, {"b", {.version = {2, 2}}}});
  EXPECT_EQ(reader.Rest(), Changes("a", 3, 5) + Changes("b", 3, 5, 2) + Changes("a", 6, 7) + Changes("b", 6, 7, 2) +
                               Said({"in_sync a 1/7", "in_sync b 2/7", "in_sync"}));
}

TEST(WatchSession, HistoryThatGoesWhileItIsReadGivesWayToASnapshot) {
  TestDirectory directory({.history_max = 5});
  directory.Make("r", {"n1"});
  directory.ChangeUpTo("r", "n1", 10);
  directory.Reopen();
  WatchReader reader(directory, Named({"r"}), {{"r", {.version = {1, 5}}}});
  for (const std::string& change : Changes("r", 6, 8)) EXPECT_EQ(reader.Next(), change);
  directory.Reopen();  // nothing in memory
  directory.ChangeUpTo("r", "n1", 14);
  directory.Reopen();
  WatchReader late(directory, Named({"r"}), {{"r", {.version = {1, 8}}}});
  EXPECT_THAT(late.Rest(), ElementsAre("snapshot r 1/14 #0 n1", "in_sync r 1/14", "in_sync"));
}

TEST(WatchSession, HistoryThatIsNotWhatWasAskedForGivesWayToASnapshot) {
  TestDirectory directory;
  directory.Make("r", {"n1"});
  directory.ChangeUpTo("r", "n1", 10);
  directory.Reopen();
  const auto kept = *directory.store().ReadChanges("r", 1, 1, 100, SIZE_MAX);
  std::vector<ChangeRecord> of_another_epoch(kept.begin() + 5, kept.end());
  of_another_epoch[0].version.epoch = 9;
  for (const auto& wrong : {std::vector<ChangeRecord>{}, kept, {kept.begin() + 6, kept.end()}, of_another_epoch}) {
    WatchReader reader(directory, Named({"r"}), {{"r", {.version = {1, 5}}}});
    const Next next = reader.session().Advance();
    ASSERT_TRUE(std::holds_alternative<HistoryNeeded>(next));
    EXPECT_EQ(std::get<HistoryNeeded>(next).ring, "r");
    EXPECT_EQ(std::get<HistoryNeeded>(next).epoch, 1u);
    EXPECT_EQ(std::get<HistoryNeeded>(next).first, 6u);
    reader.session().ProvideHistory("r", wrong);
    EXPECT_THAT(reader.Rest(), ElementsAre("snapshot r 1/10 #0 n1", "in_sync r 1/10", "in_sync"));
  }
}

TEST(WatchSession, ARingThatIsMadeAnewWhileItsHistoryIsReadComesByItsSnapshot) {
  TestDirectory directory;
  directory.Make("r", {"n1"});
  directory.ChangeUpTo("r", "n1", 5);
  directory.Reopen();
  const auto history = *directory.store().ReadChanges("r", 1, 3, 100, SIZE_MAX);
  WatchReader reader(directory, Named({"r"}), {{"r", {.version = {1, 2}}}});
  ASSERT_TRUE(std::holds_alternative<HistoryNeeded>(reader.session().Advance()));
  reader.Do(Forced(Delete("r")));
  reader.Do(Create("r"));
  reader.session().ProvideHistory("r", history);
  EXPECT_THAT(reader.Rest(), ElementsAre("snapshot r 2/1 #0", "in_sync r 2/1", "in_sync"));
}

// The store may have made durable what is not published yet.
TEST(WatchSession, HistoryBeyondThePublishedHeadIsNotSaidBeforeItIsPublished) {
  TestDirectory directory;
  directory.Make("r", {"n1"});
  directory.ChangeUpTo("r", "n1", 4);
  auto changes = *directory.store().ReadChanges("r", 1, 3, 100, SIZE_MAX);
  changes.push_back(changes.back());
  changes.back().version.revision = 5;
  directory.Reopen();
  WatchReader reader(directory, Named({"r"}), {{"r", {.version = {1, 2}}}});
  ASSERT_TRUE(std::holds_alternative<HistoryNeeded>(reader.session().Advance()));
  reader.session().ProvideHistory("r", changes);
  EXPECT_EQ(reader.Rest(), Changes("r", 3, 4) + Said({"in_sync r 1/4", "in_sync"}));
}

// --- Rings that are not there.

TEST(WatchSession, AnAbsentRingIsWaitedFor) {
  TestDirectory directory;
  WatchReader reader(directory, Named({"r"}));
  EXPECT_THAT(reader.Rest(), ElementsAre("absent r", "in_sync"));
  reader.Do(Create("r"));
  EXPECT_THAT(reader.Rest(), ElementsAre("snapshot r 1/1 #0", "in_sync r 1/1"));
  reader.Do(Add("r", "n1"));
  EXPECT_THAT(reader.Rest(), ElementsAre("change r 1/2 +n1"));
}

TEST(WatchSession, ARingHeldThatHasGoneIsAbsent) {
  TestDirectory directory;
  WatchReader reader(directory, Named({"r"}), {{"r", {.version = {1, 5}, .checksum = 7}}});
  EXPECT_THAT(reader.Rest(), ElementsAre("absent r", "in_sync"));
  WatchReader pattern(directory, Prefix(""), {{"r", {.version = {1, 5}}}});
  EXPECT_THAT(pattern.Rest(), ElementsAre("absent r", "in_sync"));
}

TEST(WatchSession, ADeletedRingIsWaitedFor) {
  TestDirectory directory;
  directory.Make("r", {"n1"});
  WatchReader reader(directory, Named({"r"}));
  reader.Rest();
  reader.Do(Forced(Delete("r")));
  EXPECT_THAT(reader.Rest(), ElementsAre("deleted r 1/2"));
  reader.session().Touch("r");
  EXPECT_THAT(reader.Rest(), IsEmpty());
  reader.Do(Create("r"));
  EXPECT_THAT(reader.Rest(), ElementsAre("snapshot r 2/1 #0", "in_sync r 2/1"));
}

// B100 (stratosnet/sds#691): a ring made anew between two looks is told as two.
TEST(WatchSession, ARingThatWasMadeAnewIsDeletedThenASnapshot) {
  TestDirectory directory;
  directory.Make("r", {"n1"});
  WatchReader reader(directory, Named({"r"}));
  reader.Rest();
  reader.Do(Add("r", "n2"));
  reader.Do(Forced(Delete("r")));
  reader.Do(Create("r"));
  reader.Do(Add("r", "n3"));
  EXPECT_THAT(reader.Rest(), ElementsAre("deleted r 1/2", "snapshot r 2/2 #0 n3", "in_sync r 2/2"));
}

TEST(WatchSession, ADeletionBeforeAnythingWasSaidIsAbsence) {
  TestDirectory directory;
  directory.Make("r", {"n1"});
  WatchReader named(directory, Named({"r"}));
  WatchReader pattern(directory, Prefix("r"));
  named.Do(Forced(Delete("r")));
  EXPECT_THAT(named.Rest(), ElementsAre("absent r", "in_sync"));
  EXPECT_THAT(pattern.Rest(), ElementsAre("in_sync")) << "of a pattern nobody asked for this ring";
}

TEST(WatchSession, AHeldRingThatIsDeletedBeforeItsPositionWasLookedAtIsAbsent) {
  TestDirectory directory;
  directory.Make("r", {"n1"});
  WatchReader reader(directory, Named({"r"}), {{"r", {.version = {1, 2}}}});
  reader.Do(Forced(Delete("r")));
  EXPECT_THAT(reader.Rest(), ElementsAre("absent r", "in_sync"));
}

// --- Slow readers and large changes.

TEST(WatchSession, ALiveReaderThatFallsOutOfTheWindowGetsASnapshot) {
  TestDirectory directory;
  directory.Make("r", {"n1"});
  WatchReader reader(directory, Named({"r"}));
  reader.Rest();
  directory.ChangeUpTo("r", "n1", 2 + ChangeLog::kMaxChanges);
  reader.session().Touch("r");
  EXPECT_EQ(reader.Next(), "change r 1/3 =n1") << "just in the window";
  directory.ChangeUpTo("r", "n1", 4 + ChangeLog::kMaxChanges);
  EXPECT_THAT(reader.Rest(), ElementsAre("snapshot r 1/1028 #0 n1", "in_sync r 1/1028"));
  EXPECT_EQ(reader.history_reads(), 0) << "a live reader costs no disk";
  reader.Do(Add("r", "n2"));
  EXPECT_THAT(reader.Rest(), ElementsAre("change r 1/1029 +n2"));
}

TEST(WatchSession, AReaderThatFallsOutOfTheWindowBeforeItWasInSyncIsFedFromTheHistory) {
  TestDirectory directory;
  directory.Make("r", {"n1"});
  WatchReader reader(directory, Named({"r"}));
  EXPECT_EQ(reader.Next(), "snapshot r 1/2 #0 n1");
  directory.ChangeUpTo("r", "n1", 4 + ChangeLog::kMaxChanges);
  EXPECT_EQ(reader.Rest(), Changes("r", 3, 4 + ChangeLog::kMaxChanges) + Said({"in_sync r 1/1028", "in_sync"}));
  EXPECT_GT(reader.history_reads(), 0);
}

TEST(WatchSession, AChangeTooLargeForAMessageComesAsASnapshot) {
  TestDirectory directory;
  directory.Make("r", {"n1"});
  WatchReader live(directory, Named({"r"}));
  live.Rest();
  std::vector<ring::Operation> operations;
  for (size_t i = 0; i * 1'000 < WatchSession::kMaxChangeBytes; ++i) {
    ring::AddNode add = AddOp(fmt::format("x{:06}", i));
    add.node.metadata["padding"] = std::string(1'000, 'x');
    operations.push_back(add);
  }
  live.Do(Change("r", operations));
  directory.Do(Add("r", "n2"));
  WatchReader late(directory, Named({"r"}), {{"r", {.version = {1, 2}}}});
  for (WatchReader* reader : {&live, &late}) {
    const std::vector<std::string> said = reader->Rest();
    EXPECT_THAT(said, Each(Not(StartsWith("change"))));
    EXPECT_THAT(said.front(), StartsWith("snapshot r 1/4 #0"));
    EXPECT_THAT(said, ::testing::Contains("in_sync r 1/4"));
  }
}

// --- Selectors of many rings.

TEST(WatchSession, SlotsComeWithTheSnapshotAndMoveWithChanges) {
  TestDirectory directory;
  directory.Do(CreateSlots("r", 2));
  directory.Do(Add("r", "n1"));
  WatchReader reader(directory, {.names = {"r"}});
  EXPECT_THAT(reader.Rest(), ElementsAre("snapshot r 1/2 #0 n1 2048 places", "in_sync r 1/2", "in_sync"));
  reader.Do(Change("r", {AddOp("n2", 0)}));
  EXPECT_THAT(reader.Rest(), ElementsAre("change r 1/3 +n2")) << "no slot has another owner";
  reader.Do(Forced(Change("r", {RemoveOp("n1")})));
  EXPECT_THAT(reader.Rest(), ElementsAre("change r 1/4 -n1 1 runs"));
}

TEST(WatchSession, ManySlotsComeInChunksOfBoundedSize) {
  TestDirectory directory;
  directory.Do(CreateSlots("r", 1, 18));
  directory.Do(Add("r", "n1"));
  WatchReader reader(directory, {.names = {"r"}});
  // 262,144 places of two bytes, and 64 and some bytes of the node.
  EXPECT_THAT(reader.Rest(),
              ElementsAre("snapshot r 1/2 #0 n1 131038 places ...", "snapshot r 1/2 #1 131072 places ...",
                          "snapshot r 1/2 #2 34 places", "in_sync r 1/2", "in_sync"));
}

TEST(WatchSession, TooManyMovesForAMessageComeAsASnapshot) {
  TestDirectory directory;
  directory.Do(CreateSlots("r", 1, 16));
  directory.Do(Add("r", "n1"));
  WatchReader reader(directory, {.names = {"r"}});
  reader.Rest();
  reader.Do(Add("r", "n2"));
  EXPECT_THAT(reader.Rest(), ElementsAre("change r 1/3 +n2 32768 runs")) << "16 bytes each are half a MiB";
  reader.Do(Add("r", std::string(255, 'n')));
  EXPECT_EQ(reader.Next().substr(0, 17), "snapshot r 1/4 #0") << "21,845 times 255 bytes";
}

TEST(WatchSession, APatternFollowsRingsAsTheyComeAndGo) {
  TestDirectory directory;
  directory.Make("a1");
  directory.Make("b1");
  WatchReader reader(directory, Prefix("a"));
  EXPECT_THAT(reader.Rest(), ElementsAre("snapshot a1 1/1 #0", "in_sync a1 1/1", "in_sync"));
  reader.Do(Create("a2"));
  reader.Do(Create("b2"));
  EXPECT_THAT(reader.Rest(), ElementsAre("snapshot a2 3/1 #0", "in_sync a2 3/1"));
  reader.Do(Delete("a1"));
  EXPECT_THAT(reader.Rest(), ElementsAre("deleted a1 1/1"));
  reader.session().Touch("a1");
  EXPECT_THAT(reader.Rest(), IsEmpty()) << "forgotten";
  reader.Do(Create("a1"));
  EXPECT_THAT(reader.Rest(), ElementsAre("snapshot a1 5/1 #0", "in_sync a1 5/1"));
}

TEST(WatchSession, AllRingsAreThoseOfTheEmptyPrefix) {
  TestDirectory directory;
  directory.Make("a");
  directory.Make("b");
  WatchReader reader(directory, Prefix(""), {{"b", {.version = {2, 1}}}});
  const std::vector<std::string> said = reader.Rest();
  EXPECT_THAT(said, ::testing::UnorderedElementsAre("snapshot a 1/1 #0", "in_sync a 1/1", "in_sync b 2/1", "in_sync"));
  EXPECT_EQ(said.back(), "in_sync");
}

TEST(WatchSession, ANewRingOfAPatternDoesNotHoldUpTheInSyncOfTheStream) {
  TestDirectory directory;
  directory.Make("a1");
  WatchReader reader(directory, Prefix("a"));
  reader.Do(Create("a2"));
  reader.Do(Delete("a2"));
  EXPECT_THAT(reader.Rest(), ElementsAre("snapshot a1 1/1 #0", "in_sync a1 1/1", "in_sync"));
}

TEST(WatchSession, RingsTakeTurns) {
  TestDirectory directory;
  directory.Make("busy", {"n1"});
  directory.Make("quiet", {"n1"});
  WatchReader reader(directory, Named({"busy", "quiet"}));
  reader.Rest();
  directory.ChangeUpTo("busy", "n1", 100);
  reader.session().Touch("busy");
  EXPECT_EQ(reader.Next(), "change busy 1/3 =n1");
  reader.Do(Add("quiet", "n2"));
  EXPECT_EQ(reader.Next(), "change busy 1/4 =n1");
  EXPECT_EQ(reader.Next(), "change quiet 2/3 +n2");
  // A ring that is changed without end does not keep the other waiting.
  for (int i = 0; i < 10; ++i) reader.Do(Forced(Change("busy", {WeightOp("n1", 10 + i)})));
  reader.Do(Add("quiet", "n3"));
  EXPECT_EQ(reader.Next(), "change busy 1/5 =n1");
  EXPECT_EQ(reader.Next(), "change quiet 2/4 +n3");
}

// B77 (etcd-io/etcd#4191): many rings, each from an early position, then live.
TEST(WatchSession, ManyRingsThatStartBehindAllCatchUp) {
  TestDirectory directory;
  Held held;
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i) {
    names.push_back(fmt::format("ring-{:02}", i));
    directory.Make(names.back(), {"n1"});
    held[names.back()] = {.version = directory.State(names.back())->head.version};
  }
  for (const std::string& name : names) directory.ChangeUpTo(name, "n1", 52);
  directory.Reopen();
  for (const RingSelector& selector : {Named(names), Prefix("ring-"), Prefix("")}) {
    WatchReader reader(directory, selector, held);
    std::map<std::string, std::vector<std::string>> by_ring;
    const std::vector<std::string> said = reader.Rest();
    EXPECT_EQ(said.back(), "in_sync");
    for (const std::string& text : said) {
      for (const std::string& name : names) {
        if (text.find(name) != std::string::npos) by_ring[name].push_back(text);
      }
    }
    uint64_t epoch = 0;
    for (const std::string& name : names) {
      ++epoch;
      EXPECT_EQ(by_ring[name], Changes(name, 3, 52, epoch) + Said({fmt::format("in_sync {} {}/52", name, epoch)}));
    }
    for (const std::string& name : names) EXPECT_TRUE(reader.session().Touch(name));
    EXPECT_THAT(reader.Rest(), IsEmpty()) << "none twice";
  }
}

// --- Reconnecting.

TEST(WatchSession, AReaderIsToldToReconnectBeforeAllElse) {
  TestDirectory directory;
  directory.Make("a", {"n1"});
  WatchReader reader(directory, Prefix(""));
  reader.session().ReconnectDue(std::chrono::seconds(30));
  reader.session().HeartbeatDue();
  EXPECT_THAT(reader.Rest(),
              ElementsAre("reconnect 30", "snapshot a 1/2 #0 n1", "in_sync a 1/2", "in_sync", "heartbeat a 1/2"));
  reader.session().ReconnectDue(std::chrono::seconds(30));
  EXPECT_THAT(reader.Rest(), ElementsAre("reconnect 30")) << "that is all there is to say";
}

// --- Heartbeats.

// B69 (etcd-io/etcd#15220): a heartbeat never overtakes what was published before it.
TEST(WatchSession, AHeartbeatComesAfterEverythingAndNamesWhatMovedOnce) {
  TestDirectory directory;
  directory.Make("a", {"n1"});
  directory.Make("b", {"n1"});
  directory.Make("c", {"n1"});
  WatchReader reader(directory, Prefix(""), {{"c", {.version = {3, 2}}}});
  reader.session().HeartbeatDue();
  const std::vector<std::string> first = reader.Rest();
  EXPECT_THAT(first, SizeIs(7));
  EXPECT_EQ(first.back(), "heartbeat a 1/2 b 2/2") << "of c nothing was sent but in_sync";

  directory.ChangeUpTo("a", "n1", 5);
  reader.session().Touch("a");
  EXPECT_EQ(reader.Next(), "change a 1/3 =n1");
  reader.session().HeartbeatDue();
  reader.session().HeartbeatDue();
  EXPECT_EQ(reader.Next(), "change a 1/4 =n1");
  reader.Do(Add("b", "n2"));
  EXPECT_EQ(reader.Rest().back(), "heartbeat a 1/5 b 2/3");
  EXPECT_THAT(reader.Rest(), IsEmpty()) << "one heartbeat, however often it became due";
  reader.session().HeartbeatDue();
  EXPECT_THAT(reader.Rest(), ElementsAre("heartbeat"));
}

// The hub may learn that a heartbeat is due before it brings what was published just before.
TEST(WatchSession, AHeartbeatComesAfterWhatIsPublishedAndNotYetTold) {
  TestDirectory directory;
  directory.Make("a", {"n1"});
  WatchReader reader(directory, Prefix(""));
  reader.Rest();
  directory.ChangeUpTo("a", "n1", 3);
  directory.Make("b", {"n1"});
  reader.session().HeartbeatDue();
  EXPECT_THAT(reader.Rest(),
              ElementsAre("snapshot b 2/2 #0 n1", "change a 1/3 =n1", "in_sync b 2/2", "heartbeat a 1/3 b 2/2"));
}

TEST(WatchSession, AHeartbeatDoesNotNameWhatHasGone) {
  TestDirectory directory;
  directory.Make("r");
  WatchReader reader(directory, Named({"r"}));
  reader.Rest();
  reader.Do(Delete("r"));
  reader.session().HeartbeatDue();
  EXPECT_THAT(reader.Rest(), ElementsAre("deleted r 1/1", "heartbeat"));
}

TEST(WatchSession, AHeartbeatWaitsForTheEndOfASnapshot) {
  TestDirectory directory;
  MakeLarge(directory, "r", 300);
  WatchReader reader(directory, Named({"r"}));
  EXPECT_THAT(reader.Next(), HasSubstr("..."));
  reader.session().HeartbeatDue();
  EXPECT_THAT(reader.Next(), StartsWith("snapshot r 1/2 #1"));
  EXPECT_THAT(reader.Rest(), ElementsAre("in_sync r 1/2", "in_sync", "heartbeat r 1/2"));
}

// --- What was delivered.

// "r 1/2", or "r" where nothing was said.
std::vector<std::string> Rings(const WatchSession& session, const std::string& from = "", size_t max = 100) {
  std::vector<std::string> texts;
  session.EachRing(from, [&](const std::string& ring, std::optional<ring::Version> sent) {
    texts.push_back(sent.has_value() ? ring + " " + ToString(*sent) : ring);
    return texts.size() < max;
  });
  return texts;
}

TEST(WatchSession, TellsEachRingWithTheVersionThatItSaidLast) {
  TestDirectory directory;
  directory.Make("b");
  MakeLarge(directory, "c", 300);
  directory.Make("d", {"n1"});
  WatchReader reader(directory, Named({"a", "b", "c", "d"}), Held{{"d", {.version = {3, 1}}}});
  EXPECT_THAT(Rings(reader.session()), ElementsAre("a", "b", "c", "d")) << "nothing is said, whatever is held";
  reader.Rest();
  EXPECT_THAT(Rings(reader.session()), ElementsAre("a", "b 1/1", "c 2/2", "d 3/2"));
  EXPECT_THAT(Rings(reader.session(), "b", 2), ElementsAre("b 1/1", "c 2/2"));
  EXPECT_THAT(Rings(reader.session(), "bb"), ElementsAre("c 2/2", "d 3/2"));
  reader.Do(Add("b", "n1"));
  EXPECT_THAT(Rings(reader.session())[1], "b 1/1") << "published, not said";
  reader.Rest();
  EXPECT_THAT(Rings(reader.session())[1], "b 1/2");
  reader.Do(Forced(Delete("b")));
  reader.Rest();
  EXPECT_THAT(Rings(reader.session())[1], "b");
}

TEST(WatchSession, ASnapshotIsSaidWithItsLastChunk) {
  TestDirectory directory;
  MakeLarge(directory, "r", 300);
  WatchReader reader(directory, Named({"r"}));
  EXPECT_THAT(reader.Next(), HasSubstr("..."));
  EXPECT_THAT(Rings(reader.session()), ElementsAre("r"));
  reader.Rest();
  EXPECT_THAT(Rings(reader.session()), ElementsAre("r 1/2"));
}

}  // namespace
}  // namespace ringd::server
