#include "server/sqlite_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "ring/error.h"
#include "server/sqlite_store_checksum.h"
#include "server/sqlite_store_file.h"
#include "server/sqlite_store_loader.h"
#include "server/storage_codec.h"
#include "server/store_rules.h"

namespace ringd::server {
namespace {

// Work of one write, so that a shortened history is not paid for by one caller.
constexpr uint64_t kPrunedChangesPerWrite = 1'000;
constexpr int kLogPagesBeforeCheckpoint = 1'000;
// Free pages are used again by the next rows; only what is much more goes back to the disk, a part each time.
constexpr uint64_t kSpareFreePages = 1'024;

constexpr char kReadMeta[] = "SELECT store_id, highest_epoch, rings_digest, tombstones_digest, checksum FROM meta";
constexpr char kReadIdentity[] = "SELECT store_id FROM identity";
constexpr char kWriteMeta[] =
    "UPDATE meta SET highest_epoch = ?, rings_digest = ?, tombstones_digest = ?, checksum = ?";
constexpr char kFindRing[] =
    "SELECT id, epoch, revision, nodes_digest, changes_digest, checksum FROM ring WHERE name = ?";
constexpr char kAddRing[] =
    "INSERT INTO ring(name, epoch, revision, record, nodes_digest, changes_digest, checksum) "
    "VALUES(?, ?, 0, x'', 0, 0, 0)";
constexpr char kWriteRing[] =
    "UPDATE ring SET revision = ?, record = ?, nodes_digest = ?, changes_digest = ?, checksum = ? WHERE id = ?";
constexpr char kDropRing[] = "DELETE FROM ring WHERE id = ?";
constexpr char kFindNode[] = "SELECT checksum FROM node WHERE ring_id = ? AND id = ?";
constexpr char kWriteNode[] = "REPLACE INTO node(ring_id, id, record, checksum) VALUES(?, ?, ?, ?)";
constexpr char kDropNode[] = "DELETE FROM node WHERE ring_id = ? AND id = ?";
constexpr char kWriteSlots[] = "REPLACE INTO slots(ring_id, record, checksum) VALUES(?, ?, ?)";
constexpr char kDropSlots[] = "DELETE FROM slots WHERE ring_id = ?";
constexpr char kAddChange[] =
    "INSERT INTO change(ring_id, revision, time_micros, request_id, record, checksum) VALUES(?, ?, ?, ?, ?, ?)";
constexpr char kOldestChanges[] =
    "SELECT revision, time_micros, checksum FROM change WHERE ring_id = ? AND revision < ? ORDER BY revision LIMIT ?";
constexpr char kDropChanges[] = "DELETE FROM change WHERE ring_id = ? AND revision <= ?";
constexpr char kReadChanges[] =
    "SELECT revision, time_micros, request_id, record, checksum FROM change "
    "WHERE ring_id = ? AND revision >= ? ORDER BY revision LIMIT ?";
constexpr char kReadEarlierChanges[] =
    "SELECT revision, time_micros, request_id, record, checksum FROM change "
    "WHERE ring_id = ? AND revision <= ? ORDER BY revision DESC LIMIT ?";
constexpr char kFindRequest[] =
    "SELECT revision, time_micros, request_id, record, checksum FROM change WHERE ring_id = ? AND request_id = ?";
constexpr char kAddTombstone[] =
    "INSERT INTO tombstone(name, epoch, time_micros, record, checksum) VALUES(?, ?, ?, ?, ?)";
constexpr char kDropTombstones[] = "DELETE FROM tombstone WHERE time_micros < ? RETURNING checksum";

// The change in the current row of a query whose columns are those of kReadChanges.
absl::StatusOr<ChangeRecord> ReadChange(std::string_view ring, uint64_t epoch, const SqliteQuery& row) {
  const std::string where = fmt::format("ring {}, change {}: ", ring::Quote(ring), row.Int(0));
  if (RingChecksums(ring, epoch).Change(row.Int(0), row.Signed(1), row.Bytes(2), row.Bytes(3)) != row.Int(4)) {
    return ring::Error(absl::StatusCode::kDataLoss, kStoreCorrupt, where + "the row is not what was written");
  }
  absl::StatusOr<ChangeRecord> change = DecodeChange(row.Bytes(3));
  return change.ok() ? std::move(change) : ring::Prefixed(where, change.status());
}

// Whether an error leaves it open what is on the disk.
bool MayHaveLostData(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDataLoss(status) || absl::IsFailedPrecondition(status);
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteStore>> SqliteStore::Open(const std::string& data_dir, InitMode mode) {
  absl::StatusOr<DataDir> dir = DataDir::Open(data_dir, mode);
  if (!dir.ok()) return dir.status();
  if (absl::Status prepared = PrepareStoreFile(*dir, mode); !prepared.ok()) return prepared;
  absl::StatusOr<std::unique_ptr<SqliteDb>> db = SqliteDb::Open(dir->path() + "/" + kStoreFileName);
  if (!db.ok()) return db.status();
  std::unique_ptr<SqliteStore> store(new SqliteStore(*std::move(dir), *std::move(db)));
  MutexLock lock(store->mutex_);
  if (absl::Status read = store->ReadMetaLocked(); !read.ok()) return read;
  if (absl::Status added = AddSlotsTable(*store->db_); !added.ok()) return added;
  return store;
}

SqliteStore::SqliteStore(DataDir dir, std::unique_ptr<SqliteDb> db)
    : dir_(std::move(dir)),
      db_(std::move(db)),
      writable_(ring::Error(absl::StatusCode::kInternal, kStoreInternal, "the store was not loaded")) {}

SqliteStore::~SqliteStore() = default;

absl::Status SqliteStore::ReadMetaLocked() {
  SqliteQuery row(*db_, kReadMeta);
  absl::StatusOr<bool> found = row.Next();
  if (!found.ok()) return found.status();
  SqliteQuery identity(*db_, kReadIdentity);
  absl::StatusOr<bool> identified = identity.Next();
  if (!identified.ok()) return identified.status();
  if (!*found || !*identified) {
    return ring::Error(absl::StatusCode::kDataLoss, kStoreCorrupt,
                       fmt::format("data directory \"{}\": the store has lost its identity", dir_.path()));
  }
  if (row.Bytes(0) != identity.Bytes(0)) {
    return ring::Error(
        absl::StatusCode::kFailedPrecondition, kStoreFormat,
        fmt::format("data directory \"{}\": \"{}-wal\" is the log of another store; bring back the files "
                    "that belong together",
                    dir_.path(), kStoreFileName));
  }
  meta_ = {std::string(row.Bytes(0)), row.Int(1), row.Int(2), row.Int(3)};
  if (MetaChecksum(meta_.store_id, meta_.highest_epoch, meta_.rings_digest, meta_.tombstones_digest) != row.Int(4)) {
    return ring::Error(absl::StatusCode::kDataLoss, kStoreCorrupt,
                       fmt::format("data directory \"{}\": the row of meta is not what was written", dir_.path()));
  }
  return absl::OkStatus();
}

absl::StatusOr<StoreContents> SqliteStore::Load() {
  MutexLock lock(mutex_);
  absl::StatusOr<StoreContents> contents = LoadLocked();
  if (!contents.ok()) LatchLocked(contents.status());
  return contents;
}

absl::StatusOr<StoreContents> SqliteStore::LoadLocked() {
  absl::StatusOr<LoadedRows> rows = LoadRows(*db_);
  if (!rows.ok()) return rows.status();
  if (rows->rings_digest != meta_.rings_digest || rows->tombstones_digest != meta_.tombstones_digest) {
    return ring::Error(absl::StatusCode::kDataLoss, kStoreCorrupt,
                       fmt::format("data directory \"{}\": rows of {} are lost, or too many", dir_.path(),
                                   rows->rings_digest != meta_.rings_digest ? "rings" : "tombstones"));
  }
  // What a killed or failed process left in the log was read from memory and may be on no disk. It is about to be
  // shown, so it is first written anew and made durable.
  absl::Status durable = db_->Checkpoint();
  if (!durable.ok() && !absl::IsResourceExhausted(durable)) return durable;
  db_->SetLogOnClose(LogOnClose::kMergeAndDelete);
  writable_ = absl::OkStatus();
  StoreContents contents = std::move(rows->contents);
  contents.highest_epoch = meta_.highest_epoch;
  return contents;
}

std::vector<absl::Status> SqliteStore::Commit(const std::vector<Write>& writes, absl::Time tombstones_before) {
  MutexLock lock(mutex_);
  if (!writable_.ok()) return {writes.size(), writable_};
  std::vector<absl::Status> results(writes.size());
  const absl::Status committed = CommitLocked(writes, tombstones_before, results);
  if (!committed.ok()) results.assign(writes.size(), committed);
  if (MayHaveLostData(committed) || db_->InTransaction()) {
    LatchLocked(committed);
    return results;
  }
  // On a full disk, a log that is merged can be written over: that is room for the next change.
  const absl::Status tidied = TidyLocked(absl::IsResourceExhausted(committed) ? 1 : kLogPagesBeforeCheckpoint);
  if (MayHaveLostData(tidied)) LatchLocked(tidied);
  return results;
}

absl::Status SqliteStore::CommitLocked(const std::vector<Write>& writes, absl::Time tombstones_before,
                                       std::vector<absl::Status>& results) {
  SqliteTransaction transaction(*db_);
  if (absl::Status begun = transaction.Begin(); !begun.ok()) return begun;
  Meta meta = meta_;
  std::set<std::string> refused;
  for (size_t i = 0; i < writes.size(); ++i) {
    const std::string& ring = RingOf(writes[i]);
    if (refused.contains(ring)) {
      results[i] = EarlierWriteRefused(ring);
      continue;
    }
    results[i] = std::visit(
        [&](const auto& write) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return ApplyLocked(write, meta); }, writes[i]);
    if (absl::IsAborted(results[i])) {
      refused.insert(ring);
    } else if (!results[i].ok()) {
      return results[i];
    }
  }
  if (absl::Status pruned = PruneTombstonesLocked(tombstones_before, meta); !pruned.ok()) return pruned;
  if (meta != meta_) {
    if (absl::Status written = WriteMetaLocked(meta); !written.ok()) return written;
  }
  if (absl::Status committed = transaction.Commit(); !committed.ok()) return committed;
  meta_ = std::move(meta);
  return absl::OkStatus();
}

absl::Status SqliteStore::ApplyLocked(const PutRing& put, Meta& meta) {
  const std::string& name = put.head.name;
  absl::StatusOr<std::optional<RingRow>> stored = FindRingLocked(name);
  if (!stored.ok()) return stored.status();
  const auto version = *stored ? std::optional((*stored)->version) : std::nullopt;
  if (absl::Status check = CheckPut(put, version, meta.highest_epoch); !check.ok()) return check;
  if (version && !put.change.request_id.empty()) {
    SqliteQuery taken(*db_, kFindRequest);
    taken.BindSigned((*stored)->id).BindText(put.change.request_id);
    absl::StatusOr<bool> found = taken.Next();
    if (!found.ok()) return found.status();
    if (*found) return RequestTaken(name, put.change.request_id);
  }

  RingRow row = stored->value_or(RingRow());
  if (!version) {
    absl::Status added = SqliteQuery(*db_, kAddRing).BindText(name).BindInt(put.head.version.epoch).Run();
    if (!added.ok()) return added;
    row.id = db_->LastInsertId();
  }
  if (absl::Status nodes = WriteNodesLocked(put, row); !nodes.ok()) return nodes;
  if (absl::Status slots = WriteSlotsLocked(put, row); !slots.ok()) return slots;
  if (absl::Status change = WriteChangeLocked(put, row); !change.ok()) return change;
  if (absl::Status pruned = PruneChangesLocked(put, row); !pruned.ok()) return pruned;

  const std::string record = EncodeRing(put.head);
  const uint64_t revision = put.head.version.revision;
  const uint64_t checksum =
      RingChecksums(name, put.head.version.epoch).Ring(revision, record, row.nodes_digest, row.changes_digest);
  meta.rings_digest += checksum - row.checksum;
  meta.highest_epoch = std::max(meta.highest_epoch, put.head.version.epoch);
  return SqliteQuery(*db_, kWriteRing)
      .BindInt(revision)
      .BindBlob(record)
      .BindInt(row.nodes_digest)
      .BindInt(row.changes_digest)
      .BindInt(checksum)
      .BindSigned(row.id)
      .Run();
}

absl::Status SqliteStore::ApplyLocked(const DropRing& drop, Meta& meta) {
  const Tombstone& tombstone = drop.tombstone;
  absl::StatusOr<std::optional<RingRow>> stored = FindRingLocked(tombstone.name);
  if (!stored.ok()) return stored.status();
  const auto version = *stored ? std::optional((*stored)->version) : std::nullopt;
  if (absl::Status check = CheckDrop(drop, version); !check.ok()) return check;

  absl::Status dropped = SqliteQuery(*db_, kDropRing).BindSigned((*stored)->id).Run();
  if (!dropped.ok()) return dropped;
  meta.rings_digest -= (*stored)->checksum;
  if (tombstone.request_id.empty()) return absl::OkStatus();

  const std::string record = EncodeTombstone(tombstone);
  const int64_t time_micros = absl::ToUnixMicros(tombstone.time);
  const uint64_t checksum = RingChecksums(tombstone.name, tombstone.version.epoch).Tombstone(time_micros, record);
  meta.tombstones_digest += checksum;
  return SqliteQuery(*db_, kAddTombstone)
      .BindText(tombstone.name)
      .BindInt(tombstone.version.epoch)
      .BindSigned(time_micros)
      .BindBlob(record)
      .BindInt(checksum)
      .Run();
}

absl::StatusOr<std::optional<SqliteStore::RingRow>> SqliteStore::FindRingLocked(std::string_view name) {
  SqliteQuery find(*db_, kFindRing);
  find.BindText(name);
  absl::StatusOr<bool> found = find.Next();
  if (!found.ok()) return found.status();
  if (!*found) return std::nullopt;
  return RingRow{find.Signed(0), {find.Int(1), find.Int(2)}, find.Int(3), find.Int(4), find.Int(5)};
}

absl::Status SqliteStore::WriteNodesLocked(const PutRing& put, RingRow& row) {
  const RingChecksums checksums(put.head.name, put.head.version.epoch);
  for (const ring::NodeDelta& delta : put.change.nodes) {
    const std::string& id = delta.after ? delta.after->id : delta.before->id;
    SqliteQuery find(*db_, kFindNode);
    absl::StatusOr<bool> found = find.BindSigned(row.id).BindText(id).Next();
    if (!found.ok()) return found.status();
    if (*found != (delta.before != nullptr)) return NodeMismatch(put.head.name, id);
    if (*found) row.nodes_digest -= find.Int(0);
    if (!delta.after) {
      absl::Status dropped = SqliteQuery(*db_, kDropNode).BindSigned(row.id).BindText(id).Run();
      if (!dropped.ok()) return dropped;
      continue;
    }
    const std::string record = EncodeNode(*delta.after);
    const uint64_t checksum = checksums.Node(id, record);
    row.nodes_digest += checksum;
    absl::Status written =
        SqliteQuery(*db_, kWriteNode).BindSigned(row.id).BindText(id).BindBlob(record).BindInt(checksum).Run();
    if (!written.ok()) return written;
  }
  return absl::OkStatus();
}

absl::Status SqliteStore::WriteSlotsLocked(const PutRing& put, const RingRow& row) {
  if (put.slots == nullptr) return absl::OkStatus();
  if (!put.slots->HasOwners()) return SqliteQuery(*db_, kDropSlots).BindSigned(row.id).Run();
  const std::string record = EncodeSlots(put.slots->places());
  const uint64_t checksum = RingChecksums(put.head.name, put.head.version.epoch).Slots(record);
  return SqliteQuery(*db_, kWriteSlots).BindSigned(row.id).BindBlob(record).BindInt(checksum).Run();
}

absl::Status SqliteStore::WriteChangeLocked(const PutRing& put, RingRow& row) {
  const ChangeRecord& change = put.change;
  const std::string record = EncodeChange(change);
  const int64_t time_micros = absl::ToUnixMicros(change.time);
  const uint64_t checksum = RingChecksums(put.head.name, change.version.epoch)
                                .Change(change.version.revision, time_micros, change.request_id, record);
  row.changes_digest += checksum;
  return SqliteQuery(*db_, kAddChange)
      .BindSigned(row.id)
      .BindInt(change.version.revision)
      .BindSigned(time_micros)
      .BindTextOrNull(change.request_id)
      .BindBlob(record)
      .BindInt(checksum)
      .Run();
}

absl::Status SqliteStore::PruneChangesLocked(const PutRing& put, RingRow& row) {
  const int64_t keep_from_micros = absl::ToUnixMicros(put.keep_from_time);
  std::optional<uint64_t> last;  // from the oldest on, so that what is kept has no gap
  {
    SqliteQuery oldest(*db_, kOldestChanges);
    oldest.BindSigned(row.id).BindInt(put.change.version.revision).BindInt(kPrunedChangesPerWrite);
    while (true) {
      absl::StatusOr<bool> found = oldest.Next();
      if (!found.ok()) return found.status();
      if (!*found || (oldest.Int(0) >= put.keep_from_revision && oldest.Signed(1) >= keep_from_micros)) break;
      last = oldest.Int(0);
      row.changes_digest -= oldest.Int(2);
    }
  }
  if (!last) return absl::OkStatus();
  return SqliteQuery(*db_, kDropChanges).BindSigned(row.id).BindInt(*last).Run();
}

absl::Status SqliteStore::PruneTombstonesLocked(absl::Time before, Meta& meta) {
  SqliteQuery drop(*db_, kDropTombstones);
  drop.BindSigned(absl::ToUnixMicros(before));
  while (true) {
    absl::StatusOr<bool> dropped = drop.Next();
    if (!dropped.ok()) return dropped.status();
    if (!*dropped) return absl::OkStatus();
    meta.tombstones_digest -= drop.Int(0);
  }
}

absl::Status SqliteStore::WriteMetaLocked(const Meta& meta) {
  return SqliteQuery(*db_, kWriteMeta)
      .BindInt(meta.highest_epoch)
      .BindInt(meta.rings_digest)
      .BindInt(meta.tombstones_digest)
      .BindInt(MetaChecksum(meta.store_id, meta.highest_epoch, meta.rings_digest, meta.tombstones_digest))
      .Run();
}

absl::Status SqliteStore::TidyLocked(int log_pages) {
  if (db_->log_pages() < log_pages) return absl::OkStatus();
  absl::StatusOr<uint64_t> free_pages = db_->Pragma("PRAGMA freelist_count");
  if (!free_pages.ok()) return free_pages.status();
  if (*free_pages > kSpareFreePages) {
    absl::Status vacuumed = db_->Exec("PRAGMA incremental_vacuum(512)");
    if (!vacuumed.ok() && !absl::IsResourceExhausted(vacuumed)) return vacuumed;
  }
  return db_->Checkpoint();
}

void SqliteStore::LatchLocked(const absl::Status& error) {
  db_->SetLogOnClose(LogOnClose::kKeep);
  writable_ = ring::Error(absl::StatusCode::kUnavailable, kStoreUnreachable,
                          fmt::format("the store takes no more changes until ringd is started anew, since: {}",
                                      std::string(error.message())));
}

absl::StatusOr<std::vector<ChangeRecord>> SqliteStore::ReadChanges(std::string_view ring, uint64_t epoch,
                                                                   uint64_t first, size_t max_count, size_t max_bytes) {
  MutexLock lock(mutex_);
  return ReadChangesLocked(kReadChanges, ring, epoch, first, max_count, max_bytes);
}

absl::StatusOr<std::vector<ChangeRecord>> SqliteStore::ReadEarlierChanges(std::string_view ring, uint64_t epoch,
                                                                          uint64_t last, size_t max_count,
                                                                          size_t max_bytes) {
  MutexLock lock(mutex_);
  return ReadChangesLocked(kReadEarlierChanges, ring, epoch, last, max_count, max_bytes);
}

absl::StatusOr<std::vector<ChangeRecord>> SqliteStore::ReadChangesLocked(const char* sql, std::string_view ring,
                                                                         uint64_t epoch, uint64_t from,
                                                                         size_t max_count, size_t max_bytes) {
  std::vector<ChangeRecord> changes;
  size_t bytes = 0;
  absl::StatusOr<std::optional<RingRow>> row = FindRingLocked(ring);
  if (!row.ok()) return row.status();
  if (!*row || (*row)->version.epoch != epoch) return changes;
  SqliteQuery read(*db_, sql);
  read.BindSigned((*row)->id).BindInt(from).BindInt(max_count);
  while (true) {
    absl::StatusOr<bool> found = read.Next();
    if (!found.ok()) return found.status();
    if (!*found) return changes;
    if (changes.empty() && read.Int(0) != from) return changes;  // `from` is not kept
    absl::StatusOr<ChangeRecord> change = ReadChange(ring, epoch, read);
    if (!change.ok()) return change.status();
    bytes += read.Bytes(3).size();
    changes.push_back(*std::move(change));
    if (bytes >= max_bytes) return changes;
  }
}

absl::StatusOr<std::optional<ChangeRecord>> SqliteStore::FindRequest(std::string_view ring,
                                                                     std::string_view request_id) {
  MutexLock lock(mutex_);
  absl::StatusOr<std::optional<RingRow>> row = FindRingLocked(ring);
  if (!row.ok()) return row.status();
  if (!*row) return std::nullopt;
  SqliteQuery find(*db_, kFindRequest);
  find.BindSigned((*row)->id).BindText(request_id);
  absl::StatusOr<bool> found = find.Next();
  if (!found.ok()) return found.status();
  if (!*found) return std::nullopt;
  absl::StatusOr<ChangeRecord> change = ReadChange(ring, (*row)->version.epoch, find);
  if (!change.ok()) return change.status();
  return *std::move(change);
}

}  // namespace ringd::server
