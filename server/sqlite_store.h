// SqliteStore: a Store in one SQLite file, "ringd.db" in a data directory that it locks.
//
// Threads and errors as in store.h; reads wait while a Commit is under way, so that they never see what is not durable.
// A Commit is one transaction and one fsync, however many writes it holds.
// After the first error that may have lost data (a failed fsync or write, a damaged file) it takes no more writes until
// it is opened anew, and leaves its files as they are: a second fsync would succeed and prove nothing. Reads go on. A
// full disk is no such error.
// A change costs the rows that it touches, whatever the size of the ring. Load reads and verifies everything.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "ring/mutex.h"
#include "server/data_dir.h"
#include "server/sqlite_db.h"
#include "server/store.h"

namespace ringd::server {

class SqliteStore : public Store {
 public:
  // Opens the store of a data directory; with kCreate, directory and store are made when missing. Errors, besides those
  // of DataDir and SqliteDb: NOT_FOUND no store there; FAILED_PRECONDITION what is there is not a store that this
  // binary reads. What is refused is left as it was.
  static absl::StatusOr<std::unique_ptr<SqliteStore>> Open(const std::string& data_dir, InitMode mode);

  ~SqliteStore() override;

  // Must succeed before the first Commit.
  absl::StatusOr<StoreContents> Load() override;
  std::vector<absl::Status> Commit(const std::vector<Write>& writes, absl::Time tombstones_before) override;
  absl::StatusOr<std::vector<ChangeRecord>> ReadChanges(std::string_view ring, uint64_t epoch, uint64_t first,
                                                        size_t max_count, size_t max_bytes) override;
  absl::StatusOr<std::vector<ChangeRecord>> ReadEarlierChanges(std::string_view ring, uint64_t epoch, uint64_t last,
                                                               size_t max_count, size_t max_bytes) override;
  absl::StatusOr<std::optional<ChangeRecord>> FindRequest(std::string_view ring, std::string_view request_id) override;

 private:
  // The one row of `meta`, but for its checksum.
  struct Meta {
    std::string store_id;
    uint64_t highest_epoch = 0;
    uint64_t rings_digest = 0;
    uint64_t tombstones_digest = 0;

    bool operator==(const Meta&) const = default;
  };
  // What a ring's row says besides the record.
  struct RingRow {
    int64_t id = 0;
    ring::Version version;
    uint64_t nodes_digest = 0;
    uint64_t changes_digest = 0;
    uint64_t checksum = 0;
  };

  SqliteStore(DataDir dir, std::unique_ptr<SqliteDb> db);

  absl::Status ReadMetaLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<StoreContents> LoadLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Fills in results of refused writes. An error is of the whole transaction, and nothing was written.
  absl::Status CommitLocked(const std::vector<Write>& writes, absl::Time tombstones_before,
                            std::vector<absl::Status>& results) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // ABORTED: refused, and no row was touched.
  absl::Status ApplyLocked(const PutRing& put, Meta& meta) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status ApplyLocked(const DropRing& drop, Meta& meta) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::optional<RingRow>> FindRingLocked(std::string_view name) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The changes that a query of the form of kReadChanges answers, from revision `from` on, which must be kept.
  absl::StatusOr<std::vector<ChangeRecord>> ReadChangesLocked(const char* sql, std::string_view ring, uint64_t epoch,
                                                              uint64_t from, size_t max_count, size_t max_bytes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WriteNodesLocked(const PutRing& put, RingRow& row) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WriteSlotsLocked(const PutRing& put, const RingRow& row) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WriteChangeLocked(const PutRing& put, RingRow& row) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status PruneChangesLocked(const PutRing& put, RingRow& row) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status PruneTombstonesLocked(absl::Time before, Meta& meta) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status WriteMetaLocked(const Meta& meta) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Keeps a log of at least so many pages, and the file, from growing. Errors never touch what was committed.
  absl::Status TidyLocked(int log_pages) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LatchLocked(const absl::Status& error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const DataDir dir_;
  Mutex mutex_;
  const std::unique_ptr<SqliteDb> db_ ABSL_PT_GUARDED_BY(mutex_);
  Meta meta_ ABSL_GUARDED_BY(mutex_);
  absl::Status writable_ ABSL_GUARDED_BY(mutex_);  // the answer to every write when it is an error
};

}  // namespace ringd::server
