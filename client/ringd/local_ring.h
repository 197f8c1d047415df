// LocalRing: a copy of one ring that a Watch keeps current, so that a lookup costs nanoseconds and goes on when the
// directory is down.
//
// Performance: Owner hashes the key and looks into an array; it takes no lock, allocates nothing and never waits for
// the network (but see kDistrusted). A thread's first lookup after a change of the ring does more: it makes the
// thread's own counters, 24 bytes for each node. Make one LocalRing for each ring and keep it; thousands of them share
// two to four threads, and 50 of them a connection. A thread that has looked up keeps the ring that it saw alive until
// its next lookup here, or its end.
//
// Thread safety: all members may be called from any number of threads at once. The callbacks of one copy come one after
// the other, on the threads that all copies share: a slow one holds up others. A callback may destroy its copy.
// Elsewhere, destroying one waits for its callback.
//
// Fork: the child of a process that has copies goes on answering from them, and status() says kForked; nothing follows
// there, no callback comes, and new copies are refused (FAILED_PRECONDITION).
//
// Error handling: a lookup fails with UNAVAILABLE before the first copy has come (WaitReady), with NOT_FOUND while the
// directory says that there is no such ring, with FAILED_PRECONDITION while no node has a weight, and with
// INVALID_ARGUMENT for an empty key, since an unset variable is the most common bug of a caller, and for any key in a
// ring of PointsPlacement, which is asked by position. Else it does not fail:
// when the directory cannot be reached, the last copy answers, and status().age says how old it may be.
//
// Idempotency: lookups change nothing, but for what is counted of them.
//
// What is promised: the copy never goes back to an older version, except where the directory itself tells that its
// store was rolled back (then it follows, and `rewound` in the counts goes up). Every copy has the checksum that the
// directory told. After an outage it is current again at most kReconnectWithin after the directory is back.
//
// Example:
//   auto ring = ringd::LocalRing::Start("cache", {.directory = {.endpoints = {"127.0.0.1:7440"}}});
//   if (!ring.ok()) return ring.status();
//   if (auto ready = (*ring)->WaitReady(std::chrono::seconds(5)); !ready.ok()) return ready;
//   auto owner = (*ring)->Owner("user:17");
//   if (owner.ok()) Send((*owner)->address);
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ringd/client.h"
#include "ringd/types.h"

namespace ringd {

// RingCopy: one version of a ring, immutable. For many lookups at one version.
//
// Threads: any number at once.
class RingCopy {
 public:
  struct Parts;
  explicit RingCopy(std::unique_ptr<const Parts> parts);
  RingCopy(const RingCopy&) = delete;
  ~RingCopy();

  Version version() const;
  uint64_t checksum() const;

  // The owner of a key, or null while no node has a weight, for a key that is no UTF-8 in one of the two presets whose
  // hash reads characters, and for every key in a ring of PointsPlacement. Lives as long as the copy.
  const Node* Owner(std::string_view key) const;
  // Fills `out` with the owner of each key, as Owner answers it. REQUIRES as many places in `out` as there are keys.
  void OwnersOf(std::span<const std::string_view> keys, std::span<const Node*> out) const;
  // Fills `out` with the owners of a key in order, and returns how many there are: fewer than out.size() when the ring
  // has fewer nodes with a weight. 64 at most.
  size_t Owners(std::string_view key, std::span<const Node*> out) const;
  // The same, of a position on the circle: a value of the ring's hash function, or of the caller's own in a ring of
  // PointsPlacement. None for one beyond the circle.
  size_t OwnersAt(uint64_t position, std::span<const Node*> out) const;

  // All nodes in order of id, and the share of the circle of each.
  size_t node_count() const;
  const Node& node(size_t index) const;
  double share(size_t index) const;

  // Of the library's own.
  const Parts& parts() const { return *parts_; }

 private:
  const std::unique_ptr<const Parts> parts_;
};

enum class LocalRingState {
  kConnecting,  // no stream from the directory; the last copy, if there is one, answers
  kResyncing,   // the stream is there and has not caught up yet; likewise
  kInSync,      // the copy is current
  kAbsent,      // the directory says that there is no such ring; lookups are NOT_FOUND
  // No copy that agrees with the directory can be made by this build, or only one of more than 1,000,000 nodes or
  // 67,108,864 points (16 times what a directory allows unless it is told otherwise); lookups are calls to it.
  kDistrusted,
  kForked,  // this process is a fork of the one that made the copy; the copy of then answers, and follows no more
};

struct LocalRingStatus {
  LocalRingState state = LocalRingState::kConnecting;
  Version version;  // of the copy; empty = there is none
  // Since the copy was last known to be the directory's newest; max() = it never was. In sync, it is at most the
  // server's time between heartbeats.
  std::chrono::milliseconds age = std::chrono::milliseconds::max();
  absl::Status problem;      // why it is not in sync
  absl::Status tls_problem;  // see Client::TlsProblem

  // Counts from the start.
  uint64_t streams = 0;              // opened
  uint64_t snapshots = 0;            // installed
  uint64_t changes = 0;              // applied
  uint64_t rewound = 0;              // times that the copy went back, since the directory had
  uint64_t checksum_mismatches = 0;  // copies that were not installed
  uint64_t broken_order = 0;         // streams that were ended for what they said
  uint64_t called_lookups = 0;       // lookups that were calls to the directory, while kDistrusted

