#include "server/restore.h"

#include <map>
#include <optional>
#include <string>

#include "fmt/format.h"
#include "ring/error.h"
#include "server/store_rules.h"

namespace ringd::server {
namespace {

absl::Status NotKept(const RingState& state, const ring::Version& version, const std::string& why) {
  return ring::Error(
      absl::StatusCode::kNotFound, kVersionNotKept,
      fmt::format("ring {} has no version {}: {}", ring::Quote(state.head.name), ToString(version), why));
}

struct WayBack {
  std::vector<ring::Operation> operations;  // make the nodes those of then; each on another node
  ring::SlotMoves moves;                    // make the slots those of then; of a ring of slots
  // What the ring had then, by which to prove that the operations lead there.
  uint64_t checksum = 0;
  uint32_t default_weight = 0;
};

// The nodes and slots of a ring that differ from those that it has now, while its changes are undone one after the
// other.
class Undone {
 public:
  explicit Undone(const RingState& state)
      : ring_(state.ring), checksum_(state.head.checksum), default_weight_(state.head.settings.default_weight) {
    if (ring_.slots() != nullptr) slots_.emplace(*ring_.slots(), ring_.table()->nodes);
  }

  // REQUIRES the change before the one that was undone last.
  absl::Status Undo(const ChangeRecord& change) {
    for (const ring::NodeDelta& delta : change.nodes) {
      const std::string& id = delta.before ? delta.before->id : delta.after->id;
      if (delta.before == nullptr && ring_.Find(id) == ring_.node_count()) {
        differ_.erase(id);  // it was not there then, and is not there now
      } else {
        differ_[id] = delta.before;
      }
    }
    checksum_ = change.from_checksum;
    if (change.ring_update.has_value()) default_weight_ = change.ring_update->before.default_weight;
    if (!slots_.has_value() || change.slot_moves.runs.empty()) return absl::OkStatus();
    return slots_->Undo(change.slot_moves);
  }

  WayBack Way() const {
    WayBack way{.checksum = checksum_, .default_weight = default_weight_};
    if (slots_.has_value()) way.moves = slots_->Moves();
    for (const auto& [id, node] : differ_) {
      if (node != nullptr) {
        way.operations.emplace_back(ring::PutNode{.node = *node});
      } else {
        way.operations.emplace_back(ring::RemoveNode{.id = id});
      }
    }
    return way;
  }

 private:
  const ring::Ring& ring_;
  std::map<std::string, ring::NodePtr> differ_;  // as they were; null = it was not there
  std::optional<ring::SlotRewind> slots_;
  uint64_t checksum_;
  uint32_t default_weight_;
};

absl::StatusOr<WayBack> FindWayBack(const RingState& state, const ring::Version& version, const EarlierChanges& read) {
  const ring::Version head = state.head.version;
  if (version.epoch != head.epoch) {
    return NotKept(state, version, fmt::format("its epoch is {}, since it was made", head.epoch));
  }
  if (version.revision > head.revision) return NotKept(state, version, fmt::format("it is at {}", ToString(head)));
  Undone undone(state);
  ring::Version last = head;
  while (last.revision > version.revision) {
    const auto changes = read(last);
    if (!changes.ok()) return changes.status();
    if (changes->empty()) {
      return NotKept(state, version, fmt::format("its history is kept from {} on", ToString(last)));
    }
    for (const ChangeRecord& change : *changes) {
      if (last.revision == version.revision) break;
      if (absl::Status status = undone.Undo(change); !status.ok()) return status;
      last.revision--;
    }
  }
  return undone.Way();
}

}  // namespace

absl::StatusOr<ring::Applied> GoBack(const RingState& state, const ring::Version& version, const ring::Limits& limits,
                                     const EarlierChanges& read) {
  const auto way = FindWayBack(state, version, read);
  if (!way.ok()) return way.status();
  const std::string prefix = fmt::format("ring {}: ", ring::Quote(state.head.name));
  auto applied = state.ring.Apply(way->operations, way->moves, limits);
  if (!applied.ok()) return ring::Prefixed(prefix, applied.status());
  if (applied->ring.WithDefaultWeight(way->default_weight).checksum() != way->checksum) {
    return ring::Error(absl::StatusCode::kInternal, kStoreInternal,
                       prefix + "its history does not lead back to version " + ToString(version));
  }
  return applied;
}

}  // namespace ringd::server
