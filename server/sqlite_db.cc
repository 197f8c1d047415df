#include "server/sqlite_db.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "ring/error.h"
#include "server/store_rules.h"

namespace ringd::server {
namespace {

constexpr int kBusyMillis = 500;

bool IsOutOfSpace(int code, int system_error) {
  if ((code & 0xff) == SQLITE_FULL) return true;
  // SQLite knows ENOSPC alone. Only writes: an fsync that failed may have lost data, whatever the reason.
  return code == SQLITE_IOERR_WRITE && (system_error == EDQUOT || system_error == EFBIG);
}

// The system's error behind the call on the database's file or its log that has just failed; what sqlite3_system_errno
// tells is errno as a later call left it. SQLite keeps the error of a file until the next one; a read past the end
// clears it, so that it is not told of another failure.
int TakeSystemError(sqlite3* handle) {
  constexpr sqlite3_int64 kPastTheEnd = sqlite3_int64{1} << 48;
  for (const int of : {SQLITE_FCNTL_JOURNAL_POINTER, SQLITE_FCNTL_FILE_POINTER}) {
    sqlite3_file* file = nullptr;
    if (sqlite3_file_control(handle, "main", of, &file) != SQLITE_OK || file == nullptr || file->pMethods == nullptr) {
      continue;
    }
    int error = 0;
    if (file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &error) != SQLITE_OK || error == 0) continue;
    char byte = 0;
    (void)file->pMethods->xRead(file, &byte, 1, kPastTheEnd);
    return error;
  }
  return sqlite3_system_errno(handle);
}

}  // namespace

absl::StatusOr<std::unique_ptr<SqliteDb>> SqliteDb::Open(const std::string& path) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle,
                                   SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, nullptr);
  if (handle == nullptr) {
    return ring::Error(absl::StatusCode::kResourceExhausted, kStoreFull, "no memory to open a database");
  }
  std::unique_ptr<SqliteDb> db(new SqliteDb(path, handle));
  if (code != SQLITE_OK) return db->Error(code);
  if (absl::Status configured = db->Configure(); !configured.ok()) return configured;
  return db;
}

absl::Status SqliteDb::Configure() {
  SetLogOnClose(LogOnClose::kKeep);
  sqlite3_busy_timeout(handle_, kBusyMillis);
  // Takes the place of SQLite's own checkpoints after a commit, which drop their errors: after a lost fsync it would
  // try again, succeed, and throw the only good copy away.
  sqlite3_wal_hook(
      handle_,
      [](void* db, sqlite3*, const char*, int pages) {
        static_cast<SqliteDb*>(db)->log_pages_ = pages;
        return SQLITE_OK;
      },
      this);
  // Locked before the first access, so that the index of the log is in this process's memory, not in a file.
  absl::Status status = Exec(
      "PRAGMA locking_mode = EXCLUSIVE;"
      "PRAGMA synchronous = FULL;"
      "PRAGMA foreign_keys = ON;"
      "PRAGMA temp_store = MEMORY;"
      "PRAGMA cell_size_check = ON;"
      "PRAGMA trusted_schema = OFF;"
      "PRAGMA journal_size_limit = 16777216");
  if (!status.ok()) return status;
  absl::StatusOr<uint64_t> pages = Pragma("PRAGMA page_count");
  if (!pages.ok()) return pages.status();
  if (*pages == 0) {  // later it cannot be set any more, and to try would be a write
    if (status = Exec("PRAGMA auto_vacuum = INCREMENTAL"); !status.ok()) return status;
  }
  SqliteQuery mode(*this, "PRAGMA journal_mode = WAL");
  absl::StatusOr<bool> row = mode.Next();
  if (!row.ok()) return row.status();
  if (*row && mode.Bytes(0) == "wal") return absl::OkStatus();
  return ring::Error(absl::StatusCode::kUnavailable, kStoreUnreachable,
                     fmt::format("\"{}\": SQLite cannot keep a write-ahead log here", path_));
}

SqliteDb::~SqliteDb() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  // A checkpoint that fails here leaves the log, from which the next start recovers.
  sqlite3_close(handle_);
}

absl::Status SqliteDb::Exec(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Error(code);
}

absl::StatusOr<uint64_t> SqliteDb::Pragma(const char* sql) {
  SqliteQuery query(*this, sql);
  absl::StatusOr<bool> row = query.Next();
  if (!row.ok()) return row.status();
  return *row ? query.Int(0) : 0;
}

