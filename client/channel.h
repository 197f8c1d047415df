// Channels to one endpoint, as every client here makes them.
#pragma once

#include <memory>
#include <string>

#include "grpcpp/channel.h"
#include "grpcpp/security/credentials.h"

namespace ringd {

// A channel with a connection of its own, which it makes with the first call; a unix socket has no TLS. Pings every 30
// s, the server's 10 s being the shortest that it permits, so that a peer that is gone is noticed on a quiet stream
// too.
std::shared_ptr<grpc::Channel> NewChannel(const std::string& endpoint,
                                          const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                                          const std::string& server_name);

}  // namespace ringd
