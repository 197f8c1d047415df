// DataDir: the directory that holds a durable store, locked for this process.
//
// The lock is the kernel's (flock on the directory itself): it ends with the process, there is no file that could be
// left over or deleted, and every path to the directory, symlinks too, meets the same lock.
// Threads: any, once made. The lock is held until the object is destroyed.
// Errors: one line with the path and the system's words. NOT_FOUND missing; FAILED_PRECONDITION in use, no directory,
// or without the permissions it takes. On error nothing was created.
#pragma once

#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "server/descriptor.h"

namespace ringd::server {

// Whether what is missing is made. What is there is never touched by it.
enum class InitMode { kMustExist, kCreate };

class DataDir {
 public:
  // Opens and locks a directory. With kCreate it is made when missing (mode 0700); its parent must exist.
  static absl::StatusOr<DataDir> Open(const std::string& path, InitMode mode);

  const std::string& path() const { return path_; }
  // For openat() and the like, and to fsync the directory's entries. Owned by this object.
  int fd() const { return fd_.get(); }

 private:
  DataDir(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  Descriptor fd_;
};

}  // namespace ringd::server
