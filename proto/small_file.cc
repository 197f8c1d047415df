#include "proto/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "absl/cleanup/cleanup.h"

namespace ringd {
namespace {

constexpr size_t kMaxBytes = 1 << 20;

SmallFile CannotBeRead(int error) { return {.why_not = std::string("cannot be read: ") + std::strerror(error)}; }

}  // namespace

SmallFile ReadSmallFile(const std::string& name) {
  const int file = open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return CannotBeRead(errno);
  const absl::Cleanup closed = [file] { close(file); };
  struct stat status {};
  if (fstat(file, &status) != 0) return CannotBeRead(errno);
  if (!S_ISREG(status.st_mode)) return {.why_not = "is not a regular file"};
  SmallFile result;
  std::array<char, 16'384> buffer{};
  ssize_t size = 0;
  while (result.content.size() <= kMaxBytes && (size = read(file, buffer.data(), buffer.size())) > 0) {
    result.content.append(buffer.data(), static_cast<size_t>(size));
  }
  if (size < 0) return CannotBeRead(errno);
  if (result.content.size() > kMaxBytes) return {.why_not = "has more than " + std::to_string(kMaxBytes) + " bytes"};
  return result;
}

}  // namespace ringd
