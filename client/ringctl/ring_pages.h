#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/ringctl/connection.h"
#include "client/ringctl/options.h"

namespace ringd::ctl {

// ReadRing joins all pages of a ring into one answer, all of one version, without page token; with its table of slots
// where `slot_owners` asks for it. It begins anew when the ring changes between two pages; ABORTED when that happens 10
// times.
Answer<v1::GetRingResponse> ReadRing(Connection& connection, const std::string& ring, bool slot_owners = false);

// ReadRings joins all pages of the list of rings whose names begin with `prefix`.
Answer<v1::ListRingsResponse> ReadRings(Connection& connection, const std::string& prefix = "");

// ReadChanges joins the pages of a ring's history, up to `limit` changes, the newest ones; absent = all that is kept.
Answer<v1::ListChangesResponse> ReadChanges(Connection& connection, const std::string& ring,
                                            std::optional<uint32_t> limit);

// ReadRanges joins the pages of what a node owns, as ReadRing does.
Answer<v1::ListRangesResponse> ReadRanges(Connection& connection, const std::string& ring, const std::string& node);

// ReadWatchers joins the pages of who watches a ring; an empty name is all rings.
Answer<v1::ListWatchersResponse> ReadWatchers(Connection& connection, const std::string& ring);

// ReadDiff answers what moved between two versions, as one message. REQUIRES: `from` is given.
Answer<v1::DiffVersionsResponse> ReadDiff(Connection& connection, const ComparedVersions& versions);

}  // namespace ringd::ctl
