// The one codec between absl::Status and grpc::Status. Codes have the same numbers on both sides; the reason of an
// error travels as google.rpc.ErrorInfo (domain "ringd") in the error details, and the time of retry_after.h as
// google.rpc.RetryInfo.
//
// May be called from any thread.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "grpcpp/support/status.h"

namespace ringd {

// An error without a reason of its own gets the name of its code as reason.
grpc::Status ToGrpc(const absl::Status& status);

// Keeps code, text, reason (ring/error.h's ReasonOf reads it) and the time to wait, up to an hour.
absl::Status FromGrpc(const grpc::Status& status);

// The reason in the ErrorInfo of an error, or "" when it has none.
std::string ReasonOf(const grpc::Status& status);

}  // namespace ringd
