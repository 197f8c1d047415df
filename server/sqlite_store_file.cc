#include "server/sqlite_store_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <system_error>

#include "ring/error.h"
#include "server/descriptor.h"
#include "server/sqlite_db.h"
#include "server/sqlite_log_check.h"
#include "server/sqlite_store_checksum.h"
#include "server/store_rules.h"

namespace ringd::server {
namespace {

constexpr uint32_t kApplicationId = 0x72696e67;  // "ring"
constexpr uint32_t kFormat = 1;
constexpr char kLogName[] = "ringd.db-wal";
constexpr char kTemporaryName[] = "ringd.db.tmp";

// In SQLite's file header.
constexpr size_t kHeaderBytes = 100;
constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr size_t kUserVersionOffset = 60;
constexpr size_t kApplicationIdOffset = 68;

// Every row has a checksum of its own (sqlite_store_checksum.h). A ring's row holds the sums, modulo 2^64, of those of
// its nodes and changes, `meta` those of all rings and tombstones, so that a lost row shows too.
// `identity` is never written again: its page is never in the log, while that of `meta` is whenever anything is. So a
// log that another store left shows in a store_id that differs.
constexpr char kSchema[] = R"sql(
CREATE TABLE identity(
  id INTEGER PRIMARY KEY CHECK (id = 1),
  store_id BLOB NOT NULL);
CREATE TABLE meta(
  id INTEGER PRIMARY KEY CHECK (id = 1),
  store_id BLOB NOT NULL,
  highest_epoch INTEGER NOT NULL,
  rings_digest INTEGER NOT NULL,
  tombstones_digest INTEGER NOT NULL,
  checksum INTEGER NOT NULL);
CREATE TABLE ring(
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  epoch INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  record BLOB NOT NULL,
  nodes_digest INTEGER NOT NULL,
  changes_digest INTEGER NOT NULL,
  checksum INTEGER NOT NULL);
CREATE TABLE node(
  ring_id INTEGER NOT NULL REFERENCES ring(id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  record BLOB NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (ring_id, id)) WITHOUT ROWID;
CREATE TABLE change(
  ring_id INTEGER NOT NULL REFERENCES ring(id) ON DELETE CASCADE,
  revision INTEGER NOT NULL,
  time_micros INTEGER NOT NULL,
  request_id TEXT,
  record BLOB NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (ring_id, revision)) WITHOUT ROWID;
CREATE UNIQUE INDEX change_by_request ON change(ring_id, request_id) WHERE request_id IS NOT NULL;
CREATE TABLE tombstone(
  name TEXT NOT NULL,
  epoch INTEGER NOT NULL,
  time_micros INTEGER NOT NULL,
  record BLOB NOT NULL,
  checksum INTEGER NOT NULL,
  PRIMARY KEY (name, epoch)) WITHOUT ROWID;
CREATE INDEX tombstone_by_time ON tombstone(time_micros);
)sql";

std::string PathOf(const DataDir& dir, const char* name) { return dir.path() + "/" + name; }

absl::Status SystemError(const DataDir& dir, const char* name, int error) {
  return ring::Error(absl::StatusCode::kUnavailable, kStoreUnreachable,
                     fmt::format("\"{}\": {}", PathOf(dir, name), std::generic_category().message(error)));
}

absl::Status Refused(const DataDir& dir, const char* name, const std::string& why) {
  return ring::Error(absl::StatusCode::kFailedPrecondition, kStoreFormat,
                     fmt::format("\"{}\" {}", PathOf(dir, name), why));
}

Descriptor OpenFile(const DataDir& dir, const char* name, int flags) {
  return Descriptor(openat(dir.fd(), name, flags | O_CLOEXEC, 0600));
}

uint32_t BigEndian32(const char* bytes) {
  const auto byte = [&](int i) { return static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])); };
  return byte(0) << 24 | byte(1) << 16 | byte(2) << 8 | byte(3);
}

absl::Status CheckHeader(const DataDir& dir) {
  const Descriptor file = OpenFile(dir, kStoreFileName, O_RDWR | O_NOFOLLOW | O_NONBLOCK);
  if (file.get() < 0) {
    const int error = errno;
    if (error == ELOOP) return Refused(dir, kStoreFileName, "is a symbolic link, not a ringd store");
    return SystemError(dir, kStoreFileName, error);
  }
  std::array<char, kHeaderBytes> header{};
  const ssize_t bytes = pread(file.get(), header.data(), header.size(), 0);
  if (bytes < 0) return SystemError(dir, kStoreFileName, errno);
  if (bytes == 0) return Refused(dir, kStoreFileName, "is empty: a ringd store never is");
  if (static_cast<size_t>(bytes) < header.size() || std::string_view(header.data(), kMagic.size()) != kMagic) {
    return Refused(dir, kStoreFileName, "is not a ringd store");
  }
  const uint32_t application_id = BigEndian32(header.data() + kApplicationIdOffset);
  if (application_id != kApplicationId) {
    return Refused(dir, kStoreFileName,
                   fmt::format("is not a ringd store: it is an SQLite database of another program "
                               "(application_id {:#x})",
                               application_id));
  }
  const uint32_t format = BigEndian32(header.data() + kUserVersionOffset);
  if (format != kFormat) {
    return Refused(dir, kStoreFileName, fmt::format("has format {}, this binary reads format {}", format, kFormat));
  }
  return absl::OkStatus();
}

