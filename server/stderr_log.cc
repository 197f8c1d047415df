#include "server/stderr_log.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "fmt/format.h"
#include "server/log_line.h"
#include "spdlog/spdlog.h"

namespace ringd::server {

void NonBlockingSink::sink_it_(const spdlog::details::log_msg& message) {
  const std::string line = Formatted(message);
  if (dropped_ > 0) {
    const std::string text = fmt::format("{} lines were dropped", dropped_);
    if (Write(Formatted({message.logger_name, spdlog::level::warn, text}))) dropped_ = 0;
  }
  if (dropped_ > 0 || !Write(line)) dropped_++;
}

std::string NonBlockingSink::Formatted(const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t formatted;
  formatter_->format(message, formatted);
  std::string line(formatted.data(), std::min(formatted.size(), kMaxLine));
  line.back() = '\n';  // also where it was cut
  return line;
}

// A pipe or socket that is ready takes a line of this size without waiting, unless another process writes to it too.
bool NonBlockingSink::Write(std::string_view line) const {
  pollfd ready{fd_, POLLOUT, 0};
  return poll(&ready, 1, 0) == 1 && write(fd_, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

void LogToStderr() {
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("ringd", std::make_shared<NonBlockingSink>(STDERR_FILENO)));
  SetLogFormat(LogFormat::kText);
}

void SetLogFormat(LogFormat format) {
  spdlog::set_formatter(std::make_unique<LineFormatter>(format, NonBlockingSink::kMaxLine));
}

void SetLogLevel(const std::string& level) { spdlog::set_level(spdlog::level::from_str(level)); }

}  // namespace ringd::server
