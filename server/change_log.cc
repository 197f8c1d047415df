#include "server/change_log.h"

#include <utility>

namespace ringd::server {

namespace {

size_t DeltasOf(const ChangeRecord& change) {
  size_t points = 0;
  for (const ring::NodeDelta& delta : change.nodes) {
    if (delta.before != nullptr) points += delta.before->points.size();
    if (delta.after != nullptr) points += delta.after->points.size();
  }
  return change.nodes.size() + change.slot_moves.runs.size() / ChangeLog::kRunsOfDelta +
         points / ChangeLog::kPointsOfDelta;
}

}  // namespace

void ChangeLog::Append(std::shared_ptr<const PublishedChange> change) {
  MutexLock lock(mutex_);
  deltas_ += DeltasOf(change->record);
  changes_.push_back(std::move(change));
  while (changes_.size() > kMaxChanges || (deltas_ > kMaxDeltas && changes_.size() > 1)) {
    deltas_ -= DeltasOf(changes_.front()->record);
    changes_.pop_front();
  }
}

std::shared_ptr<const PublishedChange> ChangeLog::Get(uint64_t revision) const {
  MutexLock lock(mutex_);
  if (changes_.empty()) return nullptr;
  const uint64_t first = changes_.front()->record.version.revision;
  if (revision < first || revision - first >= changes_.size()) return nullptr;
  return changes_[revision - first];
}

}  // namespace ringd::server
