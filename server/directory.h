// Directory: the rings behind one reader-writer lock, and the only place that changes them.
//
// A reader holds the lock shared just to copy the pointer of a ring's immutable state. The writer builds the next
// states and makes them durable without the lock, and takes it exclusively to publish them. So nothing is shown to a
// reader before it is durable, and nobody hashes, sends or waits for a disk under the lock.
//
// Threads: Find, List, ReadEarlierChanges, writable and publications from any thread. Commit from one thread at a time
// (WriteQueue).
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ring/movement.h"
#include "ring/mutex.h"
#include "ring/node.h"
#include "ring/ring.h"
#include "ring/version.h"
#include "server/change_log.h"
#include "server/lookup_counts.h"
#include "server/store.h"

namespace ringd::server {

// Reasons of errors, beside those of ring/error.h. Part of the contract.
inline constexpr std::string_view kRingNotFound = "RING_NOT_FOUND";
inline constexpr std::string_view kRingExists = "RING_EXISTS";
inline constexpr std::string_view kVersionMismatch = "VERSION_MISMATCH";
inline constexpr std::string_view kVersionNotKept = "VERSION_NOT_KEPT";
inline constexpr std::string_view kRingNotImported = "RING_NOT_IMPORTED";
inline constexpr std::string_view kForceRequired = "FORCE_REQUIRED";
inline constexpr std::string_view kRequestIdReused = "REQUEST_ID_REUSED";
inline constexpr std::string_view kDraining = "DRAINING";

// One version of one ring. Immutable, but for the counts of its lookups.
struct RingState {
  RingHead head;
  ring::Ring ring;
  std::shared_ptr<ChangeLog> log;  // the same for all versions of an epoch
  LookupCounts lookups = LookupCounts(*ring.table());
};
using RingStatePtr = std::shared_ptr<const RingState>;

// Not OK when nobody waits for an answer any more: its deadline has passed, or the caller has gone.
using StillWanted = std::function<absl::Status()>;

// --- What a mutation asks for.

struct CreateRing {
  ring::Settings settings;
  std::map<std::string, std::string> labels;
  HistoryLimits history_limits;
};
struct DeleteRing {};
struct ChangeNodes {
  std::vector<ring::Operation> operations;
};

// Sets what has a value. Of the history limits, nothing inside = the server's.
struct UpdateRing {
  std::optional<uint32_t> default_weight;
  std::optional<std::map<std::string, std::string>> labels;
  std::optional<std::optional<absl::Duration>> max_age;
  std::optional<std::optional<uint32_t>> max_changes;
};
struct RestoreVersion {
  ring::Version version;
};
// The nodes of a ring and its whole table.
struct ImportSlots {
  std::vector<ring::AddNode> nodes;
  std::vector<uint32_t> places;  // as SlotTable has them, of the nodes as they stand here
  bool as_ranges = false;        // which only redis-cluster has
};

struct Mutation {
  std::string ring;
  std::variant<CreateRing, DeleteRing, ChangeNodes, UpdateRing, RestoreVersion, ImportSlots> what;

  std::optional<ring::Version> expected_version;
  std::string request_id;            // empty = none
  uint64_t request_fingerprint = 0;  // of the request's content, to tell a retry from another request
  std::string reason;
  std::string actor;
  bool validate_only = false;
  bool force = false;
  // Asked just before the mutation would be done; what is no longer wanted is answered undone. Null = wanted.
  StillWanted still_wanted;
};

// What would be, for validate_only.
struct Plan {
  RingStatePtr state;  // null for a DeleteRing
  bool force_needed = false;
  std::string force_reason;
};

struct MutationResult {
  ring::Version version;           // after the change; with validate_only that of the state it was computed on
  ring::Version previous_version;  // equal to `version` when nothing changed
  ring::Movement movement;
  std::vector<std::string> warnings;  // of the ring that results
  std::optional<Plan> plan;
  bool repeated = false;  // the answer to a retry: nothing was done now
};

struct DirectoryOptions {
  ring::Limits ring_limits;
  size_t max_rings = 10'000;
  absl::Duration history_age = absl::Hours(24 * 30);
  uint32_t history_max = 100'000;
  // How long a deleted ring's request_id is remembered.
  absl::Duration tombstone_age = absl::Minutes(10);
  // Wall clock and randomness; they are arguments so that tests decide them.
  std::function<absl::Time()> clock = [] { return absl::Now(); };
  std::function<uint32_t()> random;  // REQUIRED
  // When a change was published is told by this one.
  std::function<std::chrono::steady_clock::time_point()> steady_clock = std::chrono::steady_clock::now;
  // Called by Commit, after publishing, with the names of the rings that moved. Must not call back into Commit.
  std::function<void(std::span<const std::string>)> on_published = [](std::span<const std::string>) {};
  // Called by Commit when the store begins to refuse writes, with why, and when it takes them again, with OK.
  std::function<void(const absl::Status&)> on_writable = [](const absl::Status&) {};
};

class Directory {
 public:
  // Loads all rings of the store, which must outlive the directory. Errors are the store's; DATA_LOSS when a ring's
  // checksum is not the one that was stored.
  static absl::StatusOr<std::unique_ptr<Directory>> Open(Store& store, DirectoryOptions options);

  // The current state of a ring, or NOT_FOUND.
  absl::StatusOr<RingStatePtr> Find(std::string_view ring) const;

  // Whether the store took the last write; true before the first.
  bool writable() const { return writable_; }

  // Goes up with every publication: while it stays, no ring has moved.
  uint64_t publications() const { return publications_; }

  // Up to `max` rings in order of name, whose names begin with `prefix` and come after `after`.
  std::vector<RingStatePtr> List(std::string_view prefix, std::string_view after, size_t max) const;

  // Kept changes of a ring from the one that led to `last` on back, newest first: up to `max`, and no more than one
  // batch of the store. Empty when that one is not kept. Reads the disk, without the lock. UNAVAILABLE: it cannot be
  // read.
  absl::StatusOr<std::vector<ChangeRecord>> ReadEarlierChanges(std::string_view ring, const ring::Version& last,
                                                               size_t max) const;

  // Does the mutations in order, makes the accepted ones durable together, publishes them, and answers each. A
  // mutation sees those before it. When the store refuses, nothing is published, and every mutation that built on a
  // refused write fails with it.
  std::vector<absl::StatusOr<MutationResult>> Commit(std::span<const Mutation> mutations);

 private:
  class Burst;

  Directory(Store& store, DirectoryOptions options) : store_(store), options_(std::move(options)) {}

  absl::Status Load();
  absl::StatusOr<RingStatePtr> Restore(StoredRing stored) const;
  uint64_t NextEpoch() const;
  void Publish(const std::vector<std::pair<std::string, RingStatePtr>>& changed);

  Store& store_;
  const DirectoryOptions options_;

  // Of the committing thread alone.
  uint64_t highest_epoch_ = 0;
  std::map<std::pair<std::string, std::string>, Tombstone> tombstones_;  // by ring and request_id

  std::atomic<bool> writable_ = true;
  std::atomic<uint64_t> publications_ = 0;
  mutable SharedMutex mutex_;
  std::map<std::string, RingStatePtr, std::less<>> rings_ ABSL_GUARDED_BY(mutex_);
};

// NOT_FOUND for a ring of that name.
absl::Status RingNotFound(std::string_view ring);

// UNAVAILABLE for what comes while the server drains.
absl::Status Stopping();

}  // namespace ringd::server
