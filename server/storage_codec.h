// Between what a store keeps on disk (ringd.storage.v1) and the values of store.h. Pure functions, any thread.
//
// Encoding is deterministic: equal values give equal bytes. Times and durations are kept to the microsecond.
// Decoding fails with DATA_LOSS when the bytes are no such record, or hold what no encoder ever wrote.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ring/node.h"
#include "server/store.h"

namespace ringd::server {

std::string EncodeRing(const RingHead& head);
absl::StatusOr<RingHead> DecodeRing(std::string_view bytes);

std::string EncodeNode(const ring::Node& node);
absl::StatusOr<ring::Node> DecodeNode(std::string_view bytes);

std::string EncodeChange(const ChangeRecord& change);
absl::StatusOr<ChangeRecord> DecodeChange(std::string_view bytes);

// The places of a table of slots, as SlotTable has them.
std::string EncodeSlots(std::span<const uint32_t> places);
absl::StatusOr<std::vector<uint32_t>> DecodeSlots(std::string_view bytes);

std::string EncodeTombstone(const Tombstone& tombstone);
absl::StatusOr<Tombstone> DecodeTombstone(std::string_view bytes);

}  // namespace ringd::server
