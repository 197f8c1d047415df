// Lines of the log: an event, with fields where programs want them; one line each, whatever bytes are in it.
//
//   2026-01-02T03:04:05.678901Z info AddNode ring "cache" node "n1" epoch 1 revision 2
//   {"time":"2026-01-02T03:04:05.678901Z","level":"info","msg":"AddNode","ring":"cache","node":"n1","epoch":1,"revision":2}
//
// Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/log_format.h"
#include "spdlog/formatter.h"

namespace ringd::server {

struct LogField {
  std::string_view name;  // of a constant
  std::variant<uint64_t, std::string> value;
};
using LogFields = std::vector<LogField>;

// Logs an event, which is a word or two of ours, by the default logger. Values may be any bytes of users.
void LogEvent(spdlog::level::level_enum level, std::string_view event, const LogFields& fields);

// Text: control bytes and what is no UTF-8 are \xHH, values are quoted and cut as ring::Quote does. JSON: ASCII alone,
// what is no UTF-8 is replaced; where a line would have more than `max_bytes`, its texts are cut, so that it is JSON
// still.
class LineFormatter final : public spdlog::formatter {
 public:
  LineFormatter(LogFormat format, size_t max_bytes) : format_(format), max_bytes_(max_bytes) {}

  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& line) override;
  std::unique_ptr<spdlog::formatter> clone() const override { return std::make_unique<LineFormatter>(*this); }

 private:
  LogFormat format_;
  size_t max_bytes_;
};

}  // namespace ringd::server
