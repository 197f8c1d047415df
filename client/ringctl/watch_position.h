#pragma once

#include <optional>
#include <string>

#include "ringd/v1/directory.pb.h"

namespace ringd::ctl {

// WatchPosition remembers how far a Watch of one ring has come, so that the next stream goes on from there. Pure.
class WatchPosition {
 public:
  // `from` is a version to begin at, whose checksum is not known.
  WatchPosition(std::string ring, std::optional<v1::Version> from);

  // Observe takes in a message of the stream. The position moves with a change and with the last chunk of a snapshot;
  // a ring that is absent or deleted has none.
  void Observe(const v1::WatchResponse& message);

  // The version that is held; null = none.
  const v1::Version* version() const { return held_ ? &held_->version() : nullptr; }

  // Request asks for the stream that goes on from the position.
  v1::WatchRequest Request() const;

 private:
  const std::string ring_;
  std::optional<v1::WatchPosition> held_;
};

}  // namespace ringd::ctl
