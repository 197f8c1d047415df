#pragma once

#include <absl/status/statusor.h>

#include <string>

#include "client/ringctl/imported_ring.h"

namespace ringd::ctl {

// ParseNginxFile reads an `upstream` of a configuration of nginx, the one that is named, or the only one where
// `upstream` is empty; what stands outside of it is passed over. The ring is of preset nginx. The address of a server
// as it stands there is id, address and hash_key of its node; nodes join in the order of the file. A server that is
// `down` has weight 0.
//
// INVALID_ARGUMENT, with a text that begins with FILE:LINE, for what nginx could not read, a server that comes twice,
// an upstream that is not there or not named, and for what the preset cannot give key for key: another method than
// `hash KEY consistent`, `backup`, and parts of the upstream that stand in another file. Warnings for servers that are
// down, and for parameters and directives that are passed over and may send keys elsewhere.
absl::StatusOr<ImportedRing> ParseNginxFile(const std::string& file, const std::string& content,
                                            const std::string& upstream);

}  // namespace ringd::ctl
