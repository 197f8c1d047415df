// The policy of a local copy, line by line as client/local/watch_machine.h has it.
#include "client/local/watch_machine.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "proto/retry_after.h"

namespace ringd {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using State = WatchMachine::State;

constexpr uint64_t kEpoch = 7;

ring::Node NodeOf(const std::string& id, uint32_t weight = 100) { return {.id = id, .weight = weight, .hash_key = id}; }

ring::Ring RingOf(std::vector<ring::Node> nodes) { return *ring::Ring::Create({}, std::move(nodes)); }

// What the directory would say of a ring with these nodes.
SnapshotChunk Snapshot(uint64_t revision, const std::vector<ring::Node>& nodes) {
  return {.version = {kEpoch, revision},
          .checksum = RingOf(nodes).checksum(),
          .settings = ring::Settings{},
          .nodes = nodes,
          .last = true};
}

// The change to revision `to`, which adds a node to `before`.
RingChange Adding(uint64_t to, const std::string& id, const std::vector<ring::Node>& before) {
  std::vector<ring::Node> after = before;
  after.push_back(NodeOf(id));
  return {.from_revision = to - 1,
          .version = {kEpoch, to},
          .checksum = RingOf(after).checksum(),
          .operations = std::vector<ring::Operation>{ring::AddNode{.node = NodeOf(id)}}};
}

// What an event made of the streams that are to be open.
struct Actions {
  bool close = false;
  bool open = false;
};

// A machine whose followed stream is the one that says everything.
class OneStream : public WatchMachine {
 public:
  using WatchMachine::WatchMachine;

  Actions Received(StreamEvent event, Clock::time_point now) {
    return Do([&] { WatchMachine::Received(wanted().front(), std::move(event), now); });
  }
  Actions Ended(const absl::Status& status, Clock::time_point now) {
    return Do([&] { WatchMachine::Ended(wanted().front(), status, now); });
  }
  Actions Woken(Clock::time_point now) {
    return Do([&] { WatchMachine::Woken(now); });
  }

 private:
  template <class Event>
  Actions Do(Event event) {
    const std::vector<StreamId> before = wanted();
    event();
    const auto gone = [this](StreamId id) { return !Wants(id); };
    const auto last = before.empty() ? 0 : before.back();
    return {.close = std::any_of(before.begin(), before.end(), gone),
            .open = !wanted().empty() && wanted().back() > last};
  }
};

class WatchMachineTest : public testing::Test {
 protected:
  Actions Say(StreamEvent event) { return machine_.Received(std::move(event), now_); }
  void Pass(milliseconds time) { now_ += time; }
  void Lose() { machine_.Ended(absl::UnavailableError("gone"), now_); }
  // Passes the time until the machine wants to be woken, wakes it, and returns how long that was.
  milliseconds PassUntilWoken(Actions* actions) {
    const auto pause = std::chrono::duration_cast<milliseconds>(machine_.wake_at() - now_);
    now_ = machine_.wake_at();
    *actions = machine_.Woken(now_);
    return pause;
  }
  void Open() { EXPECT_TRUE(machine_.Woken(now_).open); }
  // Opens a stream that brings revision 5 with n1 and n2, and is in sync.
  void Sync() {
    Open();
    Say(Snapshot(5, two_));
    Say(RingInSync{});
    ASSERT_EQ(machine_.state(), State::kInSync);
  }
  uint64_t revision() const { return machine_.held() == nullptr ? 0 : machine_.held()->version.revision; }

