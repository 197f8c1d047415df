// What the wire cannot carry in a request: text that is not UTF-8 in a string field, at any depth.
#pragma once

#include "google/protobuf/message.h"
#include "grpcpp/support/status.h"

namespace ringd {

// INVALID_ARGUMENT with the name of the field and its value, as the server would answer, else OK.
grpc::Status CheckWire(const google::protobuf::Message& request);

}  // namespace ringd
