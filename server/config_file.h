// The configuration file: one flat YAML mapping from the names of settings to their values. Which names there are and
// which values they take is for options.h.
//
// Functions without state, any thread.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace ringd::server {

// The reason of errors. Part of the contract.
inline constexpr std::string_view kBadConfig = "BAD_CONFIG";

struct ConfigEntry {
  std::string key;
  std::vector<std::string> values;  // one where the file has no list
  bool is_list = false;
  int line = 0;  // counted from 1
};

// In the order of the file. INVALID_ARGUMENT, with a text that begins with FILE:LINE where there is one, for a file
// that cannot be read or has more than a mebibyte, for what is no YAML, no mapping, no word as a key, a key that comes
// twice, and a value that is neither a scalar nor a list of them, or is missing.
absl::StatusOr<std::vector<ConfigEntry>> ReadConfigFile(const std::string& file);

}  // namespace ringd::server
