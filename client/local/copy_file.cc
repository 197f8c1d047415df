#include "client/local/copy_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "ring/error.h"

namespace ringd {
namespace {

std::string FileName(const std::string& path) { return "saved copy " + ring::Quote(path) + " "; }

// Of the errno of the call that has just failed.
absl::Status Failed(const std::string& what) { return absl::ErrnoToStatus(errno, what); }

bool IsSameFile(int file, const std::string& path) {
  struct stat of_file {};
  struct stat of_path {};
  return fstat(file, &of_file) == 0 && stat(path.c_str(), &of_path) == 0 && of_file.st_ino == of_path.st_ino &&
         of_file.st_dev == of_path.st_dev;
}

absl::Status WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed("cannot be written");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status Replace(const std::string& path, std::string_view bytes) {
  // Opened first, as no error may come once the file is replaced, but for that of a broken disk.
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const int folder = open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return Failed("cannot be written: its folder");
  const absl::Cleanup folder_closed = [folder] { close(folder); };
  const std::string next = path + ".tmp";
  const int file = open(next.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) return Failed("cannot be written");
  const absl::Cleanup closed = [file] { close(file); };
  // Who has the lock of the file that has this name writes it. Without the second look, it could be the one that
  // another process has just put in the place of `path`.
  const bool locked = flock(file, LOCK_EX | LOCK_NB) == 0;
  if (!locked && errno != EWOULDBLOCK) return Failed("cannot be locked");
  if (!locked || !IsSameFile(file, next)) return absl::UnavailableError("is just being saved by another one");
  absl::Cleanup not_left = [&next] { unlink(next.c_str()); };
  if (ftruncate(file, 0) != 0) return Failed("cannot be written");
  if (absl::Status written = WriteAll(file, bytes); !written.ok()) return written;
  if (fsync(file) != 0) return Failed("cannot be synced");
  if (rename(next.c_str(), path.c_str()) != 0) return Failed("cannot be replaced");
  std::move(not_left).Cancel();
  return fsync(folder) == 0 ? absl::OkStatus() : Failed("cannot be synced: its folder");
}

absl::StatusOr<std::string> Read(const std::string& path) {
  // A pipe in its place is not waited for.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return Failed("cannot be read");
  const absl::Cleanup closed = [file] { close(file); };
  struct stat status {};
  if (fstat(file, &status) != 0) return Failed("cannot be read");
  if (!S_ISREG(status.st_mode)) return absl::FailedPreconditionError("is no regular file");
  if (static_cast<uint64_t>(status.st_size) > kMaxSavedBytes) {
    return absl::ResourceExhaustedError("has more than " + std::to_string(kMaxSavedBytes) + " bytes");
  }
  std::string bytes(static_cast<size_t>(status.st_size), '\0');
  size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = read(file, bytes.data() + size, bytes.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("cannot be read");
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  bytes.resize(size);
  return bytes;
}

}  // namespace

absl::Status SaveCopy(const std::string& path, std::string_view ring, const SavedCopy& copy) {
  const absl::StatusOr<std::string> bytes = EncodeCopy(ring, copy);
  absl::Status saved = bytes.ok() ? Replace(path, *bytes) : bytes.status();
  return saved.ok() ? saved : ring::Prefixed(FileName(path), saved);
}

absl::StatusOr<SavedCopy> LoadCopy(const std::string& path, const CopyWanted& wanted) {
  const absl::StatusOr<std::string> bytes = Read(path);
  absl::StatusOr<SavedCopy> copy = bytes.ok() ? DecodeCopy(*bytes, wanted) : bytes.status();
  if (!copy.ok()) return ring::Prefixed(FileName(path), copy.status());
  return copy;
}

}  // namespace ringd
