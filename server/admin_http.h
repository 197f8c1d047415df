// AdminHttp: probes over HTTP. GET and HEAD only; it changes nothing.
//
//   /livez    200 while the process runs
//   /readyz   200 while it serves, 503 before and while it drains
//   /version  the build, as text
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "server/listen_address.h"

namespace httplib {
class Server;
}

namespace ringd::server {

class AdminHttp {
 public:
  // INVALID_ARGUMENT for a unix socket.
  static absl::Status CheckAddress(const ListenAddress& address);
  // Binds and serves on a thread of its own. UNAVAILABLE when the address cannot be bound; errors of CheckAddress.
  static absl::StatusOr<std::unique_ptr<AdminHttp>> Start(const ListenAddress& address);
  ~AdminHttp();

  void SetReady(bool ready) { ready_ = ready; }
  // The address that is really listened on.
  const ListenAddress& address() const { return address_; }

 private:
  explicit AdminHttp(const ListenAddress& address);

  ListenAddress address_;
  std::atomic<bool> ready_ = false;
  std::atomic<bool> ended_ = false;
  std::unique_ptr<httplib::Server> server_;
  std::thread thread_;
};

}  // namespace ringd::server
