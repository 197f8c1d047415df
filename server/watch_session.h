// WatchSession: what one Watch stream has to say next. It holds a position per ring and no queue: each call of Next
// looks at the directory and answers the one message that brings the reader forward. So a slow reader costs positions
// alone, and what it is sent is ordered and gap-free by construction.
//
// No gRPC, no thread, no clock. Threads: not synchronised; the owner calls it under its own lock.
//
// Per ring, in order of precedence:
//   1. the chunks of a snapshot that has begun, to the end;
//   2. `deleted` when the ring has gone or was made anew since, `absent` when it was never there;
//   3. a snapshot when nothing is held, or what is held cannot be served;
//   4. the change after the position held: from the window in memory or, until the ring was in sync once, from the
//      durable history;
//   5. `in_sync` when the ring's head is reached (after every snapshot, and after the first catch-up).
// Then the stream's own `in_sync` (once), and a heartbeat when one is due and nothing else is left to say. Before all
// of it, but not within a snapshot, `reconnect` where that is due.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ring/slot_table.h"
#include "ring/version.h"
#include "server/directory.h"

namespace ringd::server {

// Which rings a stream watches: these names, or every ring whose name has the prefix ("" = all).
struct RingSelector {
  std::vector<std::string> names;
  std::optional<std::string> prefix;

  bool MatchesPattern(std::string_view ring) const { return prefix.has_value() && ring.starts_with(*prefix); }
};

// What a watcher holds of a ring when its stream begins.
struct WatchPosition {
  ring::Version version;
  std::optional<uint64_t> checksum;  // absent = not verified
};

// --- What a stream says. Each holds on to immutable state alone.

struct SnapshotChunk {
  RingHead head;
  std::shared_ptr<const ring::NodeTable> table;
  size_t points = 0;
  size_t first = 0;  // nodes [first, last) of the table
  size_t last = 0;
  std::shared_ptr<const ring::SlotTable> slots;  // null where the ring has none
  size_t first_place = 0;                        // places [first_place, last_place) of the slots
  size_t last_place = 0;
  uint32_t number = 0;
  bool complete = false;  // the last chunk
  bool rewound = false;
};
struct RingInSync {
  std::string ring;
  ring::Version version;
};
struct StreamInSync {};
struct Heartbeat {
  std::vector<std::pair<std::string, ring::Version>> moved;
};
struct Reconnect {
  std::chrono::seconds within;
};
struct Absent {
  std::string ring;
};
struct Deleted {
  std::string ring;
  ring::Version version;
};
using ChangeEvent = std::shared_ptr<const PublishedChange>;
using WatchEvent =
    std::variant<SnapshotChunk, ChangeEvent, RingInSync, StreamInSync, Heartbeat, Absent, Deleted, Reconnect>;

// Changes that the session needs from the durable history before it can go on; the owner reads them and calls
// ProvideHistory.
struct HistoryNeeded {
  std::string ring;
  uint64_t epoch = 0;
  uint64_t first = 0;
};
// The session has nothing to say until Touch or HeartbeatDue.
struct Idle {};

using Next = std::variant<WatchEvent, HistoryNeeded, Idle>;

using VisitRing = std::function<bool(const std::string& ring, std::optional<ring::Version> sent)>;

class WatchSession {
 public:
  // The directory must outlive the session. Call Touch for every ring that is published from before this on.
  WatchSession(const Directory& directory, RingSelector selector, const std::map<std::string, WatchPosition>& held);

  // A ring was created, changed or deleted. Returns whether this session watches it.
  bool Touch(const std::string& ring);

  // A heartbeat is wanted as soon as everything published so far has been said.
  void HeartbeatDue() { heartbeat_due_ = true; }

  // The reader is to be told to reconnect, before anything else but the rest of a snapshot.
  void ReconnectDue(std::chrono::seconds within) { reconnect_within_ = within; }

  // What to say next. After HistoryNeeded, ProvideHistory comes before the next call.
  Next Advance();

  // The answer to HistoryNeeded: changes from `first` on, or none when that one is not kept.
  void ProvideHistory(const std::string& ring, std::vector<ChangeRecord> changes);

  // Calls `visit` for each ring that is watched and not before `from`, in order of name, until it returns false. With
  // the version that was said last of it, to the end; with none where there is none, or nothing was said yet.
  void EachRing(const std::string& from, const VisitRing& visit) const;

  // How often a reader was found ahead of this directory in the same epoch, which means that the store was rolled
  // back behind the directory's back.
  uint64_t rewound() const { return rewound_; }

  // A change whose message would be larger is sent as a snapshot. Also the size at which snapshots are cut.
  static constexpr size_t kMaxChangeBytes = 1 << 20;
  static constexpr size_t kChunkBytes = 256 << 10;

 private:
  // Where the stream stands with one ring.
  struct Track {
    enum class Phase {
      kUnknown,    // nothing said yet, nothing held
      kClaimed,    // the reader says that it holds `position`; not verified yet
      kFollowing,  // the reader holds `position.version`, as far as what was sent
      kAbsent,     // the reader knows that the ring is not there
    };
    Phase phase = Phase::kUnknown;
    WatchPosition position;
    bool caught_up = false;           // in_sync was said since the last snapshot
    bool counted = false;             // no longer holds up the stream's in_sync
    bool moved = false;               // since the last heartbeat
    bool queued = false;              // stands in queue_
    bool history_gone = false;        // the store no longer keeps the change that is needed
    std::deque<ChangeEvent> history;  // read from the store, not said yet
  };

  // The next thing that one of the queued rings has to say.
  std::optional<Next> NextOfQueue();
  WatchEvent SendChunk();
  // What a ring has to say next; nothing when the reader knows all of it.
  std::optional<Next> Step(const std::string& ring, Track& track);
  std::optional<Next> StepAbsent(const std::string& ring, Track& track);
  std::optional<Next> StepClaimed(const std::string& ring, Track& track, const RingStatePtr& state);
  std::optional<Next> StepFollowing(const std::string& ring, Track& track, const RingStatePtr& state);
  // The change after the position held, or null when it is neither in the window nor read from the store.
  ChangeEvent ChangeAfter(Track& track, const RingState& state) const;
  WatchEvent StartSnapshot(Track& track, const RingStatePtr& state, bool rewound);
  Track& AddTrack(const std::string& ring);
  // Queues every ring that is not where the stream left it, and returns whether there is one.
  bool QueueWhatMoved();
  enum class Place { kFront, kBack };
  void Queue(const std::string& ring, Track& track, Place place = Place::kBack);
  // The ring no longer holds up the stream's in_sync.
  void Count(Track& track);

  const Directory& directory_;
  const RingSelector selector_;
  std::map<std::string, Track, std::less<>> tracks_;
  std::deque<std::string> queue_;         // rings that may have something to say
  std::optional<SnapshotChunk> sending_;  // the next chunk of a snapshot that has begun
  size_t uncounted_ = 0;                  // rings that hold up the stream's in_sync
  bool stream_in_sync_ = false;
  bool heartbeat_due_ = false;
  std::optional<std::chrono::seconds> reconnect_within_;
  uint64_t rewound_ = 0;
  uint64_t checked_publications_ = UINT64_MAX;  // of the directory, when QueueWhatMoved last looked
};

}  // namespace ringd::server
