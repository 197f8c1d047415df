// WaitingCall: the reactor of a call whose answer may have to wait for something; a caller that goes ends the wait.
#pragma once

#include <functional>

#include "grpcpp/support/server_callback.h"

namespace ringd::server {

class WaitingCall final : public grpc::ServerUnaryReactor {
 public:
  void OnCancel() override {
    if (cancel) cancel();
  }
  void OnDone() override { delete this; }

  // Ends the wait. Set before gRPC has the reactor, which calls OnCancel from then on.
  std::function<void()> cancel;
};

}  // namespace ringd::server
