// WatchCall: one Watch of one ring, as a source of messages for one thread.
//
// Lifetime: gRPC uses a call until its Done was put into the inbox; destroy it after that, and not before. Done comes
// only when no Read is left without its Next: a cancelled call wants it too.
// Threads: the inbox is called on gRPC's threads; the members by the thread that reads the inbox.
#pragma once

#include <functional>
#include <memory>
#include <variant>

#include "grpcpp/client_context.h"
#include "grpcpp/support/client_callback.h"
#include "ringd/v1/directory.grpc.pb.h"

namespace ringd {

class WatchCall final : public grpc::ClientReadReactor<v1::WatchResponse> {
 public:
  // A response has come. No other comes until Next.
  struct Read {};
  // The last of all.
  struct Done {
    grpc::Status status;
  };
  using Happening = std::variant<Read, Done>;
  using Inbox = std::function<void(WatchCall*, Happening)>;

  WatchCall(std::unique_ptr<v1::Directory::Stub> stub, v1::WatchRequest request, Inbox inbox);

  // Calls. Once, before all else; but for Cancel.
  void Start();

  const v1::WatchResponse& response() const { return response_; }
  void Next() { StartRead(&response_); }
  void Cancel() { context_.TryCancel(); }

 private:
  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  const std::unique_ptr<v1::Directory::Stub> stub_;
  const v1::WatchRequest request_;
  const Inbox inbox_;
  grpc::ClientContext context_;
  v1::WatchResponse response_;
};

}  // namespace ringd
