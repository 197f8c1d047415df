// VersionDiff: what DiffVersions answers, a message at a time.
//
// Threads: one at a time. Memory: both rings and ring::MovedRanges, whatever the reader does; messages are made when
// they are asked for.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "ring/movement.h"
#include "ring/ring.h"
#include "ring/version.h"
#include "ringd/v1/directory.pb.h"
#include "server/directory.h"

namespace ringd::server {

class VersionDiff {
 public:
  // How large a message may grow with ranges, about.
  static constexpr size_t kMessageBytes = 64 << 10;

  // Reads the two versions. `state` is the ring as it is; changes that come meanwhile are not in the answer.
  // `still_wanted` is asked before each batch of the history, and an error of it is the answer.
  // NOT_FOUND: a version is not kept; UNAVAILABLE: the store cannot be read. REQUIRES a request that CheckRequest
  // accepted.
  static absl::StatusOr<std::unique_ptr<VersionDiff>> Open(const Directory& directory, const RingState& state,
                                                           const v1::DiffVersionsRequest& request,
                                                           const StillWanted& still_wanted);

  // Fills the next message; false: there is none. The last one has the movement.
  bool Next(v1::DiffVersionsResponse* response);

 private:
  struct Side {
    ring::Version version;
    ring::Ring ring;
  };
  VersionDiff(Side from, Side to)
      : from_(std::move(from)), to_(std::move(to)), ranges_(from_.ring, to_.ring), next_(ranges_.Next()) {}

  const Side from_;
  const Side to_;
  ring::MovedRanges ranges_;
  std::optional<ring::MovedRange> next_;
  bool ended_ = false;
};

}  // namespace ringd::server
