// Server: assembles store, directory, watch hub, gRPC and HTTP into one running ringd.
//
// Threads: Start, Drain and the destructor from one thread.
#pragma once

#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/listen_address.h"
#include "server/options.h"
#include "server/store.h"

namespace ringd::server {

// Where a server listens.
struct Addresses {
  ListenAddress grpc;
  std::optional<ListenAddress> http;
};

// The addresses of the options; an error for one that is malformed, or that is not local.
absl::StatusOr<Addresses> ReadAddresses(const Options& options);

class Server {
 public:
  // Loads the rings and serves. What is returned is ready. Errors name the address or the file that was in the way.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Options& options, const Addresses& addresses,
                                                       std::unique_ptr<Store> store);
  // Drains, if Drain was not called.
  ~Server();

  // Health turns to NOT_SERVING, streams and new calls end with UNAVAILABLE, changes that wait are made and answered;
  // connections that do not take their last answers within a second, and options.drain_timeout, are broken.
  void Drain();

  // The addresses that are really listened on.
  const Addresses& addresses() const;

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace ringd::server
