#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ringd/v1/directory.pb.h"

namespace ringd::ctl {

// Explanation says why a key has its owners.
struct Explanation {
  // The hashes that have the same owners for the same reason; `first` is above `last` where they go over the end of the
  // circle.
  struct Hashes {
    uint64_t first;
    uint64_t last;
  };

  std::optional<uint64_t> slot;         // that the key lies in; nothing in a ring of points
  std::string point_of;                 // the node whose point the key belongs to; empty in a ring of slots
  std::optional<Hashes> hashes;         // of the point or the slot
  std::vector<std::string> whys;        // of each owner, in order
  std::vector<std::string> weightless;  // nodes that own nothing, since their weight is 0
};

// ExplainOwners makes the table of the ring, as the directory does, and walks from the key's point. REQUIRES all pages
// of the ring, and an answer of the same version. Errors are to be shown as they are: FAILED_PRECONDITION where the
// table is not the server's, INVALID_ARGUMENT for a placement that this build does not know.
absl::StatusOr<Explanation> ExplainOwners(const v1::GetRingResponse& ring, const v1::LookupResponse& answer);

}  // namespace ringd::ctl
