// SqliteDb and SqliteQuery: SQLite with every return code looked at. A thin wrapper that knows nothing of rings.
//
// Threads: one at a time for a database and all its queries; the owner serialises them.
// Lifetime: a query must not outlive its database, nor the bytes bound to it the query.
// Errors, with the file and the system's words: RESOURCE_EXHAUSTED disk full; FAILED_PRECONDITION locked by another
// process; DATA_LOSS no database, or a damaged one; UNAVAILABLE it cannot be read or written; INTERNAL a bug of ours.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace ringd::server {

// What closing a database does with its log.
enum class LogOnClose { kKeep, kMergeAndDelete };

class SqliteDb {
 public:
  // Opens a file that is there, with the settings of a durable store: WAL, synchronous=FULL, locked for this process
  // alone, the log kept on close. Merges the log only when told to; see Checkpoint.
  static absl::StatusOr<std::unique_ptr<SqliteDb>> Open(const std::string& path);

  SqliteDb(const SqliteDb&) = delete;
  ~SqliteDb();

  // Runs statements that take no arguments and give no rows that matter.
  absl::Status Exec(const char* sql);
  // The number that a pragma answers.
  absl::StatusOr<uint64_t> Pragma(const char* sql);

  // Merges the log into the database and makes both durable. RESOURCE_EXHAUSTED: the log stays as it was, and with it
  // all that was committed; any other error: nothing may be written to this database any more.
  absl::Status Checkpoint();

  void SetLogOnClose(LogOnClose mode);
  bool InTransaction() const { return sqlite3_get_autocommit(handle_) == 0; }
  int64_t LastInsertId() const { return sqlite3_last_insert_rowid(handle_); }
  // Pages in the log after the last commit.
  int log_pages() const { return log_pages_; }

 private:
  friend class SqliteQuery;

  SqliteDb(std::string path, sqlite3* handle) : path_(std::move(path)), handle_(handle) {}
  absl::Status Configure();
  absl::Status Error(int code) const;
  // Prepared once for each SQL text, which must be a constant: it is told by its address.
  absl::StatusOr<sqlite3_stmt*> Prepare(const char* sql);

  const std::string path_;
  sqlite3* const handle_;
  std::map<const char*, sqlite3_stmt*> statements_;
  int log_pages_ = 0;
};

// One run of a prepared statement. Arguments are given in order of the ?s.
//
//   SqliteQuery find(db, "SELECT revision FROM ring WHERE name = ?");
//   find.BindText(name);
//   absl::StatusOr<bool> found = find.Next();
class SqliteQuery {
 public:
  SqliteQuery(SqliteDb& db, const char* sql);
  SqliteQuery(const SqliteQuery&) = delete;
  ~SqliteQuery();

  SqliteQuery& BindInt(uint64_t value) { return BindSigned(static_cast<int64_t>(value)); }
  SqliteQuery& BindSigned(int64_t value);
  SqliteQuery& BindText(std::string_view value);
  SqliteQuery& BindTextOrNull(std::string_view value);  // empty = NULL
  SqliteQuery& BindBlob(std::string_view value);

  // Goes to the next row; false = there is none. Errors of the constructor and of Bind come out here.
  absl::StatusOr<bool> Next();
  // For a statement without rows.
  absl::Status Run();

  // Columns of the row, from 0. The bytes live until the next Next().
  uint64_t Int(int column) const { return static_cast<uint64_t>(Signed(column)); }
  int64_t Signed(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string_view Bytes(int column) const;

 private:
  void Check(int code);

  SqliteDb& db_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
  absl::Status status_;
};

// A transaction that writes; rolled back unless committed.
class SqliteTransaction {
 public:
  explicit SqliteTransaction(SqliteDb& db) : db_(db) {}
  SqliteTransaction(const SqliteTransaction&) = delete;
  ~SqliteTransaction();

  absl::Status Begin() { return db_.Exec("BEGIN IMMEDIATE"); }
  absl::Status Commit() { return db_.Exec("COMMIT"); }

 private:
  SqliteDb& db_;
};

}  // namespace ringd::server
