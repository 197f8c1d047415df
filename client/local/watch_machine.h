// WatchMachine: what a local copy of one ring does with what happens to it. Pure: events in, and out comes which
// streams are to be open; the clock and randomness are arguments, and the driver (copy_driver.h) does the rest.
//
// The policy, each line of which has its test:
//   - A copy is installed when its snapshot is complete, or when a change applies to just the revision held. It never
//     goes back: what is older than the copy is passed over. The one exception is a snapshot marked `rewound`.
//   - Each installed copy has the checksum that the directory told. One that differs is not installed: a fresh snapshot
//     is asked for once, and if that differs too the copy is given up (kDistrusted) and lookups are calls, until a
//     later stream brings a snapshot that agrees. So it is with a placement that this build does not know, and with a
//     ring that is over `limits`: no directory shall take more of a service's memory than that.
//   - What breaks the order of a stream (a gap, a chunk out of place) ends that stream; the next one begins from what
//     is held.
//   - A lost stream is opened again after a random part of `spread`, or when the directory said, and then with growing
//     pauses, none shorter than it says; the pauses begin anew once a stream was in sync for `stable_after`. What it
//     says is believed up to the longest pause. A stream that is silent for `silence` is taken for lost.
//   - Where the directory asks to reconnect, a second stream is opened, and the first one goes when the second is in
//     sync, so that there is no moment without one. Until then both are listened to: they tell the same.
//   - A stream that says nothing for `hedge_after` gets a second one beside it; who says something first is followed,
//     and the other goes.
//   - The copy stays when the stream is lost, for as long as it takes. It goes when the directory says that the ring
//     has gone.
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/backoff.h"
#include "ring/ring.h"
#include "ring/slot_moves.h"
#include "ring/version.h"

namespace ringd {

// --- What a stream says of the ring, as values.

struct SnapshotChunk {
  ring::Version version;
  std::optional<uint64_t> checksum;         // absent = of an algorithm that this build does not know
  absl::StatusOr<ring::Settings> settings;  // an error where this build does not know the placement
  std::vector<ring::Node> nodes;
  std::vector<uint32_t> slot_places;  // of a ring of slots, as SlotTable has them
  uint32_t number = 0;
  bool last = false;
  bool rewound = false;
};
struct RingChange {
  uint64_t from_revision = 0;
  ring::Version version;
  std::optional<uint64_t> checksum;
  absl::StatusOr<std::vector<ring::Operation>> operations;  // an error where this build does not understand them
  ring::SlotMoves slot_moves;                               // of a ring of slots
  std::optional<uint32_t> default_weight;                   // absent = as it was
};
struct RingInSync {};
struct RingGone {};    // it was deleted, or was never there
struct Reconnect {};   // the directory wants another stream in the place of this one
struct SignOfLife {};  // a heartbeat, and anything else that a stream may say
using StreamEvent = std::variant<SnapshotChunk, RingChange, RingInSync, RingGone, Reconnect, SignOfLife>;

// A version of the ring with its content.
struct HeldRing {
  ring::Version version;
  ring::Ring ring;
};
using HeldRingPtr = std::shared_ptr<const HeldRing>;

class WatchMachine {
 public:
  using Clock = std::chrono::steady_clock;

