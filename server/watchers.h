// Watchers: who watches what, and which versions those who have a name say that they have applied.
//
// A name stands for all Watches that gave it, and is forgotten with the last of them. What a stream has delivered is
// not kept here: the stream is asked for it when somebody lists the watchers. So a change that is published or fanned
// out does nothing here, however many watch. For a version that somebody waits for, who has applied it is counted once
// and kept count of from then on.
//
// Threads: every member from any thread. Streams are asked without the lock.
// Memory: of what is reported, one version for each name and ring; those of rings that are gone are dropped when they
// have become as many as the others.
// Cost: Follow looks at every name, and so does Unfollow where some lag. Report takes a few logarithms for each
// position. List looks at every stream, and goes through its rings only as far as they may be on the page.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "ring/mutex.h"
#include "ring/version.h"
#include "server/applied_tallies.h"
#include "server/directory.h"
#include "server/selections.h"
#include "server/watch_session.h"

namespace ringd::server {

// A reason of errors, beside those of directory.h. Part of the contract.
inline constexpr std::string_view kWatcherNotFound = "WATCHER_NOT_FOUND";

// Who watches, as the call of a stream tells it.
struct Watcher {
  std::string name;  // empty = none
  std::string peer;
  absl::Time since;
  RingSelector selector;
};

// A stream as the list of watchers asks it. Called from any thread; must not block.
class WatchedRings {
 public:
  virtual ~WatchedRings() = default;
  // Tells the rings that are watched, as WatchSession::EachRing does. `visit` must not call back.
  virtual void EachRing(const std::string& from, const VisitRing& visit) const = 0;
};

// One Watch of one ring.
struct WatcherRow {
  // What rows are ordered by, and where the next page begins. The number is the stream's own.
  struct Key {
    std::string ring;
    std::string name;
    uint64_t stream = 0;

    auto operator<=>(const Key&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 misreads it
  };
  Key key;
  std::string peer;
  absl::Time since;
  std::optional<ring::Version> sent;     // absent = nothing yet
  std::optional<ring::Version> applied;  // absent = not reported
};

// How many revisions a watcher at this version is behind: all that there are, where it has none of this epoch.
uint64_t Behind(const ring::Version& head, const std::optional<ring::Version>& at);

// How far the names that watch a ring have got with a version of it.
struct AppliedOutcome {
  size_t watchers = 0;
  size_t applied = 0;
  std::vector<std::string> lagging;  // the first of those that have not applied it, in order
  bool reached = false;              // the share has
};

// The names at one moment. A lag is that of a name in a ring of which it has reported a version.
struct WatchCensus {
  size_t names = 0;
  size_t silent = 0;  // have reported nothing
  std::vector<uint64_t> lags;
};

class Watchers {
 public:
  using Clock = std::chrono::steady_clock;

  // How many names an AppliedOutcome tells.
  static constexpr size_t kMaxLagging = 100;

  using Positions = std::span<const std::pair<std::string, ring::Version>>;

  // What is told is told by any thread, not under the lock.
  struct Options {
    // The ids of tallies that are followed and reached.
    std::function<void(std::span<const uint64_t>)> on_reached = [](std::span<const uint64_t>) {};
    // A name applied a version so long after it was published. Told of the version that a report brings the name to, if
    // that was published while the name watched and is in the ring's window.
    std::function<void(Clock::duration)> on_applied = [](Clock::duration) {};
    // The clock of DirectoryOptions::steady_clock.
    std::function<Clock::time_point()> clock = Clock::now;
  };

  // The directory must outlive this.
  Watchers(const Directory& directory, Options options) : directory_(directory), options_(std::move(options)) {}

  // A stream has begun, or is over. Nothing when it was not there.
  void Add(const std::shared_ptr<const WatchedRings>& stream, Watcher watcher);
  void Remove(const WatchedRings* stream);

  // A watcher of that name has applied these versions. Within an epoch the highest counts. Passed over: a ring that
  // none of its Watches selects, or that is not there, and a version that the ring has not reached. NOT_FOUND when no
  // Watch has the name. `ago` is how long since they were applied.
  absl::Status Report(const std::string& name, Positions positions, Clock::duration ago = {});

  // The first rows after `after`, `max` at most, in order of their keys; of one ring alone where that is named.
  std::vector<WatcherRow> List(const std::optional<std::string>& ring, const WatcherRow::Key& after, size_t max) const;

  // A few hundred names are looked at at a time: names that come and go meanwhile may be missed.
  WatchCensus Census() const;

  // Counts who has applied these versions of the ring, and keeps count from now on. REQUIRES tallies that count nobody
  // yet.
  void Follow(const std::string& ring, const AppliedTallies::OfRing& tallies);
  // What a tally has come to, which is then no longer followed; nothing when it is to be reached first and is not.
  // REQUIRES that it is followed.
  enum class If { kReached, kAlways };
  std::optional<AppliedOutcome> Unfollow(const std::string& ring, uint64_t id, If when);

 private:
  struct Stream {
    uint64_t number;
    std::weak_ptr<const WatchedRings> rings;
    Watcher watcher;  // without a name, without the selector
  };
  using StreamPtr = std::shared_ptr<const Stream>;
  // All Watches that gave one name.
  struct Named {
    Clock::time_point since;
    size_t watches = 0;
    Selections selections;                         // of all of them
    std::map<std::string, ring::Version> applied;  // by ring
    size_t most_applied = 16;                      // at more than these, those of rings that are gone are dropped

    // 0/0 where nothing is.
    ring::Version AppliedOf(const std::string& ring) const;
  };

  // A version that is reported, of a ring that is there and has reached it.
  struct Reported {
    const std::string& ring;
    ring::Version version;
    std::optional<Clock::time_point> published;  // absent = not known any more
  };
  std::vector<Reported> ThoseThere(Positions positions) const;
  void DropGone(Named& named) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Does `edit` to the selections of a name, and lets the tallies count what it comes to select or no longer does.
  template <class Edit>
  AppliedTallies::Ids Reselect(Named& named, const Edit& edit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<std::string> Lagging(const std::string& ring, const AppliedTally& tally) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const Directory& directory_;
  const Options options_;

  mutable Mutex mutex_;
  uint64_t streams_ever_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<const WatchedRings*, StreamPtr> streams_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, Named> named_ ABSL_GUARDED_BY(mutex_);
  AppliedTallies tallies_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ringd::server
