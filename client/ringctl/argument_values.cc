#include "client/ringctl/argument_values.h"

#include <absl/strings/numbers.h>
#include <absl/time/time.h>
#include <fmt/format.h>

#include <charconv>
#include <limits>
#include <system_error>

#include "client/ringctl/escape.h"

namespace ringd::ctl {
namespace {

bool IsEndpoint(std::string_view text) {
  if (text.substr(0, 5) == "unix:") return text.size() > 5;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0 || text.find('/') != std::string_view::npos) return false;
  const std::optional<uint64_t> port = ParseDecimal(text.substr(colon + 1));
  return port && *port > 0 && *port <= 65535;
}

}  // namespace

std::optional<uint64_t> ParseDecimal(std::string_view text) {
  // from_chars for an unsigned type takes no sign and no blanks.
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

absl::StatusOr<uint64_t> ParsePosition(std::string_view what, const std::string& text) {
  const std::optional<uint64_t> value = ParseDecimal(text);
  if (!value) return absl::InvalidArgumentError(fmt::format("{} {} is no whole number below 2^64", what, Quoted(text)));
  return *value;
}

absl::StatusOr<uint32_t> ParseWireNumber(std::string_view what, const std::string& text) {
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
  if (!digits) {
    return absl::InvalidArgumentError(fmt::format("{} {} is no whole number >= 0", what, Quoted(text)));
  }
  const std::optional<uint64_t> value = ParseDecimal(text);
  if (!value || *value > std::numeric_limits<uint32_t>::max()) {
    return absl::InvalidArgumentError(fmt::format("{} {} is above 4294967295, the most that can be sent", what, text));
  }
  return static_cast<uint32_t>(*value);
}

absl::StatusOr<std::chrono::milliseconds> ParseTimeout(const std::string& text) {
  const std::string with_unit = ParseDecimal(text) ? text + "s" : text;
  absl::Duration duration;
  if (!absl::ParseDuration(with_unit, &duration) || duration < absl::Milliseconds(1) || duration > absl::Hours(24)) {
    return absl::InvalidArgumentError(
        fmt::format("timeout {} is no duration from 1ms to 24h, such as 5s or 500ms", Quoted(text)));
  }
  return absl::ToChronoMilliseconds(duration);
}

absl::StatusOr<double> ParseShare(const std::string& text) {
  double percent = 0;
  const bool is_decimal =
      !text.empty() && text.find_first_not_of("0123456789.") == text.size() - 1 && text.back() == '%';
  if (is_decimal && absl::SimpleAtod(text.substr(0, text.size() - 1), &percent) && percent > 0 && percent <= 100) {
    return percent / 100;
  }
  return absl::InvalidArgumentError(
      fmt::format("wait-for {} is no percentage above 0% and up to 100%, such as 99%", Quoted(text)));
}

absl::StatusOr<std::chrono::milliseconds> ParseAge(std::string_view what, const std::string& text) {
  absl::Duration duration;
  const bool whole = absl::ParseDuration(text, &duration) && duration != absl::InfiniteDuration() &&
                     duration != -absl::InfiniteDuration() && duration % absl::Milliseconds(1) == absl::ZeroDuration();
  if (whole) return absl::ToChronoMilliseconds(duration);
  return absl::InvalidArgumentError(
      fmt::format("{} {} is no duration in whole milliseconds, such as 720h or 90m", what, Quoted(text)));
}

absl::StatusOr<std::map<std::string, std::string>> ParsePairs(std::string_view what,
                                                              const std::vector<std::string>& texts) {
  std::map<std::string, std::string> pairs;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) {
      return absl::InvalidArgumentError(fmt::format("{} {} is not of the form KEY=VALUE", what, Quoted(text)));
    }
    if (!pairs.emplace(text.substr(0, equals), text.substr(equals + 1)).second) {
      return absl::InvalidArgumentError(fmt::format("{} key {} comes twice", what, Quoted(text.substr(0, equals))));
    }
  }
  return pairs;
}

absl::StatusOr<std::vector<std::string>> ParseEndpoints(const std::string& text) {
  std::vector<std::string> endpoints;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    endpoints.push_back(text.substr(begin, end - begin));
    if (!IsEndpoint(endpoints.back())) {
      return absl::InvalidArgumentError(
          fmt::format("endpoint {} is neither HOST:PORT nor unix:PATH", Quoted(endpoints.back())));
    }
    begin = end + 1;
  }
  return endpoints;
}

}  // namespace ringd::ctl
