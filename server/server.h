// Server: assembles store, directory, watch hub, gRPC and HTTP into one running ringd.
//
// Threads: Start, Drain and the destructor from one thread.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/certificate_keeper.h"
#include "server/listen_plan.h"
#include "server/options.h"
#include "server/store.h"

namespace ringd::server {

class Server {
 public:
  // Loads the rings and serves. What is returned is ready. Errors name the address or the file that was in the way.
  // `certificates` must outlive the server; null where nothing in the plan speaks TLS.
  static absl::StatusOr<std::unique_ptr<Server>> Start(const Options& options, const ListenPlan& plan,
                                                       const CertificateKeeper* certificates,
                                                       std::unique_ptr<Store> store);
  // Drains, if Drain was not called.
  ~Server();

  // Health turns to NOT_SERVING, streams and new calls end with UNAVAILABLE, changes that wait are made and answered;
  // connections that do not take their last answers within a second, and options.drain_timeout, are broken.
  void Drain();

  // With the addresses that are really listened on.
  const ListenPlan& plan() const;

 private:
  struct Parts;
  explicit Server(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace ringd::server
