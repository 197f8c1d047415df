#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <string_view>

namespace ringd::ctl {

// ExpectedOwner is a key, and the id of the node that should own it.
struct ExpectedOwner {
  std::string key;
  std::string owner;
};

// ParseExpectedOwner reads a line KEY<TAB>OWNER of the form that escape.h tells. INVALID_ARGUMENT, with a text that
// names what is wrong, for more or fewer cells, an escape that is none, and an owner that no node can be: an empty one,
// or one with control bytes, such as the CR of a file with CRLF.
absl::StatusOr<ExpectedOwner> ParseExpectedOwner(std::string_view line);

}  // namespace ringd::ctl
