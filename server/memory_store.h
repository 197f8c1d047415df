// MemoryStore: a Store that forgets all when it is destroyed. For tests.
//
// Threads and errors as in store.h. It may be loaded again, as if a server had started anew on it.
// History is pruned at once, while other stores may take several writes to do so.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "ring/mutex.h"
#include "server/store.h"

namespace ringd::server {

class MemoryStore : public Store {
 public:
  // Asked before every Commit, outside the lock: an error is the answer to all of its writes, and none is made.
  using CommitVerdict = std::function<absl::Status(const std::vector<Write>&)>;

  explicit MemoryStore(CommitVerdict verdict = nullptr);
  ~MemoryStore() override;

  absl::StatusOr<StoreContents> Load() override;
  std::vector<absl::Status> Commit(const std::vector<Write>& writes, absl::Time tombstones_before) override;
  absl::StatusOr<std::vector<ChangeRecord>> ReadChanges(std::string_view ring, uint64_t epoch, uint64_t first,
                                                        size_t max_count, size_t max_bytes) override;
  absl::StatusOr<std::vector<ChangeRecord>> ReadEarlierChanges(std::string_view ring, uint64_t epoch, uint64_t last,
                                                               size_t max_count, size_t max_bytes) override;
  absl::StatusOr<std::optional<ChangeRecord>> FindRequest(std::string_view ring, std::string_view request_id) override;

 private:
  struct StoredHistory;

  absl::Status ApplyLocked(const PutRing& put) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status ApplyLocked(const DropRing& drop) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const CommitVerdict verdict_;
  Mutex mutex_;
  std::map<std::string, std::unique_ptr<StoredHistory>, std::less<>> rings_ ABSL_GUARDED_BY(mutex_);
  std::vector<Tombstone> tombstones_ ABSL_GUARDED_BY(mutex_);
  uint64_t highest_epoch_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace ringd::server
