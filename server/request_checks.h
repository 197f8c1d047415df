// The one judge of requests: every limit of the contract that does not depend on the state of a ring. Pure functions,
// any thread. INVALID_ARGUMENT one value out of bounds; RESOURCE_EXHAUSTED too many of something. The text names the
// value and the bound.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "ringd/v1/directory.pb.h"

namespace ringd::server {

struct RequestLimits {
  size_t max_key_bytes = 4'096;
  size_t max_batch_keys = 10'000;
  size_t max_operations = 10'000;
  size_t max_watched_rings = 10'000;
};

absl::Status CheckRequest(const v1::CreateRingRequest& request, const RequestLimits& limits);
absl::Status CheckRequest(const v1::DeleteRingRequest& request, const RequestLimits& limits);
absl::Status CheckRequest(const v1::UpdateRingRequest& request, const RequestLimits& limits);
absl::Status CheckRequest(const v1::RestoreVersionRequest& request, const RequestLimits& limits);
absl::Status CheckRequest(const v1::AddNodeRequest& request, const RequestLimits& limits);
absl::Status CheckRequest(const v1::RemoveNodeRequest& request, const RequestLimits& limits);
absl::Status CheckRequest(const v1::UpdateNodeRequest& request, const RequestLimits& limits);
absl::Status CheckRequest(const v1::ApplyChangesRequest& request, const RequestLimits& limits);
absl::Status CheckRequest(const v1::ImportSlotsRequest& request, const RequestLimits& limits);
absl::Status CheckRequest(const v1::GetRingRequest& request, const RequestLimits& limits);
absl::Status CheckRequest(const v1::ListRingsRequest& request, const RequestLimits& limits);
absl::Status CheckRequest(const v1::ListChangesRequest& request, const RequestLimits& limits);
absl::Status CheckRequest(const v1::LookupRequest& request, const RequestLimits& limits);
absl::Status CheckRequest(const v1::BatchLookupRequest& request, const RequestLimits& limits);
absl::Status CheckRequest(const v1::ListRangesRequest& request, const RequestLimits& limits);
absl::Status CheckRequest(const v1::DiffVersionsRequest& request, const RequestLimits& limits);
absl::Status CheckRequest(const v1::WatchRequest& request, const RequestLimits& limits);
absl::Status CheckRequest(const v1::ReportWatchRequest& request, const RequestLimits& limits);
absl::Status CheckRequest(const v1::ListWatchersRequest& request, const RequestLimits& limits);

}  // namespace ringd::server
