// The mutations that requests ask for, but for who asks. Pure functions, any thread.
//
// REQUIRES a request that CheckRequest accepts: what they take in memory is then bounded by the contract's limits.
// INVALID_ARGUMENT what the codec refuses: a placement that is not served, an operation or a mask without a name.
#pragma once

#include "absl/status/statusor.h"
#include "ringd/v1/directory.pb.h"
#include "server/directory.h"

namespace ringd::server {

absl::StatusOr<Mutation> ToMutation(const v1::CreateRingRequest& request);
absl::StatusOr<Mutation> ToMutation(const v1::DeleteRingRequest& request);
absl::StatusOr<Mutation> ToMutation(const v1::UpdateRingRequest& request);
absl::StatusOr<Mutation> ToMutation(const v1::RestoreVersionRequest& request);
absl::StatusOr<Mutation> ToMutation(const v1::AddNodeRequest& request);
absl::StatusOr<Mutation> ToMutation(const v1::RemoveNodeRequest& request);
absl::StatusOr<Mutation> ToMutation(const v1::UpdateNodeRequest& request);
absl::StatusOr<Mutation> ToMutation(const v1::ApplyChangesRequest& request);
absl::StatusOr<Mutation> ToMutation(const v1::ImportSlotsRequest& request);

}  // namespace ringd::server
