#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "ring/placement.h"
#include "ringd/v1/directory.pb.h"

namespace ringd::ctl {

// MovedKeys finds keys in what moved between two versions of a ring. It places keys as the directory does, so that none
// is sent there. Any thread; 8 bytes of memory a range, beside the answer.
class MovedKeys {
 public:
  // `diff` is all that moved, with its ranges in order, in a ring of this placement. INVALID_ARGUMENT, with a text to
  // be shown as it is, for a placement that this build does not know, or whose hash nobody knows here (points).
  static absl::StatusOr<MovedKeys> Make(const v1::Placement& placement, v1::DiffVersionsResponse diff);

  // False only for bytes that are no UTF-8, where the ring's hash reads characters.
  bool CanPlace(std::string_view key) const { return place_.CanPlace(key); }

  // The range that a key lies in; null: its owner did not change. REQUIRES CanPlace(key). Valid as long as this.
  const v1::MovedRange* Find(std::string_view key) const;

  // The versions that are compared, and the movement.
  const v1::DiffVersionsResponse& diff() const { return diff_; }

 private:
  MovedKeys(const ring::Placement& placement, v1::DiffVersionsResponse diff);

  ring::KeyPlace place_;
  v1::DiffVersionsResponse diff_;
  std::vector<uint64_t> lasts_;  // by range of diff_: its last position on the circle of 2^64
};

}  // namespace ringd::ctl
