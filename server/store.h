// Store: where the directory keeps its rings, their history and the requests that made it.
//
// Threads: Load once, before anything else. Commit from one thread at a time (the directory's writer); ReadChanges,
// ReadEarlierChanges and FindRequest from any thread, also during a Commit, and never see what is not durable yet.
// Errors: RESOURCE_EXHAUSTED no space, nothing was written and a later Commit may succeed; ABORTED another writer was
// first (a store that several servers share); UNAVAILABLE the store cannot be written: for an embedded store that is
// final until it is opened anew; DATA_LOSS what is on disk is not what was written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "ring/movement.h"
#include "ring/node.h"
#include "ring/ring.h"
#include "ring/slot_moves.h"
#include "ring/slot_table.h"
#include "ring/version.h"

namespace ringd::server {

// How long change records of one ring are kept; absent = the server's limits.
struct HistoryLimits {
  std::optional<absl::Duration> max_age;
  std::optional<uint32_t> max_changes;

  bool operator==(const HistoryLimits&) const = default;
};

// Everything of a ring but its nodes.
struct RingHead {
  std::string name;
  ring::Version version;
  ring::Settings settings;
  std::map<std::string, std::string> labels;
  HistoryLimits history_limits;
  absl::Time create_time;
  absl::Time update_time;
  uint64_t next_join_number = 1;
  uint64_t checksum = 0;

  bool operator==(const RingHead&) const = default;
};

struct StoredRing {
  RingHead head;
  std::vector<ring::Node> nodes;
  // Of a ring of slots, as SlotTable has them, of the nodes in order of id; empty where none has an owner.
  std::vector<uint32_t> slot_places;
};

// What may be changed of a ring's settings.
struct RingUpdate {
  uint32_t default_weight = 0;
  std::map<std::string, std::string> labels;
  HistoryLimits history_limits;

  bool operator==(const RingUpdate&) const = default;
};

struct RingDelta {
  RingUpdate before;
  RingUpdate after;

  bool operator==(const RingDelta&) const = default;
};

// One change of a ring, and the request that made it.
struct ChangeRecord {
  ring::Version version;  // made on version.revision - 1
  uint64_t checksum = 0;
  uint64_t from_checksum = 0;
  absl::Time time;
  std::string actor;
  std::string reason;
  std::string request_id;  // empty = none
  uint64_t request_fingerprint = 0;
  std::vector<ring::NodeDelta> nodes;
  ring::SlotMoves slot_moves;  // of a ring of slots
  ring::Movement movement;
  std::vector<std::string> warnings;
  std::optional<RingDelta> ring_update;
};

// What is left of a deleted ring for a while, so that a retried DeleteRing is answered as the first.
struct Tombstone {
  std::string name;
  ring::Version version;
  std::string request_id;
  uint64_t request_fingerprint = 0;
  absl::Time time;
  ring::Movement movement;  // to nobody

  bool operator==(const Tombstone&) const = default;
};

// A new ring, or a change of one: `head` as it is after, `change` whose nodes say which rows change. With revision 1
// the ring must not be there; else the stored version must be revision - 1 of the same epoch.
// `slots` is the table of a ring of slots where it is another than before; null = as it was.
// Change records of the ring that are below `keep_from_revision` or older than `keep_from_time` are deleted.
struct PutRing {
  RingHead head;
  ChangeRecord change;
  std::shared_ptr<const ring::SlotTable> slots;
  uint64_t keep_from_revision = 0;
  absl::Time keep_from_time = absl::InfinitePast();
};

// Removes a ring with its nodes and history. Leaves the tombstone when it has a request_id.
struct DropRing {
  Tombstone tombstone;
};

using Write = std::variant<PutRing, DropRing>;

struct StoreContents {
  std::vector<StoredRing> rings;
  std::vector<Tombstone> tombstones;
  uint64_t highest_epoch = 0;  // ever given, also to rings that are gone
};

class Store {
 public:
  virtual ~Store() = default;

  // All that is stored, verified.
  virtual absl::StatusOr<StoreContents> Load() = 0;

  // Makes the writes durable, in order, and answers each. Within one call a write may build on an earlier one; when one
  // fails, those of the same ring after it fail too. Tombstones older than `tombstones_before` are forgotten.
  virtual std::vector<absl::Status> Commit(const std::vector<Write>& writes, absl::Time tombstones_before) = 0;

  // Change records of a ring, from revision `first` on, in order: up to `max_count`, and none after the one that fills
  // `max_bytes` of what is stored. Empty when `first` is not kept or the ring is not at that epoch.
  virtual absl::StatusOr<std::vector<ChangeRecord>> ReadChanges(std::string_view ring, uint64_t epoch, uint64_t first,
                                                                size_t max_count, size_t max_bytes) = 0;

  // The same from revision `last` on back, newest first. Empty when `last` is not kept.
  virtual absl::StatusOr<std::vector<ChangeRecord>> ReadEarlierChanges(std::string_view ring, uint64_t epoch,
                                                                       uint64_t last, size_t max_count,
                                                                       size_t max_bytes) = 0;

  // The change of a ring that carries this request_id, if it is kept.
  virtual absl::StatusOr<std::optional<ChangeRecord>> FindRequest(std::string_view ring,
                                                                  std::string_view request_id) = 0;
};

}  // namespace ringd::server
