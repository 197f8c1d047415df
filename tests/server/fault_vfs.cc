#include "tests/server/fault_vfs.h"

#include <utility>

namespace ringd::server {

struct FaultVfs::File {
  sqlite3_file base;
  FaultVfs* owner;
  bool log;

  // The file of the real file system lies behind this one.
  static sqlite3_file* Real(sqlite3_file* file) {
    return reinterpret_cast<sqlite3_file*>(reinterpret_cast<File*>(file) + 1);
  }
  static int Check(sqlite3_file* file, Op op) {
    File* self = reinterpret_cast<File*>(file);
    return self->owner->Check(op, self->log);
  }

  static int Close(sqlite3_file* f) { return Real(f)->pMethods->xClose(Real(f)); }
  static int Read(sqlite3_file* f, void* to, int size, sqlite3_int64 at) {
    return Real(f)->pMethods->xRead(Real(f), to, size, at);
  }
  static int Write(sqlite3_file* f, const void* from, int size, sqlite3_int64 at) {
    const int code = Check(f, Op::kWrite);
    return code != SQLITE_OK ? code : Real(f)->pMethods->xWrite(Real(f), from, size, at);
  }
  static int Truncate(sqlite3_file* f, sqlite3_int64 size) {
    const int code = Check(f, Op::kTruncate);
    return code != SQLITE_OK ? code : Real(f)->pMethods->xTruncate(Real(f), size);
  }
  static int Sync(sqlite3_file* f, int flags) {
    const int code = Check(f, Op::kSync);
    return code != SQLITE_OK ? code : Real(f)->pMethods->xSync(Real(f), flags);
  }
  static int FileSize(sqlite3_file* f, sqlite3_int64* size) { return Real(f)->pMethods->xFileSize(Real(f), size); }
  static int Lock(sqlite3_file* f, int level) { return Real(f)->pMethods->xLock(Real(f), level); }
  static int Unlock(sqlite3_file* f, int level) { return Real(f)->pMethods->xUnlock(Real(f), level); }
  static int CheckReservedLock(sqlite3_file* f, int* out) {
    return Real(f)->pMethods->xCheckReservedLock(Real(f), out);
  }
  static int FileControl(sqlite3_file* f, int op, void* arg) {
    return Real(f)->pMethods->xFileControl(Real(f), op, arg);
  }
  static int SectorSize(sqlite3_file* f) { return Real(f)->pMethods->xSectorSize(Real(f)); }
  static int Characteristics(sqlite3_file* f) { return Real(f)->pMethods->xDeviceCharacteristics(Real(f)); }
};

const sqlite3_io_methods FaultVfs::kMethods = [] {
  sqlite3_io_methods methods{};
  methods.iVersion = 1;
  methods.xClose = File::Close;
  methods.xRead = File::Read;
  methods.xWrite = File::Write;
  methods.xTruncate = File::Truncate;
  methods.xSync = File::Sync;
  methods.xFileSize = File::FileSize;
  methods.xLock = File::Lock;
  methods.xUnlock = File::Unlock;
  methods.xCheckReservedLock = File::CheckReservedLock;
  methods.xFileControl = File::FileControl;
  methods.xSectorSize = File::SectorSize;
  methods.xDeviceCharacteristics = File::Characteristics;
  return methods;
}();

FaultVfs::FaultVfs() : vfs_(*sqlite3_vfs_find(nullptr)), real_(sqlite3_vfs_find(nullptr)) {
  vfs_.zName = "fault";
  vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
  vfs_.pNext = nullptr;
  vfs_.pAppData = this;
  vfs_.xOpen = [](sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
    auto* owner = static_cast<FaultVfs*>(vfs->pAppData);
    auto* self = reinterpret_cast<File*>(file);
    self->base.pMethods = nullptr;
    self->owner = owner;
    self->log = (flags & SQLITE_OPEN_WAL) != 0;
    const int code = owner->real_->xOpen(owner->real_, name, File::Real(file), flags, out_flags);
    if (code == SQLITE_OK) self->base.pMethods = &kMethods;
    return code;
  };
  sqlite3_vfs_register(&vfs_, 1);
}

FaultVfs::~FaultVfs() {
  sqlite3_vfs_unregister(&vfs_);
  sqlite3_vfs_register(real_, 1);
}

void FaultVfs::SetFault(Fault fault) {
  fault_ = std::move(fault);
  calls_ = 0;
}

int FaultVfs::Check(Op op, bool log) {
  ++calls_;
  return fault_ ? fault_({op, log, calls_}) : SQLITE_OK;
}

}  // namespace ringd::server
