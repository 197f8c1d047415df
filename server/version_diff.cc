#include "server/version_diff.h"

#include <utility>
#include <vector>

#include "proto/codec.h"
#include "server/restore.h"

namespace ringd::server {
namespace {

void AddRange(const ring::MovedRange& range, const ring::Circle& circle, v1::MovedRange* out) {
  out->mutable_range()->set_first(circle.Value(range.first));
  out->mutable_range()->set_last(circle.Value(range.last));
  if (range.from != nullptr) out->set_from(range.from->id);
  if (range.to != nullptr) out->set_to(range.to->id);
}

}  // namespace

absl::StatusOr<std::unique_ptr<VersionDiff>> VersionDiff::Open(const Directory& directory, const RingState& state,
                                                               const v1::DiffVersionsRequest& request,
                                                               const StillWanted& still_wanted) {
  const auto read = [&](const ring::Version& last) -> absl::StatusOr<std::vector<ChangeRecord>> {
    if (absl::Status wanted = still_wanted(); !wanted.ok()) return wanted;
    return directory.ReadEarlierChanges(state.head.name, last, SIZE_MAX);
  };
  const auto side_at = [&](const ring::Version& version) -> absl::StatusOr<Side> {
    // A limit that was lowered since then is no reason not to tell.
    auto applied = GoBack(state, version, ring::kUnlimited, read);
    if (!applied.ok()) return applied.status();
    return Side{.version = version, .ring = std::move(applied->ring)};
  };
  auto from = side_at(ringd::FromProto(request.from()));
  if (!from.ok()) return from.status();
  auto to = side_at(request.has_to() ? ringd::FromProto(request.to()) : state.head.version);
  if (!to.ok()) return to.status();
  return std::unique_ptr<VersionDiff>(new VersionDiff(*std::move(from), *std::move(to)));
}

bool VersionDiff::Next(v1::DiffVersionsResponse* response) {
  response->Clear();
  if (ended_) return false;
  ringd::ToProto(from_.version, response->mutable_from());
  ringd::ToProto(to_.version, response->mutable_to());
  for (size_t bytes = 0; next_.has_value() && bytes < kMessageBytes; next_ = ranges_.Next()) {
    v1::MovedRange* range = response->add_ranges();
    AddRange(*next_, from_.ring.keys().circle(), range);
    bytes += range->ByteSizeLong();
  }
  ended_ = !next_.has_value();
  if (ended_) ringd::ToProto(ring::Compare(from_.ring, to_.ring), response->mutable_movement());
  return true;
}

}  // namespace ringd::server
