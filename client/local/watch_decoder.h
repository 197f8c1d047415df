// What a stream says, as the values that a WatchMachine takes. Pure.
#pragma once

#include "client/local/watch_machine.h"
#include "ringd/v1/directory.pb.h"

namespace ringd {

// The event of one message of a Watch of one ring. What this build does not understand is an error inside the event
// where the ring is concerned, else a SignOfLife.
StreamEvent Decode(const v1::WatchResponse& message);

}  // namespace ringd