absl::Status SqliteDb::Checkpoint() {
  const int code = sqlite3_wal_checkpoint_v2(handle_, nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  if (code != SQLITE_OK) return Error(code);
  log_pages_ = 0;
  return absl::OkStatus();
}

void SqliteDb::SetLogOnClose(LogOnClose mode) {
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, mode == LogOnClose::kKeep ? 1 : 0, nullptr);
}

absl::Status SqliteDb::Error(int code) const {
  const int system_error = TakeSystemError(handle_);
  const std::string file = fmt::format("\"{}\"", path_);
  if (IsOutOfSpace(code, system_error)) {
    const bool limited = system_error == EDQUOT || system_error == EFBIG;
    return ring::Error(absl::StatusCode::kResourceExhausted, kStoreFull,
                       fmt::format("{}: {}", file, limited ? std::strerror(system_error) : "the disk is full"));
  }
  switch (code & 0xff) {
    case SQLITE_NOMEM:
      return ring::Error(absl::StatusCode::kResourceExhausted, kStoreFull, fmt::format("{}: out of memory", file));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ring::Error(absl::StatusCode::kFailedPrecondition, kStoreInUse,
                         fmt::format("{} is in use by another process", file));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
      return ring::Error(absl::StatusCode::kDataLoss, kStoreCorrupt,
                         fmt::format("{} is damaged: {}", file, sqlite3_errmsg(handle_)));
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_PROTOCOL:
      return ring::Error(absl::StatusCode::kUnavailable, kStoreUnreachable,
                         fmt::format("{}: {} ({})", file, sqlite3_errstr(code & 0xff),
                                     system_error != 0 ? std::generic_category().message(system_error)
                                                       : fmt::format("code {}", code)));
    default:
      return ring::Error(absl::StatusCode::kInternal, kStoreInternal,
                         fmt::format("{}: {} (code {})", file, sqlite3_errmsg(handle_), code));
  }
}

absl::StatusOr<sqlite3_stmt*> SqliteDb::Prepare(const char* sql) {
  sqlite3_stmt*& statement = statements_[sql];
  if (statement == nullptr) {
    const int code = sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) return Error(code);
  }
  return statement;
}

SqliteQuery::SqliteQuery(SqliteDb& db, const char* sql) : db_(db) {
  absl::StatusOr<sqlite3_stmt*> statement = db_.Prepare(sql);
  if (statement.ok()) {
    statement_ = *statement;
  } else {
    status_ = statement.status();
  }
}

SqliteQuery::~SqliteQuery() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);  // repeats the error of the last step, which Next has told
  sqlite3_clear_bindings(statement_);
}

void SqliteQuery::Check(int code) {
  if (code != SQLITE_OK && status_.ok()) status_ = db_.Error(code);
}

SqliteQuery& SqliteQuery::BindSigned(int64_t value) {
  if (status_.ok()) Check(sqlite3_bind_int64(statement_, ++bound_, value));
  return *this;
}

SqliteQuery& SqliteQuery::BindText(std::string_view value) {
  // Without an address SQLite would take the empty text for NULL.
  const char* data = value.empty() ? "" : value.data();
  if (status_.ok()) {
    Check(sqlite3_bind_text64(statement_, ++bound_, data, value.size(), SQLITE_STATIC, SQLITE_UTF8));
  }
  return *this;
}

SqliteQuery& SqliteQuery::BindTextOrNull(std::string_view value) {
  if (!value.empty()) return BindText(value);
  if (status_.ok()) Check(sqlite3_bind_null(statement_, ++bound_));
  return *this;
}

SqliteQuery& SqliteQuery::BindBlob(std::string_view value) {
  const char* data = value.empty() ? "" : value.data();
  if (status_.ok()) Check(sqlite3_bind_blob64(statement_, ++bound_, data, value.size(), SQLITE_STATIC));
  return *this;
}

absl::StatusOr<bool> SqliteQuery::Next() {
  if (!status_.ok()) return status_;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  status_ = db_.Error(code);
  return status_;
}

absl::Status SqliteQuery::Run() { return Next().status(); }

std::string_view SqliteQuery::Bytes(int column) const {
  const void* data = sqlite3_column_blob(statement_, column);
  if (data == nullptr) return {};
  return {static_cast<const char*>(data), static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

SqliteTransaction::~SqliteTransaction() {
  // What fails here shows in InTransaction(): the store then takes no more writes.
  if (db_.InTransaction()) (void)db_.Exec("ROLLBACK");
}

}  // namespace ringd::server
