#include "server/stderr_log.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "fmt/format.h"
#include "spdlog/spdlog.h"

namespace ringd::server {

void NonBlockingSink::sink_it_(const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t formatted;
  formatter_->format(message, formatted);
  std::string line(formatted.data(), std::min(formatted.size(), kMaxLine));
  line.back() = '\n';  // also where it was cut
  if (dropped_ > 0 && Write(fmt::format("{} lines were dropped\n", dropped_))) dropped_ = 0;
  if (dropped_ > 0 || !Write(line)) dropped_++;
}

// A pipe or socket that is ready takes a line of this size without waiting, unless another process writes to it too.
bool NonBlockingSink::Write(std::string_view line) const {
  pollfd ready{fd_, POLLOUT, 0};
  return poll(&ready, 1, 0) == 1 && write(fd_, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

void LogToStderr() {
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("ringd", std::make_shared<NonBlockingSink>(STDERR_FILENO)));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%fZ %l %v", spdlog::pattern_time_type::utc);
}

}  // namespace ringd::server
