#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ringd::ctl {

// ParsePoints reads positions on a circle: whole numbers with white space between them. INVALID_ARGUMENT, with a text
// that begins with FILE:LINE, for anything else.
absl::StatusOr<std::vector<uint64_t>> ParsePoints(const std::string& file, const std::string& content);

}  // namespace ringd::ctl
