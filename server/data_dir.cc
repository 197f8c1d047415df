#include "server/data_dir.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

#include "ring/error.h"
#include "server/store_rules.h"

namespace ringd::server {
namespace {

std::string ErrnoText(int error) { return std::generic_category().message(error); }

absl::Status DirError(const std::string& path, int error, std::string_view hint = "") {
  const auto code = error == ENOENT ? absl::StatusCode::kNotFound : absl::StatusCode::kFailedPrecondition;
  return ring::Error(code, kStoreUnreachable, fmt::format("data directory \"{}\": {}{}", path, ErrnoText(error), hint));
}

// The process that holds a flock on a file, or 0 when the kernel does not tell.
// A line reads "1: FLOCK  ADVISORY  WRITE 4711 08:01:131073 0 EOF"; one that waits has "->" after the number.
int64_t LockHolder(int fd) {
  struct stat status;
  if (fstat(fd, &status) != 0) return 0;
  const std::string file = fmt::format("{:02x}:{:02x}:{}", major(status.st_dev), minor(status.st_dev), status.st_ino);
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, strictness, access, locked;
    int64_t pid = 0;
    if (words >> number >> kind >> strictness >> access >> pid >> locked && kind == "FLOCK" && locked == file) {
      return pid > 0 ? pid : 0;
    }
  }
  return 0;
}

absl::Status InUse(const std::string& path, int fd) {
  const int64_t pid = LockHolder(fd);
  return ring::Error(absl::StatusCode::kFailedPrecondition, kStoreInUse,
                     fmt::format("data directory \"{}\" is in use by {}", path,
                                 pid > 0 ? fmt::format("process {}", pid) : "another process"));
}

}  // namespace

absl::StatusOr<DataDir> DataDir::Open(const std::string& path, InitMode mode) {
  bool created = false;
  if (mode == InitMode::kCreate) {
    created = mkdir(path.c_str(), 0700) == 0;
    if (!created && errno != EEXIST) {
      const int error = errno;
      return DirError(path, error, error == ENOENT ? "; its parent directory must exist" : "");
    }
  }
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    const int error = errno;
    return DirError(path, error, error == ENOENT && mode == InitMode::kMustExist ? "; --init creates it" : "");
  }
  DataDir dir(path, fd);
  if (faccessat(fd, ".", R_OK | W_OK | X_OK, AT_EACCESS) != 0) return DirError(path, errno);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    return error == EWOULDBLOCK ? InUse(path, fd) : DirError(path, error);
  }
  if (mode == InitMode::kCreate) {
    // The directory's own entry must survive a power loss, or all that will be in it is lost with it. Also when it is
    // there already: who made it may have been killed before this. But then its parent may be another user's.
    const Descriptor parent(openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const int error = parent.get() < 0 || fsync(parent.get()) != 0 ? errno : 0;
    if (error != 0 && created) return DirError(path, error);
  }
  return dir;
}

}  // namespace ringd::server
