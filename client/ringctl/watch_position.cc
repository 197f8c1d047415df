#include "client/ringctl/watch_position.h"

#include <utility>

namespace ringd::ctl {
namespace {

v1::WatchPosition PositionOf(const v1::Version& version, const v1::Checksum& checksum) {
  v1::WatchPosition position;
  *position.mutable_version() = version;
  *position.mutable_checksum() = checksum;
  return position;
}

}  // namespace

WatchPosition::WatchPosition(std::string ring, std::optional<v1::Version> from) : ring_(std::move(ring)) {
  if (from) *held_.emplace().mutable_version() = *from;
}

void WatchPosition::Observe(const v1::WatchResponse& message) {
  switch (message.event_case()) {
    case v1::WatchResponse::kSnapshot:
      if (!message.snapshot().last()) return;
      held_ = PositionOf(message.snapshot().ring().version(), message.snapshot().ring().checksum());
      return;
    case v1::WatchResponse::kChange:
      held_ = PositionOf(message.change().version(), message.change().checksum());
      return;
    case v1::WatchResponse::kAbsent:
    case v1::WatchResponse::kDeleted:
      held_.reset();
      return;
    default:
      return;
  }
}

v1::WatchRequest WatchPosition::Request() const {
  v1::WatchRequest request;
  request.mutable_selector()->mutable_names()->add_rings(ring_);
  if (held_) {
    v1::HeldRing& held = *request.add_held();
    held.set_ring(ring_);
    *held.mutable_position() = *held_;
  }
  return request;
}

}  // namespace ringd::ctl
