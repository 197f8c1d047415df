#include "server/memory_store.h"

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "server/storage_codec.h"
#include "server/store_rules.h"

namespace ringd::server {

struct MemoryStore::StoredHistory {
  RingHead head;
  std::map<std::string, ring::NodePtr> nodes;
  std::shared_ptr<const ring::SlotTable> slots;
  std::deque<ChangeRecord> changes;  // dense in revision, ends with the head's
  std::map<std::string, uint64_t, std::less<>> revision_by_request;

  const ChangeRecord& Change(uint64_t revision) const { return changes[revision - changes.front().version.revision]; }
};

MemoryStore::MemoryStore(CommitVerdict verdict) : verdict_(std::move(verdict)) {}
MemoryStore::~MemoryStore() = default;

absl::StatusOr<StoreContents> MemoryStore::Load() {
  MutexLock lock(mutex_);
  StoreContents contents;
  for (const auto& [name, history] : rings_) {
    StoredRing& ring = contents.rings.emplace_back();
    ring.head = history->head;
    for (const auto& [id, node] : history->nodes) ring.nodes.push_back(*node);
    if (history->slots != nullptr && history->slots->HasOwners()) {
      ring.slot_places.assign(history->slots->places().begin(), history->slots->places().end());
    }
  }
  contents.tombstones = tombstones_;
  contents.highest_epoch = highest_epoch_;
  return contents;
}

std::vector<absl::Status> MemoryStore::Commit(const std::vector<Write>& writes, absl::Time tombstones_before) {
  if (verdict_) {
    if (absl::Status verdict = verdict_(writes); !verdict.ok()) return {writes.size(), verdict};
  }
  MutexLock lock(mutex_);
  std::vector<absl::Status> results;
  std::set<std::string> refused;
  for (const Write& write : writes) {
    absl::Status result;
    if (refused.contains(RingOf(write))) {
      result = EarlierWriteRefused(RingOf(write));
    } else if (const auto* put = std::get_if<PutRing>(&write)) {
      result = ApplyLocked(*put);
    } else {
      result = ApplyLocked(std::get<DropRing>(write));
    }
    if (!result.ok()) refused.insert(RingOf(write));
    results.push_back(std::move(result));
  }
  std::erase_if(tombstones_, [&](const Tombstone& tombstone) { return tombstone.time < tombstones_before; });
  return results;
}

absl::Status MemoryStore::ApplyLocked(const PutRing& put) {
  const auto found = rings_.find(put.head.name);
  const bool is_new = found == rings_.end();
  const auto stored = is_new ? std::nullopt : std::optional(found->second->head.version);
  if (absl::Status check = CheckPut(put, stored, highest_epoch_); !check.ok()) return check;
  if (!is_new && found->second->revision_by_request.contains(put.change.request_id)) {
    return RequestTaken(put.head.name, put.change.request_id);
  }
  for (const ring::NodeDelta& delta : put.change.nodes) {
    const std::string& id = delta.after ? delta.after->id : delta.before->id;
    const bool is_there = !is_new && found->second->nodes.contains(id);
    if (is_there != (delta.before != nullptr)) return NodeMismatch(put.head.name, id);
  }

  auto& entry = rings_[put.head.name];
  if (is_new) entry = std::make_unique<StoredHistory>();
  StoredHistory& history = *entry;
  history.head = put.head;
  for (const ring::NodeDelta& delta : put.change.nodes) {
    if (delta.after) {
      history.nodes.insert_or_assign(delta.after->id, delta.after);
    } else {
      history.nodes.erase(delta.before->id);
    }
  }
  if (put.slots != nullptr) history.slots = put.slots;
  history.changes.push_back(put.change);
  if (!put.change.request_id.empty()) {
    history.revision_by_request.emplace(put.change.request_id, put.head.version.revision);
  }
  while (history.changes.size() > 1) {
    const ChangeRecord& oldest = history.changes.front();
    if (oldest.version.revision >= put.keep_from_revision && oldest.time >= put.keep_from_time) break;
    history.revision_by_request.erase(oldest.request_id);
    history.changes.pop_front();
  }
  highest_epoch_ = std::max(highest_epoch_, put.head.version.epoch);
  return absl::OkStatus();
}

absl::Status MemoryStore::ApplyLocked(const DropRing& drop) {
  const auto found = rings_.find(drop.tombstone.name);
  const auto stored = found == rings_.end() ? std::nullopt : std::optional(found->second->head.version);
  if (absl::Status check = CheckDrop(drop, stored); !check.ok()) return check;
  rings_.erase(found);
  if (!drop.tombstone.request_id.empty()) tombstones_.push_back(drop.tombstone);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<ChangeRecord>> MemoryStore::ReadChanges(std::string_view ring, uint64_t epoch,
                                                                   uint64_t first, size_t max_count, size_t max_bytes) {
  MutexLock lock(mutex_);
  std::vector<ChangeRecord> changes;
  const auto found = rings_.find(ring);
  if (found == rings_.end() || found->second->head.version.epoch != epoch) return changes;
  const StoredHistory& history = *found->second;
  if (first < history.changes.front().version.revision) return changes;
  size_t bytes = 0;
  for (uint64_t revision = first;
       revision <= history.head.version.revision && changes.size() < max_count && bytes < max_bytes; ++revision) {
    changes.push_back(history.Change(revision));
    bytes += EncodeChange(changes.back()).size();
  }
  return changes;
}

absl::StatusOr<std::vector<ChangeRecord>> MemoryStore::ReadEarlierChanges(std::string_view ring, uint64_t epoch,
                                                                          uint64_t last, size_t max_count,
                                                                          size_t max_bytes) {
  MutexLock lock(mutex_);
  std::vector<ChangeRecord> changes;
  const auto found = rings_.find(ring);
  if (found == rings_.end() || found->second->head.version.epoch != epoch) return changes;
  const StoredHistory& history = *found->second;
  if (last > history.head.version.revision) return changes;
  size_t bytes = 0;
  for (uint64_t revision = last;
       revision >= history.changes.front().version.revision && changes.size() < max_count && bytes < max_bytes;
       --revision) {
    changes.push_back(history.Change(revision));
    bytes += EncodeChange(changes.back()).size();
  }
  return changes;
}

absl::StatusOr<std::optional<ChangeRecord>> MemoryStore::FindRequest(std::string_view ring,
                                                                     std::string_view request_id) {
  MutexLock lock(mutex_);
  const auto found = rings_.find(ring);
  if (found == rings_.end()) return std::nullopt;
  const auto revision = found->second->revision_by_request.find(request_id);
  if (revision == found->second->revision_by_request.end()) return std::nullopt;
  return found->second->Change(revision->second);
}

}  // namespace ringd::server
