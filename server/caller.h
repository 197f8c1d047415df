// What gRPC knows of a caller, as a Caller. Any thread.
#pragma once

#include "grpcpp/server_context.h"
#include "server/auth.h"

namespace ringd::server {

// REQUIRES a call that has begun and has not finished.
Caller CallerOf(const grpc::ServerContextBase& context);

}  // namespace ringd::server
