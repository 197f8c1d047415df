#pragma once

#include <grpcpp/channel.h>

#include <chrono>
#include <memory>
#include <string>

#include "client/ringctl/security.h"

namespace ringd::ctl {

using Clock = std::chrono::system_clock;  // the clock of gRPC deadlines

// NewChannel makes a channel with a connection of its own, which it does not open yet. No HTTP proxy is used; a
// connection with a call on it is pinged every 30 s.
std::shared_ptr<grpc::Channel> NewChannel(const std::string& endpoint, const Security& security);

// WaitUntilConnected opens the connection. False as soon as the attempt has failed, at `deadline`, or after 2 s.
bool WaitUntilConnected(grpc::Channel& channel, Clock::time_point deadline);

}  // namespace ringd::ctl