  struct Policy {
    std::chrono::milliseconds spread{5'000};
    Backoff::Policy pauses{.first = std::chrono::milliseconds(200),
                           .longest = std::chrono::milliseconds(30'000),
                           .factor = 1.6,
                           .jitter = 0.2};
    std::chrono::milliseconds stable_after{10'000};
    std::chrono::milliseconds silence{30'000};
    std::optional<std::chrono::milliseconds> hedge_after;  // absent = there is just one place to ask
    ring::Limits limits{.max_nodes = 1'000'000, .max_points = 64 << 20};
  };

  enum class State {
    kConnecting,  // no stream, or it has said nothing yet; what is held still answers
    kResyncing,   // a stream that is not in sync yet
    kInSync,
    kAbsent,      // the directory has no such ring
    kDistrusted,  // no copy that agrees with the directory can be made here
  };

  struct Counts {
    uint64_t streams = 0;  // opened
    uint64_t snapshots = 0;
    uint64_t changes = 0;
    uint64_t rewound = 0;
    uint64_t checksum_mismatches = 0;
    uint64_t broken_order = 0;
  };

  // A stream, by the number that the machine gave it.
  using StreamId = uint64_t;

  WatchMachine(const Policy& policy, std::function<double()> random, Clock::time_point now);

  // Begins with a copy from elsewhere, which was known to be current then. REQUIRES that no stream was opened yet.
  void Restore(HeldRingPtr held, Clock::time_point current_at);

  // --- Events. What is told of a stream that is not to be open any more is passed over.

  void Received(StreamId id, StreamEvent event, Clock::time_point now);
  // The stream has ended. OK too is a loss: a Watch has no end.
  void Ended(StreamId id, const absl::Status& status, Clock::time_point now);
  // It is wake_at(), or later.
  void Woken(Clock::time_point now);
  Clock::time_point wake_at() const;

  // Whether the stream is to be open: the driver opens those that are new, from position(), and cancels the others.
  bool Wants(StreamId id) const;
  // The streams that are to be open, the oldest first; two at most.
  std::vector<StreamId> wanted() const;

  // --- State

  State state() const { return state_; }
  // The copy; null while there is none.
  const HeldRingPtr& held() const { return held_; }
  // What a new stream says that is held; null = nothing.
  const HeldRingPtr& position() const { return ask_anew_ ? kNothing : held_; }
  // When the copy was last known to be the directory's newest; min() = never.
  Clock::time_point current_at() const { return current_at_; }
  // Why there is no stream, or why there is no copy.
  const absl::Status& problem() const { return problem_; }
  const Counts& counts() const { return counts_; }

 private:
  // A snapshot of which chunks are still to come.
  struct Assembly {
    SnapshotChunk first;
    std::vector<ring::Node> nodes;      // none while the settings are an error
    std::vector<uint32_t> slot_places;  // likewise
    uint32_t next = 0;
  };

  struct Stream {
    StreamId id = 0;
    Clock::time_point heard_at;
    bool alive = false;    // it has said something
    bool leaving = false;  // it is to be followed by another
    std::optional<Assembly> assembly;
  };

  void On(Stream& stream, SnapshotChunk chunk);
  void On(Stream& stream, const RingChange& change);
  void On(Stream& stream, const RingInSync&);
  void On(Stream& stream, const RingGone&);
  void On(Stream& stream, const Reconnect&);
  void On(Stream&, const SignOfLife&) {}

  // Takes the nodes and slots of a chunk in, as long as a copy may hold them.
  void Add(std::vector<ring::Node> nodes, const std::vector<uint32_t>& slot_places, Assembly& assembly) const;
  void Complete(Assembly assembly);
  // Puts a ring in the copy's place if it has the checksum; else asks anew or gives up.
  void Install(ring::Version version, std::optional<uint64_t> checksum, absl::StatusOr<ring::Ring> ring);
  void Distrust(const absl::Status& why);
  void BreakOff(StreamId id, const std::string& why);
  void OpenNow();
  // The second stream is the one to follow from now on.
  void TakeOver();
  void Lost(StreamId id, const absl::Status& status);
  // How long to wait after the loss of a stream that said something, or did not.
  Clock::duration PauseAfter(const absl::Status& status, bool alive);
  // When the stream that is followed gets another one beside it, as it is now: at once where it is to be left, later
  // where it goes on saying nothing.
  Clock::time_point SecondAt() const;
  bool IsFollowed(StreamId id) const { return !streams_.empty() && streams_.front().id == id; }

  static const HeldRingPtr kNothing;

  const Policy policy_;
  const std::function<double()> random_;

  State state_ = State::kConnecting;
  HeldRingPtr held_;
  bool ask_anew_ = false;  // the next stream names nothing as held
  bool mistaken_ = false;  // the last copy made did not agree, and a fresh snapshot was asked for
  absl::Status problem_;
  Counts counts_;

  Backoff backoff_;
  // The one that is followed, and one that is to take its place. A list, since streams are referred to while they
  // change.
  std::list<Stream> streams_;
  Clock::time_point now_;
  Clock::time_point open_at_;    // when a stream more is opened; max() = what there is suffices
  Clock::time_point synced_at_;  // while in sync: since when
  Clock::time_point current_at_ = Clock::time_point::min();
};

}  // namespace ringd
