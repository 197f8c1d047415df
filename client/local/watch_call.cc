#include "client/local/watch_call.h"

#include <utility>

namespace ringd {

WatchCall::WatchCall(std::unique_ptr<v1::Directory::Stub> stub, v1::WatchRequest request, Inbox inbox)
    : stub_(std::move(stub)), request_(std::move(request)), inbox_(std::move(inbox)) {}

void WatchCall::Start() {
  stub_->async()->Watch(&context_, &request_, this);
  // Next is called on a thread that is not gRPC's: without a hold the call could end between a Read and its Next.
  AddHold();
  StartRead(&response_);
  StartCall();
}

void WatchCall::OnReadDone(bool ok) {
  if (ok) {
    inbox_(this, Read{});
  } else {
    RemoveHold();  // no Next comes any more
  }
}

void WatchCall::OnDone(const grpc::Status& status) {
  // The call may be destroyed before the inbox returns, and the inbox with it.
  const Inbox inbox = inbox_;
  inbox(this, Done{status});
}

}  // namespace ringd
