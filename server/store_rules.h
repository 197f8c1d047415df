// What every store asks of a write before it makes it, and the reasons of the errors of stores. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "ring/version.h"
#include "server/store.h"

namespace ringd::server {

// Reasons are part of the contract: UPPER_SNAKE, never renamed.
inline constexpr std::string_view kStoreFull = "STORE_FULL";
inline constexpr std::string_view kStoreUnreachable = "STORE_UNREACHABLE";
inline constexpr std::string_view kStoreCorrupt = "STORE_CORRUPT";
inline constexpr std::string_view kStoreInUse = "STORE_IN_USE";
inline constexpr std::string_view kStoreFormat = "STORE_FORMAT";
inline constexpr std::string_view kStoreConflict = "STORE_CONFLICT";
inline constexpr std::string_view kStoreInternal = "STORE_INTERNAL";

// The name of the ring that a write is about.
const std::string& RingOf(const Write& write);

// OK, or ABORTED: another writer was first. `stored` is the version of the ring that is there, if one is;
// `highest_epoch` the highest one ever given: a new ring must be above it. INTERNAL: the write contradicts itself.
absl::Status CheckPut(const PutRing& put, const std::optional<ring::Version>& stored, uint64_t highest_epoch);
absl::Status CheckDrop(const DropRing& drop, const std::optional<ring::Version>& stored);

// What a caller is told of a store's error: a full disk and a lost race are theirs to act on; whatever else is wrong
// with the store, it is UNAVAILABLE.
absl::Status StatusForCallers(const absl::Status& status);

// ABORTED: a change of the ring with this request_id is kept already.
absl::Status RequestTaken(std::string_view ring, std::string_view request_id);
// ABORTED: an earlier write of the same Commit, on the same ring, was refused.
absl::Status EarlierWriteRefused(std::string_view ring);
// INTERNAL: a change says that a node was there before (or was not), and the store knows better.
absl::Status NodeMismatch(std::string_view ring, std::string_view node);

}  // namespace ringd::server
