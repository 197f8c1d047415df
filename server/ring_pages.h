// Answers GetRing from one state of a ring. Pure.
#pragma once

#include <cstddef>

#include "absl/status/status.h"
#include "ringd/v1/directory.pb.h"
#include "server/directory.h"

namespace ringd::server {

// How many places of slots a page has: below 4 MiB, whatever the numbers of their nodes.
inline constexpr size_t kPlacesOfPage = 500'000;

// A page of `page` nodes at most; behind the last of them, where slot_owners are asked for and the ring has a table of
// slots, a page of its places. INVALID_ARGUMENT for a page_token of places that was not given. REQUIRES a request that
// CheckRequest accepted.
absl::Status AnswerGetRing(const RingState& state, const v1::GetRingRequest& request, size_t page,
                           v1::GetRingResponse* response);

}  // namespace ringd::server
