#pragma once

#include <absl/status/statusor.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ringd::ctl {

// The texts of the command line as values. Only types are checked here: every limit is judged by the server. Errors
// are INVALID_ARGUMENT with a text that names the value, to be shown as it is.

// ParseDecimal reads decimal digits and nothing else; nullopt for other text and above 2^64 - 1.
std::optional<uint64_t> ParseDecimal(std::string_view text);

// ParseWireNumber reads a whole number that fits a uint32; `what` names it in the error.
absl::StatusOr<uint32_t> ParseWireNumber(std::string_view what, const std::string& text);

// ParsePosition reads a whole number below 2^64; `what` names it in the error.
absl::StatusOr<uint64_t> ParsePosition(std::string_view what, const std::string& text);

// ParseTimeout reads a duration above 0 and up to a day, such as "5s", "1m30s" or "500ms"; a number alone is seconds.
absl::StatusOr<std::chrono::milliseconds> ParseTimeout(const std::string& text);

// ParseShare reads a percentage above 0 and up to 100, such as "99%" or "99.5%", as a part of 1.
absl::StatusOr<double> ParseShare(const std::string& text);

// ParseAge reads a duration such as "720h" or "90m", in whole milliseconds.
absl::StatusOr<std::chrono::milliseconds> ParseAge(std::string_view what, const std::string& text);

// ParsePairs reads texts of the form KEY=VALUE; a key that comes twice is an error.
absl::StatusOr<std::map<std::string, std::string>> ParsePairs(std::string_view what,
                                                              const std::vector<std::string>& texts);

// ParseEndpoints reads a comma-separated list of HOST:PORT and unix:PATH.
absl::StatusOr<std::vector<std::string>> ParseEndpoints(const std::string& text);

}  // namespace ringd::ctl
