// Values of the directory as C++ programs see them: std types alone, no gRPC, no protobuf.
//
// What each field means, its bounds and its guarantees stand in proto/ringd/v1/directory.proto, where it has the same
// name. All are plain values, for any thread.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"

namespace ringd {

// Which state of a ring. Ordered by epoch, then revision.
struct Version {
  uint64_t epoch = 0;
  uint64_t revision = 0;

  auto operator<=>(const Version&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 misreads it
};

// EPOCH/REVISION, as ringctl and the server's log show it.
std::string ToString(const Version& version);

// A member of a ring.
struct Node {
  std::string id;
  std::string address;             // may be empty
  std::optional<uint32_t> weight;  // always there in answers; absent when adding = the ring's default_weight
  std::string zone;                // may be empty
  std::string hash_key;            // never empty in answers; empty when adding = the id
  std::map<std::string, std::string> metadata;
  std::vector<uint64_t> points;  // in a ring of PointsPlacement alone; in order in answers

  bool operator==(const Node&) const = default;
};

// What a lookup tells of a node.
struct Owner {
  std::string id;
  std::string address;  // may be empty
  std::string zone;     // may be empty

  bool operator==(const Owner&) const = default;
};

// --- What a ring is

// How a ring turns nodes into owners of keys. Always there in answers; absent when a ring is created = the default of
// the directory. The contract has further choices, and so has ringctl.
struct SlotsPlacement {
  std::optional<uint32_t> slot_bits;  // there are 2^slot_bits slots
  std::optional<uint32_t> owners;     // kept a slot

  bool operator==(const SlotsPlacement&) const = default;
};
struct HashedPlacement {
  std::optional<uint32_t> points_per_weight;

  bool operator==(const HashedPlacement&) const = default;
};
struct PresetPlacement {
  std::string preset;  // such as "ketama"; ring/README.md lists them

  bool operator==(const PresetPlacement&) const = default;
};
// Nodes come with their points, and are asked for by position (Client::LookupPosition).
struct PointsPlacement {
  std::optional<uint64_t> last_position;  // of the circle

  bool operator==(const PointsPlacement&) const = default;
};
using Placement = std::variant<SlotsPlacement, HashedPlacement, PresetPlacement, PointsPlacement>;

// What is fixed, or given, when a ring is created. Absent = the default of the directory.
struct RingSettings {
  Placement placement;
  std::optional<uint32_t> default_weight;
  std::map<std::string, std::string> labels;
};

// How long the records of a ring's changes are kept; absent = as the directory keeps those of any ring.
struct HistoryLimits {
  std::optional<std::chrono::milliseconds> max_age;
  std::optional<uint32_t> max_changes;

