// The log: one line an event on stderr, which does not hold up who writes it.
//
// A line is written by the thread that has something to say, the writer of changes among them. Where the reader of
// stderr has stalled, a line is dropped instead of waited for, and the next one that can be written tells how many
// were.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

#include "server/log_format.h"
#include "spdlog/sinks/base_sink.h"

namespace ringd::server {

// Writes to a descriptor that it does not own. A line is cut after kMaxLine bytes, as many as a pipe takes whole.
class NonBlockingSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  static constexpr size_t kMaxLine = 4'096;

  explicit NonBlockingSink(int fd) : fd_(fd) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}
  std::string Formatted(const spdlog::details::log_msg& message);
  bool Write(std::string_view line) const;

  const int fd_;
  size_t dropped_ = 0;
};

// Makes it the log of this process: text, from info on.
void LogToStderr();
void SetLogFormat(LogFormat format);
// debug, info, warning or error.
void SetLogLevel(const std::string& level);

}  // namespace ringd::server
