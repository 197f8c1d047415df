// Answers ListChanges from the durable history of a ring.
//
// Threads: any. It reads the disk on the caller's thread, a batch at a time and under no lock of the directory, so that
// a change waits for one batch of each call under way.
#pragma once

#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "ring/version.h"
#include "ringd/v1/directory.pb.h"
#include "server/directory.h"

namespace ringd::server {

// The version that a page_token of ListChanges stands for: that of the last change on the page before. Nothing where
// the text is no token of ours.
std::optional<ring::Version> VersionOfToken(std::string_view token);

// A page of the changes that led to `state`, newest first; changes that come meanwhile are not on it. Where the token
// is of an epoch that has gone, nothing older is kept. `still_wanted` is asked before each batch, and an error of it is
// the answer. UNAVAILABLE: the store cannot be read. REQUIRES a request that CheckRequest accepted.
absl::Status AnswerListChanges(const Directory& directory, const RingState& state,
                               const v1::ListChangesRequest& request, const StillWanted& still_wanted,
                               v1::ListChangesResponse* response);

}  // namespace ringd::server
