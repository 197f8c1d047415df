#include "client/ringctl/channel.h"

#include <algorithm>

#include "client/channel.h"

namespace ringd::ctl {
namespace {

constexpr std::chrono::milliseconds kConnectTimeout{2000};

}  // namespace

std::shared_ptr<grpc::Channel> NewChannel(const std::string& endpoint, const Security& security) {
  return ringd::NewChannel(endpoint, security.credentials(), "");
}

bool WaitUntilConnected(grpc::Channel& channel, Clock::time_point deadline) {
  const auto give_up = std::min(deadline, Clock::now() + kConnectTimeout);
  for (grpc_connectivity_state state = channel.GetState(true); state != GRPC_CHANNEL_READY;
       state = channel.GetState(true)) {
    if (state == GRPC_CHANNEL_TRANSIENT_FAILURE || state == GRPC_CHANNEL_SHUTDOWN) return false;
    if (!channel.WaitForStateChange(state, give_up)) return false;
  }
  return true;
}

}  // namespace ringd::ctl
