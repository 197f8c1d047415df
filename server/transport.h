// How ringd speaks HTTP/2: sizes, memory, keepalive, no compression. Apart from the rest, so that a
// bench can give a peer the same.
#pragma once

#include "grpcpp/server_builder.h"

namespace ringd::server {

void SetTransport(grpc::ServerBuilder& builder, int max_request_bytes);

}  // namespace ringd::server
