// UnaryCall: one unary RPC under way. It is counted when it begins, which is when this is made, and when it is
// answered.
//
// Copies stand for the same call; one of them finishes it, once, from any thread. The counts must outlive it.
#pragma once

#include "absl/status/status.h"
#include "grpcpp/support/server_callback.h"
#include "proto/status_codec.h"
#include "server/rpc_metrics.h"

namespace ringd::server {

class UnaryCall {
 public:
  UnaryCall(grpc::ServerUnaryReactor* reactor, RpcCounts& counts)
      : reactor_(reactor), counts_(&counts), start_(RpcCounts::Clock::now()) {
    counts.Started();
  }

  // What the handler answers gRPC with.
  grpc::ServerUnaryReactor* reactor() const { return reactor_; }

  // Answers the call; returns the reactor.
  grpc::ServerUnaryReactor* Finish(const absl::Status& status) const {
    const grpc::Status answer = ToGrpc(status);
    if (answer.ok()) counts_->Sent();
    counts_->Handled(answer.error_code(), RpcCounts::Clock::now() - start_);
    reactor_->Finish(answer);
    return reactor_;
  }

 private:
  grpc::ServerUnaryReactor* reactor_;
  RpcCounts* counts_;
  RpcCounts::Clock::time_point start_;
};

}  // namespace ringd::server
