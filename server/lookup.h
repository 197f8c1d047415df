// Answers Lookup and BatchLookup from one state of a ring, and counts the first owner of each key. Otherwise pure, but
// for a per-thread scratch; the hot path of the server: no allocation a key beyond the answer itself.
#pragma once

#include "absl/status/status.h"
#include "ringd/v1/directory.pb.h"
#include "server/directory.h"

namespace ringd::server {

// FAILED_PRECONDITION when no node of the ring has a weight above 0. REQUIRES requests that CheckRequest accepted.
absl::Status AnswerLookup(const RingState& state, const v1::LookupRequest& request, v1::LookupResponse* response);
// A batch of many keys and owners takes tens of milliseconds: `still_wanted` is asked now and then, and an error of it
// is the answer.
absl::Status AnswerBatchLookup(const RingState& state, const v1::BatchLookupRequest& request,
                               const StillWanted& still_wanted, v1::BatchLookupResponse* response);

}  // namespace ringd::server
