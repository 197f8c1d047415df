#include "server/log_line.h"

#include <ctime>
#include <nlohmann/json.hpp>

#include "absl/time/time.h"
#include "fmt/format.h"
#include "ring/error.h"
#include "ring/utf8.h"
#include "spdlog/spdlog.h"

namespace ringd::server {
namespace {

// The event that this thread is logging: the logger formats it on the same thread, and takes a text alone. It may
// format another line between, such as one about lines that were dropped.
struct Event {
  std::string_view name;
  const LogFields* fields = nullptr;
};
thread_local Event current_event;

const LogFields& FieldsOf(std::string_view payload) {
  static const LogFields kNone;
  return current_event.fields != nullptr && current_event.name == payload ? *current_event.fields : kNone;
}

std::string TimeOf(const spdlog::details::log_msg& message) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", absl::FromChrono(message.time), absl::UTCTimeZone());
}

std::string Text(const std::string& time, std::string_view level, std::string_view message, const LogFields& fields) {
  std::string line = fmt::format("{} {} {}", time, level, ring::Shown(message));
  for (const LogField& field : fields) {
    const auto* number = std::get_if<uint64_t>(&field.value);
    line +=
        fmt::format(" {} {}", field.name,
                    number != nullptr ? fmt::format("{}", *number) : ring::Quote(std::get<std::string>(field.value)));
  }
  return line;
}

// With each text cut after `longest` bytes.
std::string Json(const std::string& time, std::string_view level, std::string_view message, const LogFields& fields,
                 size_t longest) {
  nlohmann::ordered_json object;
  object["time"] = time;
  object["level"] = std::string(level);
  object["msg"] = std::string(message.substr(0, longest));
  for (const LogField& field : fields) {
    auto& member = object[std::string(field.name)];
    if (const auto* number = std::get_if<uint64_t>(&field.value); number != nullptr) {
      member = *number;
    } else {
      member = std::get<std::string>(field.value).substr(0, longest);
    }
  }
  return object.dump(-1, ' ', /*ensure_ascii=*/true, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

void LogEvent(spdlog::level::level_enum level, std::string_view event, const LogFields& fields) {
  current_event = {event, &fields};
  spdlog::log(level, "{}", event);
  current_event = {};
}

void LineFormatter::format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& line) {
  const auto name = spdlog::level::to_string_view(message.level);
  const std::string_view level(name.data(), name.size());
  const std::string_view payload(message.payload.data(), message.payload.size());
  const LogFields& fields = FieldsOf(payload);
  const std::string time = TimeOf(message);
  std::string text;
  if (format_ == LogFormat::kText) {
    text = Text(time, level, payload, fields);
  } else {
    // A byte takes up to six in JSON.
    for (size_t longest = max_bytes_; longest > 0; longest /= 2) {
      text = Json(time, level, payload, fields, longest);
      if (text.size() < max_bytes_) break;
    }
  }
  text += '\n';
  line.append(text.data(), text.data() + text.size());
}

}  // namespace ringd::server