  const std::vector<ring::Node> two_{NodeOf("n1"), NodeOf("n2")};
  const std::vector<ring::Node> three_{NodeOf("n1"), NodeOf("n2"), NodeOf("n3")};
  double random_ = 0;
  WatchMachine::Clock::time_point now_{std::chrono::hours(1)};
  OneStream machine_{{}, [this] { return random_; }, now_};
};

TEST_F(WatchMachineTest, OpensAtOnceWithNothingHeld) {
  EXPECT_EQ(machine_.wake_at(), now_);
  EXPECT_EQ(machine_.state(), State::kConnecting);
  EXPECT_TRUE(machine_.Woken(now_).open);
  EXPECT_EQ(machine_.position(), nullptr);
}

TEST_F(WatchMachineTest, InstallsASnapshotWhenItsLastChunkHasCome) {
  Open();
  SnapshotChunk first = Snapshot(5, two_);
  SnapshotChunk second = first;
  first.nodes.pop_back();
  first.last = false;
  second.nodes.erase(second.nodes.begin());
  second.number = 1;
  Say(first);
  EXPECT_EQ(machine_.held(), nullptr);
  Say(second);
  EXPECT_EQ(revision(), 5u);
  EXPECT_EQ(machine_.held()->ring.checksum(), RingOf(two_).checksum());
  EXPECT_EQ(machine_.state(), State::kResyncing);
  Say(RingInSync{});
  EXPECT_EQ(machine_.state(), State::kInSync);
  EXPECT_EQ(machine_.counts().snapshots, 1u);
}

TEST_F(WatchMachineTest, AppliesAChangeToTheRevisionHeld) {
  Sync();
  Say(Adding(6, "n3", two_));
  EXPECT_EQ(revision(), 6u);
  EXPECT_EQ(machine_.held()->ring.checksum(), RingOf(three_).checksum());
  EXPECT_EQ(machine_.state(), State::kInSync);
  EXPECT_EQ(machine_.counts().changes, 1u);
}

TEST_F(WatchMachineTest, AppliesAChangeOfTheDefaultWeight) {
  Sync();
  RingChange change{.from_revision = 5,
                    .version = {kEpoch, 6},
                    .checksum = RingOf(two_).WithDefaultWeight(7).checksum(),
                    .operations = std::vector<ring::Operation>(),
                    .default_weight = 7};
  EXPECT_FALSE(Say(change).close);
  EXPECT_EQ(revision(), 6u);
  EXPECT_EQ(machine_.held()->ring.settings().default_weight, 7u);
  EXPECT_EQ(machine_.held()->ring.table()->nodes.size(), 2u);
}

// The directory's table comes by its history; a copy that levelled one of its own would have another.
TEST_F(WatchMachineTest, FollowsTheSlotsOfTheDirectory) {
  const ring::Settings slots{.placement = ring::SlotsSettings{.slot_bits = 10, .owners = 2, .hash_tag = ""}};
  ring::Ring ring = *ring::Ring::Create(slots, {});
  const auto change = [&ring](const ring::Operation& operation) {
    ring::Applied applied = *ring.Apply(std::vector<ring::Operation>{operation});
    ring = applied.ring;
    return applied;
  };
  for (const char* id : {"n3", "n1", "n2"}) change(ring::AddNode{.node = NodeOf(id)});
  std::vector<ring::Node> nodes;
  for (size_t i = 0; i < ring.node_count(); ++i) nodes.push_back(ring.node(i));
  SnapshotChunk first{.version = {kEpoch, 5}, .checksum = ring.checksum(), .settings = slots, .nodes = nodes};
  first.slot_places.assign(ring.slots()->places().begin(), ring.slots()->places().begin() + 1'000);
  SnapshotChunk second{.version = {kEpoch, 5}, .checksum = ring.checksum(), .settings = slots};
  second.slot_places.assign(ring.slots()->places().begin() + 1'000, ring.slots()->places().end());
  second.number = 1;
  second.last = true;
  Open();
  Say(first);
  Say(second);
  Say(RingInSync{});
  ASSERT_EQ(machine_.state(), State::kInSync);
  EXPECT_EQ(*machine_.held()->ring.slots(), *ring.slots());

  const ring::RemoveNode remove{.id = "n1"};
  const ring::Applied applied = change(remove);
  Say(RingChange{.from_revision = 5,
                 .version = {kEpoch, 6},
                 .checksum = ring.checksum(),
                 .operations = std::vector<ring::Operation>{remove},
                 .slot_moves = applied.moves});
  EXPECT_EQ(machine_.state(), State::kInSync);
  EXPECT_EQ(revision(), 6u);
  EXPECT_EQ(*machine_.held()->ring.slots(), *ring.slots());
  EXPECT_TRUE(Say(RingChange{.from_revision = 6,
                             .version = {kEpoch, 7},
                             .checksum = ring.checksum(),
                             .operations = std::vector<ring::Operation>{ring::RemoveNode{.id = "n2"}}})
                  .open)
      << "a node that goes without its slots is not believed";
}

TEST_F(WatchMachineTest, PassesOverAChangeThatItHolds) {
  Sync();
  Say(Adding(5, "n3", two_));
  EXPECT_EQ(revision(), 5u);
  EXPECT_EQ(machine_.counts().broken_order, 0u);
}

TEST_F(WatchMachineTest, AGapEndsTheStreamAndTheNextBeginsFromWhatIsHeld) {
  Sync();
  EXPECT_TRUE(Say(Adding(7, "n3", two_)).close);
  EXPECT_EQ(revision(), 5u);
  EXPECT_EQ(machine_.counts().broken_order, 1u);
  Actions actions;
  PassUntilWoken(&actions);
  EXPECT_TRUE(actions.open);
  EXPECT_EQ(machine_.position(), machine_.held());
}

TEST_F(WatchMachineTest, AChangeThatLeadsFurtherThanTheNextRevisionIsAGap) {
  Sync();
  RingChange change = Adding(6, "n3", two_);
  change.version.revision = 8;
  EXPECT_TRUE(Say(change).close);
  EXPECT_EQ(revision(), 5u);
}

TEST_F(WatchMachineTest, AChunkOutOfPlaceEndsTheStream) {
  Open();
  SnapshotChunk chunk = Snapshot(5, two_);
  chunk.number = 1;
  EXPECT_TRUE(Say(chunk).close);
  EXPECT_EQ(machine_.held(), nullptr);
}

TEST_F(WatchMachineTest, AChangeWithoutASnapshotEndsTheStream) {
  Open();
  EXPECT_TRUE(Say(Adding(6, "n3", two_)).close);
}

TEST_F(WatchMachineTest, NeverGoesBack) {
  Sync();
  Say(Snapshot(4, three_));
  EXPECT_EQ(revision(), 5u);
  SnapshotChunk older_epoch = Snapshot(9, three_);
  older_epoch.version.epoch = kEpoch - 1;
  Say(older_epoch);
  EXPECT_EQ(revision(), 5u);
  EXPECT_EQ(machine_.held()->ring.checksum(), RingOf(two_).checksum());
}

// B68: the one exception.
TEST_F(WatchMachineTest, GoesBackWhereTheDirectoryTellsThatItsStoreDid) {
  Sync();
  SnapshotChunk rewound = Snapshot(4, three_);
  rewound.rewound = true;
  Say(rewound);
  EXPECT_EQ(revision(), 4u);
  EXPECT_EQ(machine_.counts().rewound, 1u);
}

TEST_F(WatchMachineTest, AskOnceForAFreshSnapshotWhereTheChecksumDiffers) {
  Sync();
  RingChange wrong = Adding(6, "n3", two_);
  wrong.checksum = 1;
  const Actions actions = Say(wrong);
  EXPECT_TRUE(actions.close);
  EXPECT_TRUE(actions.open);
  EXPECT_EQ(machine_.position(), nullptr);
  EXPECT_EQ(revision(), 5u) << "what is held still answers";
  Say(Snapshot(6, three_));
  EXPECT_EQ(revision(), 6u);
  EXPECT_EQ(machine_.position(), machine_.held());
  EXPECT_EQ(machine_.counts().checksum_mismatches, 1u);
}

TEST_F(WatchMachineTest, EachMistakeHasItsFreshSnapshot) {
  Sync();
  RingChange wrong = Adding(6, "n3", two_);
  wrong.checksum = 1;
  Say(wrong);
  Say(Snapshot(6, three_));
  wrong = Adding(7, "n4", three_);
  wrong.checksum = 1;
  EXPECT_TRUE(Say(wrong).open);
  EXPECT_EQ(revision(), 6u) << "not given up yet";

  Say(RingGone{});
  SnapshotChunk differs = Snapshot(1, two_);
  differs.checksum = 1;
  EXPECT_TRUE(Say(differs).open) << "of a ring that is made anew";
  EXPECT_NE(machine_.state(), State::kDistrusted);
}

TEST_F(WatchMachineTest, CountsNoSnapshotThatIsNotInstalled) {
  Sync();
  SnapshotChunk wrong = Snapshot(5, three_);
  wrong.checksum = 1;
  Say(wrong);
  EXPECT_EQ(machine_.counts().snapshots, 1u);
}

TEST_F(WatchMachineTest, GivesTheCopyUpWhereTheFreshSnapshotDiffersToo) {
  Sync();
  SnapshotChunk wrong = Snapshot(6, three_);
  wrong.checksum = 1;
  EXPECT_TRUE(Say(wrong).open);
  const Actions again = Say(wrong);
  EXPECT_FALSE(again.open);
  EXPECT_FALSE(again.close);
  EXPECT_EQ(machine_.state(), State::kDistrusted);
  EXPECT_EQ(machine_.held(), nullptr);
  EXPECT_EQ(machine_.counts().checksum_mismatches, 2u);
  // Until a later stream brings one that agrees.
  Say(RingInSync{});
  Say(Adding(7, "n4", three_));
  EXPECT_EQ(machine_.state(), State::kDistrusted);
  Lose();
  EXPECT_EQ(machine_.state(), State::kDistrusted);
  Actions actions;
  PassUntilWoken(&actions);
  EXPECT_TRUE(actions.open);
  EXPECT_EQ(machine_.position(), nullptr);
  Say(Snapshot(7, three_));
  Say(RingInSync{});
  EXPECT_EQ(machine_.state(), State::kInSync);
  EXPECT_EQ(revision(), 7u);
}

TEST_F(WatchMachineTest, DoesNotVerifyAChecksumOfAnAlgorithmThatItDoesNotKnow) {
  Open();
  SnapshotChunk chunk = Snapshot(5, two_);
  chunk.checksum.reset();
  Say(chunk);
  EXPECT_EQ(revision(), 5u);
}

TEST_F(WatchMachineTest, DoesNotGuessAtAPlacementThatItDoesNotKnow) {
  Open();
  SnapshotChunk chunk = Snapshot(5, two_);
  chunk.settings = absl::InvalidArgumentError("a preset");
  EXPECT_TRUE(Say(chunk).open);
  Say(chunk);
  EXPECT_EQ(machine_.state(), State::kDistrusted);
  EXPECT_EQ(machine_.problem().message(), "a preset");
}

// A few bytes of a directory that is out of its mind must not take the memory of every service.
TEST_F(WatchMachineTest, TakesNoMemoryForARingThatIsOverItsLimits) {
  OneStream machine(
      {.limits = {.max_nodes = 2, .max_points = 500}}, [this] { return random_; }, now_);
  const auto say = [&](StreamEvent event) { return machine.Received(std::move(event), now_); };
  machine.Woken(now_);
  EXPECT_TRUE(say(Snapshot(5, three_)).open) << "asks once more";
  SnapshotChunk first = Snapshot(5, three_);
  SnapshotChunk second = first;
  first.last = false;
  first.nodes.pop_back();
  second.number = 1;
  second.nodes = {three_[2]};
  say(first);
  say(second);
  EXPECT_EQ(machine.state(), State::kDistrusted);
  EXPECT_EQ(machine.problem().message(), "the ring has more than 2 nodes, which is more than a copy holds");
  say(Snapshot(6, {NodeOf("n1", 251)}));
  EXPECT_EQ(machine.problem().message(), "502 points are over the limit of 500");
  say(Snapshot(7, {NodeOf("n1", 250)}));
  EXPECT_EQ(machine.held()->version.revision, 7u);
}

TEST_F(WatchMachineTest, KeepsTheCopyThroughAnOutageAndResumesFromIt) {
  Sync();
  Lose();
  EXPECT_EQ(machine_.state(), State::kConnecting);
  EXPECT_EQ(revision(), 5u);
  for (int i = 0; i < 20; ++i) {
    Actions actions;
    PassUntilWoken(&actions);
    ASSERT_TRUE(actions.open);
    EXPECT_EQ(machine_.position(), machine_.held());
    Lose();
  }
  EXPECT_EQ(revision(), 5u);
  EXPECT_EQ(machine_.current_at(), WatchMachine::Clock::time_point(std::chrono::hours(1)));
}

// B76: copies that lost their streams together come back spread.
TEST_F(WatchMachineTest, ComesBackAfterARandomPartOfTheSpread) {
  for (const double random : {0.0, 0.5, 0.9}) {
    random_ = random;
    OneStream machine(
        {}, [this] { return random_; }, now_);
    machine.Woken(now_);
    machine.Received(Snapshot(5, two_), now_);
    machine.Ended(absl::UnavailableError("gone"), now_);
    EXPECT_EQ(machine.wake_at() - now_, milliseconds(static_cast<int>(5'000 * random)));
  }
}

// B76 (gravitational/teleport#6889): 300 copies whose directory is down for 10 s do not come back together: no second
// has more than 40 % of the attempts that there are in the 20 s after the loss.
TEST_F(WatchMachineTest, ManyCopiesThatLoseTheDirectoryComeBackSpread) {
  constexpr int kCopies = 300;
  std::map<int64_t, int> first_attempts;
  std::map<int64_t, int> arrivals;
  std::mt19937_64 engine(1);
  const auto down_until = now_ + seconds(10);
  for (int copy = 0; copy < kCopies; ++copy) {
    OneStream machine(
        {}, [&] { return std::uniform_real_distribution<double>(0, 1)(engine); }, now_);
    machine.Woken(now_);
    machine.Received(Snapshot(5, two_), now_);
    machine.Ended(absl::UnavailableError("gone"), now_);
    first_attempts[std::chrono::duration_cast<seconds>(machine.wake_at() - now_).count()]++;
    auto at = machine.wake_at();
    for (; at < down_until; at = machine.wake_at()) {
      EXPECT_TRUE(machine.Woken(at).open);
      machine.Ended(absl::UnavailableError("still gone"), at);
    }
    EXPECT_LT(at - down_until, seconds(10));
    arrivals[std::chrono::duration_cast<seconds>(at - down_until).count()]++;
  }
  for (const auto& [second, attempts] : first_attempts) EXPECT_LE(attempts, kCopies * 2 / 5) << second;
  for (const auto& [second, copies] : arrivals) EXPECT_LE(copies, kCopies * 2 / 5) << second;
}

TEST_F(WatchMachineTest, ComesBackWhenTheDirectorySays) {
  const auto pause = [&](bool in_sync, milliseconds told) {
    random_ = in_sync ? 0.5 : 0;
    OneStream machine(
        {}, [this] { return random_; }, now_);
    machine.Woken(now_);
    if (in_sync) machine.Received(Snapshot(5, two_), now_);
    machine.Ended(WithRetryAfter(absl::UnavailableError("draining"), told), now_);
    return machine.wake_at() - now_;
  };
  EXPECT_EQ(pause(true, milliseconds(0)), milliseconds(0));
  EXPECT_EQ(pause(true, milliseconds(1'234)), milliseconds(1'234));
  EXPECT_EQ(pause(true, std::chrono::hours(1)), seconds(30)) << "no longer than the longest pause";
  // Refused at once: not before the pause is over that a directory that cannot be reached gets.
  EXPECT_EQ(pause(false, milliseconds(0)), milliseconds(200));
  EXPECT_EQ(pause(false, milliseconds(4'000)), milliseconds(4'000));
}

TEST_F(WatchMachineTest, PausesGrowToALongestOneAndBeginAnewAfterAStableStream) {
  Actions actions;
  Open();
  std::vector<int64_t> pauses;
  for (int i = 0; i < 14; ++i) {
    Lose();
    pauses.push_back(PassUntilWoken(&actions).count());
  }
  EXPECT_EQ(pauses[0], 200);
  EXPECT_EQ(pauses[1], 320);
  EXPECT_EQ(pauses[2], 512);
  EXPECT_EQ(pauses[13], 30'000);
  // A stream that says something and ends at once does not begin anew: the first pause is the spread, then they go on.
  Say(Snapshot(5, two_));
  Say(RingInSync{});
  Pass(seconds(9));
  Lose();
  EXPECT_EQ(PassUntilWoken(&actions), milliseconds(0)) << "spread, of which the random part is 0";
  Lose();
  EXPECT_EQ(PassUntilWoken(&actions), milliseconds(30'000));
  Say(RingInSync{});
  Pass(seconds(10));
  Lose();
  PassUntilWoken(&actions);
  Lose();
  EXPECT_EQ(PassUntilWoken(&actions), milliseconds(200));
}

TEST_F(WatchMachineTest, AStreamThatIsSilentIsLost) {
  Sync();
  Pass(seconds(20));
  Say(SignOfLife{});
  EXPECT_EQ(machine_.current_at(), now_);
  Actions actions;
  EXPECT_EQ(PassUntilWoken(&actions), seconds(30));
  EXPECT_TRUE(actions.close);
  EXPECT_EQ(machine_.state(), State::kConnecting);
  EXPECT_EQ(revision(), 5u);
  PassUntilWoken(&actions);
  EXPECT_TRUE(actions.open);
}

TEST_F(WatchMachineTest, WokenTooEarlyItDoesNothing) {
  Sync();
  Pass(seconds(29));
  const Actions actions = machine_.Woken(now_);
  EXPECT_FALSE(actions.close || actions.open);
}

TEST_F(WatchMachineTest, TheCopyGoesWithTheRingAndComesBackWithIt) {
  Sync();
  Say(RingGone{});
  EXPECT_EQ(machine_.state(), State::kAbsent);
  EXPECT_EQ(machine_.held(), nullptr);
  SnapshotChunk anew = Snapshot(1, three_);
  anew.version.epoch = kEpoch + 1;
  Say(anew);
  Say(RingInSync{});
  EXPECT_EQ(machine_.state(), State::kInSync);
  EXPECT_EQ(machine_.held()->version, (ring::Version{kEpoch + 1, 1}));
}

// What a reader too slow for the window is sent; until in_sync the copy may be behind.
TEST_F(WatchMachineTest, ASnapshotInTheMiddleOfAStreamIsResyncing) {
  Sync();
  Say(Snapshot(9, three_));
  EXPECT_EQ(machine_.state(), State::kResyncing);
  EXPECT_EQ(revision(), 9u);
  Say(RingInSync{});
  EXPECT_EQ(machine_.state(), State::kInSync);
}

TEST_F(WatchMachineTest, AStreamThatTheDirectoryEndsWithOkIsLostToo) {
  Sync();
  machine_.Ended(absl::OkStatus(), now_);
  EXPECT_EQ(machine_.state(), State::kConnecting);
  EXPECT_EQ(machine_.problem().code(), absl::StatusCode::kUnavailable);
}

// --- Two streams

using Streams = std::vector<WatchMachine::StreamId>;

class TwoStreamsTest : public testing::Test {
 protected:
  static constexpr WatchMachine::Clock::time_point kStart{std::chrono::hours(1)};

  // One more event of a stream, from which no time passes.
  void Say(WatchMachine::StreamId id, StreamEvent event) { machine_.Received(id, std::move(event), now_); }
  void Lose(WatchMachine::StreamId id) { machine_.Ended(id, absl::UnavailableError("gone"), now_); }
  void Wake() {
    now_ = machine_.wake_at();
    machine_.Woken(now_);
  }
  // Stream 1 is in sync at revision 5 with two nodes.
  void Sync() {
    Wake();
    Say(1, Snapshot(5, two_));
    Say(1, RingInSync{});
    ASSERT_EQ(machine_.state(), State::kInSync);
  }
  uint64_t revision() const { return machine_.held() == nullptr ? 0 : machine_.held()->version.revision; }

  const std::vector<ring::Node> two_{NodeOf("n1"), NodeOf("n2")};
  const std::vector<ring::Node> three_{NodeOf("n1"), NodeOf("n2"), NodeOf("n3")};
  double random_ = 0;
  WatchMachine::Clock::time_point now_ = kStart;
  WatchMachine machine_{{.hedge_after = milliseconds(1'000)}, [this] { return random_; }, now_};
};

TEST_F(TwoStreamsTest, TheNewStreamStandsBeforeTheOldOneGoes) {
  Sync();
  Say(1, Reconnect{});
  EXPECT_EQ(machine_.wake_at(), now_);
  Wake();
  EXPECT_EQ(machine_.wanted(), (Streams{1, 2}));
  EXPECT_EQ(machine_.position(), machine_.held()) << "it goes on from what is held";
  Say(1, Reconnect{});
  Say(1, Adding(6, "n3", two_));
  EXPECT_EQ(machine_.state(), State::kInSync) << "the old one is listened to meanwhile";
  EXPECT_EQ(revision(), 6u);
  Say(2, Adding(6, "n3", two_));
  EXPECT_EQ(machine_.counts().changes, 1u) << "the new one tells the same";
  EXPECT_EQ(machine_.state(), State::kInSync);
  EXPECT_EQ(machine_.wanted(), (Streams{1, 2}));
  Say(2, RingInSync{});
  EXPECT_EQ(machine_.wanted(), Streams{2});
  EXPECT_EQ(machine_.state(), State::kInSync);
  EXPECT_EQ(machine_.wake_at(), now_ + seconds(30)) << "nothing is opened any more";
  Say(1, RingGone{});
  EXPECT_EQ(revision(), 6u) << "what the old one still says is passed over";
}

TEST_F(TwoStreamsTest, TheNewStreamMayTellAChangeFirst) {
  Sync();
  Say(1, Reconnect{});
  Wake();
  Say(2, Adding(6, "n3", two_));
  EXPECT_EQ(revision(), 6u);
  Say(1, Adding(6, "n3", two_));
  EXPECT_EQ(machine_.counts().changes, 1u);
  EXPECT_EQ(machine_.counts().broken_order, 0u);
}

// Until the new stream is in sync, it does not say how current the copy is.
TEST_F(TwoStreamsTest, TheCopyIsAsOldAsTheStreamThatIsFollowedSays) {
  Sync();
  Say(1, Reconnect{});
  Wake();
  now_ += seconds(5);
  Say(2, SignOfLife{});
  EXPECT_EQ(machine_.current_at(), kStart);
  Say(1, SignOfLife{});
  EXPECT_EQ(machine_.current_at(), now_);
}

TEST_F(TwoStreamsTest, SnapshotsOfTwoStreamsAreNotMixed) {
  Sync();
  Say(1, Reconnect{});
  Wake();
  SnapshotChunk first = Snapshot(7, three_);
  SnapshotChunk second = first;
  first.nodes.resize(1);
  first.last = false;
  second.nodes.erase(second.nodes.begin());
  second.number = 1;
  Say(1, first);
  Say(2, first);
  Say(1, second);
  EXPECT_EQ(revision(), 7u);
  Say(2, second);
  EXPECT_EQ(machine_.counts().broken_order, 0u);
  EXPECT_EQ(machine_.held()->ring.checksum(), RingOf(three_).checksum());
}

TEST_F(TwoStreamsTest, ANewStreamThatFailsIsTriedAgainWhileTheOldOneStands) {
  Sync();
  Say(1, Reconnect{});
  Wake();
  Lose(2);
  EXPECT_EQ(machine_.state(), State::kInSync);
  EXPECT_EQ(machine_.wanted(), Streams{1});
  EXPECT_EQ(machine_.wake_at(), now_ + milliseconds(200));
  Wake();
  EXPECT_EQ(machine_.wanted(), (Streams{1, 3}));
  Say(3, Adding(7, "n3", two_));
  EXPECT_EQ(machine_.counts().broken_order, 1u);
  EXPECT_EQ(machine_.wanted(), Streams{1}) << "the gap is its own";
  EXPECT_EQ(machine_.state(), State::kInSync);
}

TEST_F(TwoStreamsTest, AnOldStreamThatGoesFirstLeavesTheNewOneInItsPlace) {
  Sync();
  Say(1, Reconnect{});
  Wake();
  Lose(1);
  EXPECT_EQ(machine_.wanted(), Streams{2});
  EXPECT_EQ(machine_.state(), State::kResyncing);
  EXPECT_EQ(machine_.problem().message(), "gone");
  Say(2, RingInSync{});
  EXPECT_EQ(machine_.state(), State::kInSync);
  EXPECT_EQ(machine_.problem(), absl::OkStatus());
  EXPECT_EQ(machine_.wanted(), Streams{2});
}

TEST_F(TwoStreamsTest, ANewStreamThatIsToBeLeftTooGetsAnotherInItsPlace) {
  Sync();
  Say(1, Reconnect{});
  Wake();
  Say(2, Reconnect{});
  EXPECT_EQ(machine_.wake_at(), now_ + seconds(30)) << "two streams suffice until one of them goes";
  Say(2, RingInSync{});
  EXPECT_EQ(machine_.wanted(), Streams{2});
  EXPECT_EQ(machine_.wake_at(), now_);
  Wake();
  EXPECT_EQ(machine_.wanted(), (Streams{2, 3}));

  Say(3, Reconnect{});
  Lose(2);
  EXPECT_EQ(machine_.wake_at(), now_) << "nor is it forgotten where the old one is lost";
  Wake();
  EXPECT_EQ(machine_.wanted(), (Streams{3, 4}));
}

TEST_F(TwoStreamsTest, ARingThatIsGoneByTheNewStreamIsGone) {
  Sync();
  Say(1, Reconnect{});
  Wake();
  Say(2, RingGone{});
  EXPECT_EQ(machine_.state(), State::kAbsent);
  EXPECT_EQ(machine_.wanted(), Streams{2});
}

TEST_F(TwoStreamsTest, AMistakeEndsBoth) {
  Sync();
  Say(1, Reconnect{});
  Wake();
  SnapshotChunk wrong = Snapshot(6, three_);
  wrong.checksum = 1;
  Say(2, wrong);
  EXPECT_EQ(machine_.wanted(), Streams{3});
  EXPECT_EQ(machine_.position(), nullptr);
}

TEST_F(TwoStreamsTest, ASilentStreamGetsAnotherBesideItAndWhoSpeaksFirstStays) {
  Wake();
  EXPECT_EQ(machine_.wake_at(), kStart + seconds(1));
  Wake();
  EXPECT_EQ(machine_.wanted(), (Streams{1, 2}));
  EXPECT_EQ(machine_.wake_at(), kStart + seconds(30)) << "and no third";
  Say(2, Snapshot(5, two_));
  EXPECT_EQ(machine_.wanted(), Streams{2});
  Say(2, RingInSync{});
  EXPECT_EQ(machine_.state(), State::kInSync);
}

TEST_F(TwoStreamsTest, TheFirstOfTwoSilentStreamsMaySpeakFirst) {
  Wake();
  Wake();
  Say(1, SignOfLife{});
  EXPECT_EQ(machine_.wanted(), Streams{1});
  EXPECT_EQ(machine_.wake_at(), now_ + seconds(30));
}

TEST_F(TwoStreamsTest, AStreamThatSpeaksGetsNoOtherBesideIt) {
  Wake();
  now_ += milliseconds(900);
  Say(1, SignOfLife{});
  EXPECT_EQ(machine_.wake_at(), now_ + seconds(30));
}

TEST_F(TwoStreamsTest, WhenOneOfTwoSilentStreamsFailsTheOtherGoesOn) {
  Wake();
  Wake();
  Lose(1);
  EXPECT_EQ(machine_.wanted(), Streams{2});
  EXPECT_EQ(machine_.wake_at(), now_ + seconds(1)) << "which is silent too";
  Wake();
  EXPECT_EQ(machine_.wanted(), (Streams{2, 3}));
  Lose(3);
  EXPECT_EQ(machine_.wake_at(), now_ + milliseconds(200));
  Lose(2);
  EXPECT_EQ(machine_.state(), State::kConnecting);
  EXPECT_EQ(machine_.wake_at(), now_ + milliseconds(320));
}

}  // namespace
}  // namespace ringd