// A log is a few MiB: it is merged into the file at 1,000 pages.
absl::StatusOr<std::string> ReadLog(const DataDir& dir) {
  std::string log;
  const Descriptor file = OpenFile(dir, kLogName, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (file.get() < 0) return errno == ENOENT ? absl::StatusOr<std::string>(log) : SystemError(dir, kLogName, errno);
  std::array<char, 1 << 16> buffer;
  while (true) {
    const ssize_t bytes = read(file.get(), buffer.data(), buffer.size());
    if (bytes < 0) return SystemError(dir, kLogName, errno);
    if (bytes == 0) return log;
    log.append(buffer.data(), static_cast<size_t>(bytes));
  }
}

absl::Status CheckLog(const DataDir& dir) {
  const absl::StatusOr<std::string> log = ReadLog(dir);
  if (!log.ok()) return log.status();
  const std::optional<size_t> damage = FindLogDamage(*log);
  if (!damage.has_value()) return absl::OkStatus();
  return ring::Error(
      absl::StatusCode::kDataLoss, kStoreCorrupt,
      fmt::format("\"{}\" is damaged at byte {}, before changes that were acknowledged: bring the data "
                  "directory back from a backup; the runbook in deploy/README.md says what else there is",
                  PathOf(dir, kLogName), *damage));
}

absl::Status RemoveIfThere(const DataDir& dir, const std::string& name) {
  if (unlinkat(dir.fd(), name.c_str(), 0) == 0 || errno == ENOENT) return absl::OkStatus();
  return SystemError(dir, name.c_str(), errno);
}

absl::Status RemoveTemporaries(const DataDir& dir) {
  for (const char* suffix : {"", "-wal", "-journal"}) {
    if (absl::Status removed = RemoveIfThere(dir, std::string(kTemporaryName) + suffix); !removed.ok()) return removed;
  }
  return absl::OkStatus();
}

absl::Status WriteSchema(const std::string& path) {
  absl::StatusOr<std::unique_ptr<SqliteDb>> opened = SqliteDb::Open(path);
  if (!opened.ok()) return opened.status();
  SqliteDb& db = **opened;
  std::random_device random;
  std::array<uint32_t, 4> words;
  for (uint32_t& word : words) word = random();
  const std::string store_id(reinterpret_cast<const char*>(words.data()), sizeof(words));
  SqliteTransaction transaction(db);
  absl::Status status = transaction.Begin();
  if (status.ok()) status = db.Exec(kSchema);
  if (status.ok()) status = AddSlotsTable(db);
  if (status.ok()) status = db.Exec(fmt::format("PRAGMA application_id = {}", kApplicationId).c_str());
  if (status.ok()) status = db.Exec(fmt::format("PRAGMA user_version = {}", kFormat).c_str());
  if (status.ok()) status = SqliteQuery(db, "INSERT INTO identity VALUES(1, ?)").BindBlob(store_id).Run();
  if (status.ok()) {
    status = SqliteQuery(db, "INSERT INTO meta VALUES(1, ?, 0, 0, 0, ?)")
                 .BindBlob(store_id)
                 .BindInt(MetaChecksum(store_id, 0, 0, 0))
                 .Run();
  }
  if (status.ok()) status = transaction.Commit();
  if (status.ok()) status = db.Checkpoint();
  if (status.ok()) db.SetLogOnClose(LogOnClose::kMergeAndDelete);
  return status;
}

absl::Status Create(const DataDir& dir) {
  {
    const Descriptor file = OpenFile(dir, kTemporaryName, O_RDWR | O_CREAT | O_EXCL);
    if (file.get() < 0) return SystemError(dir, kTemporaryName, errno);
  }
  if (absl::Status written = WriteSchema(PathOf(dir, kTemporaryName)); !written.ok()) return written;
  const Descriptor file = OpenFile(dir, kTemporaryName, O_RDWR | O_NOFOLLOW);
  if (file.get() < 0 || fsync(file.get()) != 0) return SystemError(dir, kTemporaryName, errno);
  if (renameat(dir.fd(), kTemporaryName, dir.fd(), kStoreFileName) != 0) {
    return SystemError(dir, kTemporaryName, errno);
  }
  return fsync(dir.fd()) == 0 ? absl::OkStatus() : SystemError(dir, kStoreFileName, errno);
}

}  // namespace

absl::Status AddSlotsTable(SqliteDb& db) {
  return db.Exec(
      "CREATE TABLE IF NOT EXISTS slots("
      "  ring_id INTEGER PRIMARY KEY REFERENCES ring(id) ON DELETE CASCADE,"
      "  record BLOB NOT NULL,"
      "  checksum INTEGER NOT NULL)");
}

absl::Status PrepareStoreFile(const DataDir& dir, InitMode mode) {
  if (absl::Status removed = RemoveTemporaries(dir); !removed.ok()) return removed;
  struct stat status;
  if (fstatat(dir.fd(), kStoreFileName, &status, AT_SYMLINK_NOFOLLOW) == 0) {
    if (S_ISDIR(status.st_mode)) return Refused(dir, kStoreFileName, "is a directory, not a ringd store");
    if (absl::Status checked = CheckHeader(dir); !checked.ok()) return checked;
    return CheckLog(dir);
  }
  if (errno != ENOENT) return SystemError(dir, kStoreFileName, errno);
  if (fstatat(dir.fd(), kLogName, &status, AT_SYMLINK_NOFOLLOW) == 0) {
    return Refused(
        dir, kLogName,
        fmt::format("is there without \"{}\": it is the leftover log of a store whose file is gone; bring the "
                    "file back, or move the log away",
                    kStoreFileName));
  }
  if (mode == InitMode::kMustExist) {
    return ring::Error(absl::StatusCode::kNotFound, kStoreUnreachable,
                       fmt::format("data directory \"{}\" holds no store; --init creates one", dir.path()));
  }
  absl::Status created = Create(dir);
  if (!created.ok()) (void)RemoveTemporaries(dir);  // the first error is the one to tell
  return created;
}

}  // namespace ringd::server