  absl::Status save_problem;  // why the copy is not saved, or the saved one was not used
};

// How many lookups the copy answered, from the start. What is counted is the first owner, by Owner, OwnersOf and Owners
// of LocalRing; what a RingCopy answers by itself is not, nor are calls.
struct LocalRingLookups {
  uint64_t ring = 0;                     // by all nodes that the ring ever had
  std::shared_ptr<const RingCopy> copy;  // as it is now; null while there is none
  // By node(i) of `copy`. A node keeps its count for as long as it stays in the ring.
  std::vector<uint64_t> nodes;
};

struct LocalRingOptions {
  // Where the directory is. Its lookup_timeout is that of lookups while kDistrusted.
  ClientOptions directory;
  // What `ringctl watchers` shows of this copy, and the name by which it reports the versions that it has; at most 255
  // bytes of UTF-8 without control characters. Empty = one of the host, the process and a number.
  std::string watcher;
  // The file in which the copy is saved, so that a later process has it at once though the directory is down; empty =
  // none. Each copy needs one of its own, in a folder that is there. It is written some seconds after a change, now and
  // then without one, and at the end, on the threads that all copies share; only its owner may read it. It goes when
  // the ring goes.
  std::string save_to;
  // A saved copy that was last known to be current longer ago is not used, nor one that is damaged or of another ring.
  std::chrono::milliseconds saved_max_age = std::chrono::hours(24);
  // Called after each change of state or version.
  std::function<void(const LocalRingStatus&)> on_change;
  // Called before that with each new copy, and the one before it: null at first, and after the ring had gone. `after`
  // is null when it goes. Lookups have `after` already.
  std::function<void(const std::shared_ptr<const RingCopy>& before, const std::shared_ptr<const RingCopy>& after)>
      on_copy;
};

class LocalRing {
 public:
  // A stream that is silent for so long is taken for lost: three heartbeats of a server's default.
  static constexpr std::chrono::seconds kSilence{30};
  // When the copy is current again after the directory is back. Longest pause between tries, and time to connect.
  static constexpr std::chrono::seconds kReconnectWithin{35};

  // Begins to watch and returns at once. INVALID_ARGUMENT for options that are wrong, or an empty name.
  // FAILED_PRECONDITION in a process that was forked from one with copies.
  static absl::StatusOr<std::unique_ptr<LocalRing>> Start(std::string_view ring, LocalRingOptions options);
  LocalRing(const LocalRing&) = delete;
  // Ends the stream, and waits for a callback that is under way, unless it is called by that.
  ~LocalRing();

  // Waits until there is a copy. When the time is over: NOT_FOUND when the directory says that there is no such ring,
  // else UNAVAILABLE, or what the directory answered; with the reason in the text.
  absl::Status WaitReady(std::chrono::milliseconds timeout) const;

  // The owner of a key. The node lives until this thread's next lookup of this ring.
  absl::StatusOr<const Node*> Owner(std::string_view key) const {
    // Inline, so that a caller who takes the node out at once pays for no StatusOr.
    if (const Node* owner = OwnerInCopy(key); owner != nullptr) [[likely]]
      return owner;
    return OwnerWithoutCopy(key);
  }
  // Fills `out` with the owner of each key, all of one version of the copy. While
  // kDistrusted it calls the directory instead, for 10,000 keys at a time, and only those are of one version. The nodes
  // live until this thread's next lookup of this ring. INVALID_ARGUMENT for `out` of another size than `keys`, and the
  // errors of Owner, with the number of the key; where it fails, nothing in `out` may be used.
  absl::Status OwnersOf(std::span<const std::string_view> keys, std::span<const Node*> out) const;
  // Fills `out` with the owners of a key in order, and returns how many there are; see RingCopy::Owners. The nodes live
  // until this thread's next lookup of this ring. INVALID_ARGUMENT for more than 64.
  absl::StatusOr<size_t> Owners(std::string_view key, std::span<const Node*> out) const;
  // The same, of a position on the circle; see RingCopy::OwnersAt. INVALID_ARGUMENT for one beyond it.
  absl::StatusOr<size_t> OwnersAt(uint64_t position, std::span<const Node*> out) const;

  // The copy as it is now, to hold on to; null while there is none.
  std::shared_ptr<const RingCopy> Copy() const;
  // The same without a lock, as lookups see it: it lives until this thread's next lookup of this ring, of which this is
  // one that is not counted.
  const RingCopy* ThreadCopy() const;

  const std::string& ring() const;
  LocalRingStatus status() const;
  // For a page of metrics; ringd/local_ring_metrics.h has one.
  LocalRingLookups lookups() const;

 private:
  class Driver;
  explicit LocalRing(std::shared_ptr<Driver> driver);

  // Null when the copy has no owner of the key.
  const Node* OwnerInCopy(std::string_view key) const;
  // What Owner answers then.
  absl::StatusOr<const Node*> OwnerWithoutCopy(std::string_view key) const;

  const std::shared_ptr<Driver> driver_;
};

}  // namespace ringd