  bool operator==(const HistoryLimits&) const = default;
};

struct RingInfo {
  std::string name;
  Version version;
  uint64_t checksum = 0;
  Placement placement;
  uint32_t default_weight = 0;
  std::map<std::string, std::string> labels;
  HistoryLimits history_limits;
  std::chrono::system_clock::time_point create_time;
  std::chrono::system_clock::time_point update_time;
  uint32_t node_count = 0;
  uint64_t total_weight = 0;
  uint64_t point_count = 0;
  double imbalance = 0;  // largest share / expected share; 0 = no node of weight > 0
};

// A ring with all of its nodes, at one version.
struct RingContent {
  RingInfo ring;
  std::vector<Node> nodes;     // in order of id
  std::vector<double> shares;  // of the circle, 0..1; parallel to `nodes`
};

// --- Changes

struct AddNode {
  Node node;
};
struct RemoveNode {
  std::string id;
};
// Sets the fields that have a value. One field at least.
struct UpdateNode {
  std::string id;
  std::optional<uint32_t> weight;
  std::optional<std::string> address;
  std::optional<std::string> zone;
  std::optional<std::map<std::string, std::string>> metadata;  // replaced as a whole
  std::optional<std::vector<uint64_t>> points;                 // replaced as a whole
};
using Operation = std::variant<AddNode, RemoveNode, UpdateNode>;

// Sets the fields that have a value. One field at least.
struct UpdateRing {
  std::optional<uint32_t> default_weight;
  std::optional<std::map<std::string, std::string>> labels;  // replaced as a whole
  std::optional<HistoryLimits> history_limits;               // replaced as a whole
};

// Asks a change to wait until so many of the ring's watchers that have a name (LocalRingOptions::watcher; each copy has
// one) have reported that they applied it, or the time is over. The call has its change_timeout besides.
struct WaitFor {
  double share = 1;  // of the names, above 0, at most 1
  std::chrono::milliseconds timeout{5'000};
};
// How far they had got.
struct WaitResult {
  uint32_t watchers = 0;             // names
  uint32_t applied = 0;              // of them
  std::vector<std::string> lagging;  // some of the others, at most 100
  bool reached = false;              // the share had; else the time was over, the ring has gone, or the server stops
};

struct MutationOptions {
  std::optional<Version> expected_version;  // absent = any
  std::string request_id;                   // empty = a random one; give your own to repeat a call after a restart
  std::string reason;
  bool validate_only = false;  // answer with the plan and change nothing
  bool force = false;
  std::optional<WaitFor> wait_for;  // not with validate_only, nor for DeleteRing
};

// What one node gave to another; absent = nobody.
struct MovedPair {
  std::optional<std::string> from;
  std::optional<std::string> to;
  double share = 0;  // of the circle, 0..1
};

// The largest and the smallest share / expected share of nodes of weight > 0.
struct Balance {
  double max_ratio = 0;
  double min_ratio = 0;
};

// What a change moves, exactly.
struct Movement {
  double moved_share = 0;        // of the circle, from one node to another
  std::vector<MovedPair> pairs;  // the largest first; the first 1,000 at most
  double other_pairs_share = 0;  // of the rest
  // Where slots keep several owners: what came to nodes that were not among its owners before, each counted.
  double new_members_share = 0;
  std::optional<Balance> before;  // absent = no node of weight > 0
  std::optional<Balance> after;
};

// What a change with validate_only would come to.
struct Plan {
  RingInfo ring;               // empty in the plan of a DeleteRing
  std::vector<Node> nodes;     // the first 1,000 at most
  std::vector<double> shares;  // parallel to `nodes`
  uint32_t nodes_left_out = 0;
  bool force_needed = false;
  std::string force_reason;
};

struct MutationResult {
  Version version;                    // after the change; with validate_only the version that the plan was computed at
  Version previous_version;           // equal to `version` when nothing changed; empty for CreateRing and DeleteRing
  Movement movement;                  // of the change, or of the plan
  std::vector<std::string> warnings;  // for people: of the ring that results
  std::optional<Plan> plan;           // with validate_only alone
  std::optional<WaitResult> waited;   // with wait_for alone
};

// --- History

// A node before and after a change. At least one side is there.
struct NodeDelta {
  std::optional<Node> before;  // absent = the change added the node
  std::optional<Node> after;   // absent = the change removed it
};

// What UpdateRing can change of a ring.
struct ChangeableSettings {
  uint32_t default_weight = 0;
  std::map<std::string, std::string> labels;
  HistoryLimits history_limits;

  bool operator==(const ChangeableSettings&) const = default;
};

struct SettingsDelta {
  ChangeableSettings before;
  ChangeableSettings after;
};

// One change of a ring, as its history keeps it.
struct ChangeRecord {
  Version version;             // that it led to
  uint64_t from_revision = 0;  // that it was made on; 0 for the creation of the ring
  uint64_t checksum = 0;
  std::chrono::system_clock::time_point time;
  std::string actor;
  std::string reason;
  std::string request_id;
  std::vector<NodeDelta> nodes;           // in order of id
  uint32_t nodes_left_out = 0;            // of a change that was too large for an answer
  std::optional<SettingsDelta> settings;  // absent = it changed none
  Movement movement;
};

// A part of the circle whose owner differs between two versions, in values of the ring's hash function. Absent =
// nobody.
struct MovedRange {
  uint64_t first = 0;
  uint64_t last = 0;  // included
  std::optional<std::string> from;
  std::optional<std::string> to;

  bool operator==(const MovedRange&) const = default;
};

// What moved between two versions of a ring.
struct VersionDiff {
  Version from;
  Version to;
  std::vector<MovedRange> ranges;  // in order, each as long as it can be
  Movement movement;
};

// --- Lookups

struct LookupOptions {
  uint32_t owners = 1;                 // distinct nodes wanted, 1..64
  std::optional<Version> min_version;  // that the answer must be at; waits up to 3 s
};

struct LookupResult {
  Version version;
  std::vector<Owner> owners;  // in order; never empty
  uint64_t hash = 0;
  bool owners_short = false;  // fewer than were asked for
};

// The owners of many keys, all from one version.
struct BatchLookupResult {
  Version version;
  std::vector<Owner> nodes;             // those that occur, each once
  std::vector<uint32_t> owner_indices;  // into `nodes`: owners_per_key of them a key, in the order of the keys
  uint32_t owners_per_key = 0;
  bool owners_short = false;

  // The owner of the i-th key. REQUIRES i < the number of keys.
  const Owner& owner(size_t i) const { return nodes[owner_indices[i * owners_per_key]]; }
  // Indices into `nodes` of all owners of the i-th key.
  std::span<const uint32_t> owners(size_t i) const {
    return std::span(owner_indices).subspan(i * owners_per_key, owners_per_key);
  }
};

// --- Errors

// The stable reason of an error, such as "RING_NOT_FOUND": for programs, where the text is for people. Empty when the
// error has none.
std::string ErrorReason(const absl::Status& status);

}  // namespace ringd
