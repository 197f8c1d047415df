// Rings, changes and writes for the tests of stores.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "server/store.h"

namespace ringd::server {

inline absl::Time At(int64_t seconds) { return absl::FromUnixSeconds(1'700'000'000 + seconds); }

inline ring::NodePtr TestNode(const std::string& id, uint32_t weight = 100) {
  ring::Node node;
  node.id = id;
  node.address = id + ".example:7000";
  node.weight = weight;
  node.zone = "z1";
  node.hash_key = id;
  node.metadata = {{"rack", "r1"}, {"disk", "ssd"}};
  node.join_number = 1;
  return std::make_shared<const ring::Node>(node);
}

inline RingHead TestHead(const std::string& name, ring::Version version) {
  RingHead head;
  head.name = name;
  head.version = version;
  head.labels = {{"team", "storage"}, {"env", "prod"}};
  head.history_limits = {absl::Hours(24), 500};
  head.create_time = At(0);
  head.update_time = At(static_cast<int64_t>(version.revision));
  head.next_join_number = version.revision + 1;
  head.checksum = 0x8000'0000'0000'0000u + version.revision;  // above the range of SQLite's integers
  return head;
}

inline ring::Movement TestMovement() {
  return {.moved_share = 0.25,
          .pairs = {{"a", "b", 0.25}, {"", "b", 0.125}, {"a", "", 0.0625}},
          .other_pairs_share = 0.03125,
          .balance_before = {.max_ratio = 1.5, .min_ratio = 0.5},
          .balance_after = {.max_ratio = 1.25, .min_ratio = 0.75}};
}

// A write that takes ring `name` to `version` by `nodes`; at second `revision`.
inline PutRing TestPut(const std::string& name, ring::Version version, std::vector<ring::NodeDelta> nodes,
                       const std::string& request_id = "") {
  PutRing put;
  put.head = TestHead(name, version);
  put.change.version = version;
  put.change.checksum = put.head.checksum;
  put.change.from_checksum = version.revision == 1 ? 0 : put.head.checksum - 1;
  put.change.time = put.head.update_time;
  put.change.actor = "127.0.0.1:4711";
  put.change.reason = "test";
  put.change.request_id = request_id;
  put.change.request_fingerprint = request_id.empty() ? 0 : 0xfedc'ba98'7654'3210u;
  put.change.nodes = std::move(nodes);
  put.change.movement = TestMovement();
  put.change.warnings = {"node \"a\" has much", "and so on"};
  return put;
}

inline RingDelta TestRingDelta() {
  return {.before = {.default_weight = 100, .labels = {{"a", "1"}}},
          .after = {.default_weight = 7, .labels = {{"b", "2"}}, .history_limits = {absl::Hours(1), 9}}};
}

inline ring::SlotMoves TestMoves() {
  ring::SlotMoves moves;
  moves.owners = 2;
  moves.nodes = {"a", "b", "c"};
  moves.runs = {{0, 0}, {7, 9}, {10, 1023}};
  const uint32_t nobody = ring::SlotTable::kNobody;
  moves.before = {nobody, nobody, 0, 1, 2, 0};
  moves.after = {0, nobody, 1, 0, 1, 2};
  return moves;
}

// A table of 1,024 slots that are all of the node at this index.
inline std::shared_ptr<const ring::SlotTable> TestSlots(uint32_t node) {
  return std::make_shared<const ring::SlotTable>(10, 1, std::vector<uint32_t>(1'024, node));
}

inline PutRing TestCreate(const std::string& name, uint64_t epoch) { return TestPut(name, {epoch, 1}, {}); }

inline PutRing TestAdd(const std::string& name, ring::Version version, const std::string& node,
                       const std::string& request_id = "") {
  return TestPut(name, version, {{nullptr, TestNode(node)}}, request_id);
}

inline DropRing TestDrop(const std::string& name, ring::Version version, const std::string& request_id = "",
                         absl::Time time = At(0)) {
  return {{name, version, request_id, request_id.empty() ? 0u : 7u, time, TestMovement()}};
}

inline absl::Status CommitOne(Store& store, Write write) {
  return store.Commit({std::move(write)}, absl::InfinitePast()).front();
}

inline std::vector<std::string> NodeIds(const StoredRing& ring) {
  std::vector<std::string> ids;
  for (const ring::Node& node : ring.nodes) ids.push_back(node.id);
  return ids;
}

inline std::vector<uint64_t> Revisions(const std::vector<ChangeRecord>& changes) {
  std::vector<uint64_t> revisions;
  for (const ChangeRecord& change : changes) revisions.push_back(change.version.revision);
  return revisions;
}

// Whether two changes are equal, nodes by their contents.
inline bool SameChange(const ChangeRecord& a, const ChangeRecord& b) {
  const auto same_node = [](const ring::NodePtr& x, const ring::NodePtr& y) {
    return (x == nullptr) == (y == nullptr) && (x == nullptr || *x == *y);
  };
  if (a.nodes.size() != b.nodes.size()) return false;
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    if (!same_node(a.nodes[i].before, b.nodes[i].before) || !same_node(a.nodes[i].after, b.nodes[i].after)) {
      return false;
    }
  }
  return a.version == b.version && a.checksum == b.checksum && a.from_checksum == b.from_checksum && a.time == b.time &&
         a.actor == b.actor && a.reason == b.reason && a.request_id == b.request_id &&
         a.request_fingerprint == b.request_fingerprint && a.movement == b.movement && a.warnings == b.warnings &&
         a.ring_update == b.ring_update && a.slot_moves == b.slot_moves;
}

// A directory of its own, removed in the end.
class TempDir {
 public:
  explicit TempDir(const std::filesystem::path& parent = std::filesystem::temp_directory_path()) {
    std::string path = (parent / "ringd_store_XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) std::abort();
    path_ = path;
  }
  TempDir(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Where a test that opens stores by the thousand makes them: in memory, where there is such a file system.
inline std::filesystem::path FastParent() {
  return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::filesystem::temp_directory_path();
}

}  // namespace ringd::server
