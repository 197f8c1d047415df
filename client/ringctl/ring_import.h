#pragma once

#include <absl/status/statusor.h>

#include <string>
#include <vector>

#include "client/ringctl/imported_ring.h"
#include "client/ringctl/options.h"

namespace ringd::ctl {

// ImportFormatNames are the kinds of file that a ring can be made of: nutcracker, nginx, list, json, redis.
std::vector<std::string> ImportFormatNames();

// ImportFormatOf tells by the first line with content which kind a file is: one that begins with `{` is json, a first
// word that ends with `:` (or `---`) is nutcracker's, a line with `;` or `{`, or whose first word is upstream, nginx's;
// one that begins with the 40 digits of a node of CLUSTER NODES, or is a number alone, as CLUSTER SLOTS begins, is
// redis; anything else is a list.
std::string ImportFormatOf(const std::string& content);

// ParseImport reads the content of a file as `options` say. `file` is its name in errors. What the options say of the
// ring goes before what the file does. INVALID_ARGUMENT, with a text that can be shown, for a file that makes no sense,
// and for options that have no place: a placement where the file says it, or none where it does not.
absl::StatusOr<ImportedRing> ParseImport(const RingImportOptions& options, const std::string& file,
                                         const std::string& content);

}  // namespace ringd::ctl
