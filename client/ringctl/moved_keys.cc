#include "client/ringctl/moved_keys.h"

#include <algorithm>
#include <utility>

#include "proto/codec.h"

namespace ringd::ctl {

absl::StatusOr<MovedKeys> MovedKeys::Make(const v1::Placement& placement, v1::DiffVersionsResponse diff) {
  const auto settings = FromProto(placement);
  if (!settings.ok()) return settings.status();
  if (!ring::KeyPlace(*settings).has_hash()) {
    return absl::InvalidArgumentError("keys have no place in a ring of points, whose hash is not known here");
  }
  return MovedKeys(*settings, std::move(diff));
}

MovedKeys::MovedKeys(const ring::Placement& placement, v1::DiffVersionsResponse diff)
    : place_(placement), diff_(std::move(diff)) {
  lasts_.reserve(static_cast<std::size_t>(diff_.ranges_size()));
  for (const v1::MovedRange& moved : diff_.ranges()) lasts_.push_back(place_.circle().Last(moved.range().last()));
}

const v1::MovedRange* MovedKeys::Find(std::string_view key) const {
  const uint64_t position = place_(key);
  const auto last = std::lower_bound(lasts_.begin(), lasts_.end(), position);
  if (last == lasts_.end()) return nullptr;
  const v1::MovedRange& moved = diff_.ranges(static_cast<int>(last - lasts_.begin()));
  return place_.circle().First(moved.range().first()) <= position ? &moved : nullptr;
}

}  // namespace ringd::ctl
