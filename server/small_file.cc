#include "server/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "fmt/format.h"
#include "server/descriptor.h"

namespace ringd::server {
namespace {

constexpr size_t kMaxBytes = 1 << 20;

SmallFile CannotBeRead(int error) { return {.why_not = fmt::format("cannot be read: {}", std::strerror(error))}; }

}  // namespace

SmallFile ReadSmallFile(const std::string& name) {
  const Descriptor file(open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (file.get() < 0 || fstat(file.get(), &status) != 0) return CannotBeRead(errno);
  if (!S_ISREG(status.st_mode)) return {.why_not = "is not a regular file"};
  SmallFile result;
  std::array<char, 16'384> buffer{};
  ssize_t size = 0;
  while (result.content.size() <= kMaxBytes && (size = read(file.get(), buffer.data(), buffer.size())) > 0) {
    result.content.append(buffer.data(), static_cast<size_t>(size));
  }
  if (size < 0) return CannotBeRead(errno);
  if (result.content.size() > kMaxBytes) return {.why_not = fmt::format("has more than {} bytes", kMaxBytes)};
  return result;
}

}  // namespace ringd::server
