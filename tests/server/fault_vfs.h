// FaultVfs: makes the disk under SQLite fail on demand. While one exists it is SQLite's default file system.
//
// Threads: one. Write, sync and truncate calls are counted; those that a fault is set for fail without reaching the
// disk. Has no shared memory, so a store that opens over it keeps none.
#pragma once

#include <sqlite3.h>

#include <functional>
#include <string>

namespace ringd::server {

class FaultVfs {
 public:
  enum class Op { kWrite, kSync, kTruncate };
  struct Call {
    Op op;
    bool log;    // of the write-ahead log, else of the database
    int number;  // from 1, over all calls since SetFault
  };
  // The SQLite code that a call fails with, or SQLITE_OK.
  using Fault = std::function<int(const Call&)>;

  FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  ~FaultVfs();

  void SetFault(Fault fault);
  void ClearFault() { SetFault(nullptr); }
  int calls() const { return calls_; }  // since SetFault

 private:
  struct File;
  static const sqlite3_io_methods kMethods;

  int Check(Op op, bool log);

  sqlite3_vfs vfs_;
  sqlite3_vfs* const real_;
  Fault fault_;
  int calls_ = 0;
};

}  // namespace ringd::server
