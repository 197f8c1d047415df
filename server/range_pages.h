// Answers ListRanges from one state of a ring. Pure.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "ringd/v1/directory.pb.h"
#include "server/directory.h"

namespace ringd::server {

// A page of `page` ranges at most. NOT_FOUND for a node that the ring does not have, INVALID_ARGUMENT for a page_token
// that was not given. REQUIRES a request that CheckRequest accepted.
absl::Status AnswerListRanges(const RingState& state, const v1::ListRangesRequest& request, size_t page,
                              v1::ListRangesResponse* response);

}  // namespace ringd::server
