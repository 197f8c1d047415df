#include "server/store_rules.h"

#include <fmt/format.h>

#include "ring/error.h"

namespace ringd::server {
namespace {

std::string Has(const std::optional<ring::Version>& stored) {
  return stored ? fmt::format("the store has version {}", ToString(*stored)) : "the store does not have it";
}

absl::Status Conflict(const std::string& text) { return ring::Error(absl::StatusCode::kAborted, kStoreConflict, text); }

}  // namespace

const std::string& RingOf(const Write& write) {
  if (const auto* put = std::get_if<PutRing>(&write)) return put->head.name;
  return std::get<DropRing>(write).tombstone.name;
}

absl::Status CheckPut(const PutRing& put, const std::optional<ring::Version>& stored, uint64_t highest_epoch) {
  const ring::Version& next = put.head.version;
  const std::string name = ring::Quote(put.head.name);
  if (next.revision == 0 || put.change.version != next) {
    return ring::Error(absl::StatusCode::kInternal, kStoreInternal,
                       fmt::format("ring {}: head of version {} with a change to version {}", name, ToString(next),
                                   ToString(put.change.version)));
  }
  if (next.revision == 1) {
    if (stored) return Conflict(fmt::format("ring {} cannot be created: {}", name, Has(stored)));
    if (next.epoch <= highest_epoch) {
      return Conflict(
          fmt::format("ring {} cannot be created: epoch {} is not above {}", name, next.epoch, highest_epoch));
    }
    return absl::OkStatus();
  }
  if (stored == ring::Version{next.epoch, next.revision - 1}) return absl::OkStatus();
  return Conflict(fmt::format("ring {} cannot go to version {}: {}", name, ToString(next), Has(stored)));
}

absl::Status CheckDrop(const DropRing& drop, const std::optional<ring::Version>& stored) {
  if (stored == drop.tombstone.version) return absl::OkStatus();
  return Conflict(fmt::format("ring {} cannot be deleted at version {}: {}", ring::Quote(drop.tombstone.name),
                              ToString(drop.tombstone.version), Has(stored)));
}

absl::Status RequestTaken(std::string_view ring, std::string_view request_id) {
  return Conflict(fmt::format("ring {}: request {} was made already", ring::Quote(ring), ring::Quote(request_id)));
}

absl::Status EarlierWriteRefused(std::string_view ring) {
  return Conflict(fmt::format("ring {}: a change that this one builds on was refused", ring::Quote(ring)));
}

absl::Status NodeMismatch(std::string_view ring, std::string_view node) {
  return ring::Error(absl::StatusCode::kInternal, kStoreInternal,
                     fmt::format("ring {}: node {} in the store is not what the change was made on", ring::Quote(ring),
                                 ring::Quote(node)));
}

absl::Status StatusForCallers(const absl::Status& status) {
  const bool known = status.ok() || absl::IsResourceExhausted(status) || absl::IsAborted(status) ||
                     absl::IsUnavailable(status) || absl::IsInternal(status);
  if (known) return status;
  return ring::Error(absl::StatusCode::kUnavailable, ring::ReasonOf(status), std::string(status.message()));
}

}  // namespace ringd::server
