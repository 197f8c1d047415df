#include "client/ringctl/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <vector>

#include "client/ringctl/escape.h"

namespace ringd::ctl {
namespace {

constexpr std::size_t kMostBytes = 64 << 20;
constexpr std::size_t kReadSize = 64 << 10;

absl::Status CannotRead(const std::string& name, int error) {
  const std::string shown = name == "-" ? "standard input" : Quoted(name);
  return absl::InvalidArgumentError(fmt::format("cannot read {}: {}", shown, std::generic_category().message(error)));
}

absl::StatusOr<std::string> ReadAll(const std::string& name, int fd) {
  std::string content;
  std::vector<char> part(kReadSize);
  while (true) {
    const ssize_t count = read(fd, part.data(), part.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return CannotRead(name, errno);
    if (count == 0) return content;
    content.append(part.data(), static_cast<std::size_t>(count));
    if (content.size() > kMostBytes) return CannotRead(name, EFBIG);
  }
}

}  // namespace

absl::StatusOr<std::string> ReadInputFile(const std::string& name) {
  if (name == "-") return ReadAll(name, STDIN_FILENO);
  const int fd = open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return CannotRead(name, errno);
  absl::StatusOr<std::string> content = ReadAll(name, fd);
  close(fd);
  return content;
}

}  // namespace ringd::ctl
