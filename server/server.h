// Server: assembles store, directory, watch hub, gRPC and HTTP into one running ringd.
//
// Threads: Start, Drain and the destructor from one thread.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/listen_address.h"
#include "server/options.h"
#include "server/store.h"

namespace ringd::server {

class Server {
 public:
  // Loads the rings and serves. What is returned is ready. Errors name the address or the file that was in the way.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Options& options, std::unique_ptr<Store> store);
  // Drains, if Drain was not called.
  ~Server();

  // Health turns to NOT_SERVING, streams end with UNAVAILABLE, calls in flight are finished; those that are not after
  // options.drain_timeout are cancelled.
  void Drain();

  // The addresses that are really listened on.
  const ListenAddress& grpc_address() const;
  const ListenAddress* http_address() const;  // null without HTTP

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace ringd::server
