#pragma once

#include <absl/status/statusor.h>

#include <string>

namespace ringd::ctl {

// ReadInputFile answers the content of a file; "-" is standard input. INVALID_ARGUMENT, with a text that names the file
// and the reason, for one that cannot be read or has more than 64 MiB, which is more than could be sent.
absl::StatusOr<std::string> ReadInputFile(const std::string& name);

}  // namespace ringd::ctl
