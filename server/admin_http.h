// AdminHttp: probes over HTTP. GET and HEAD only; it changes nothing.
//
//   /livez    200 while the process runs
//   /readyz   200 while it serves, 503 before and while it drains
//   /version  the build, as text
//
// A connection is for one request, which must have come within a second. The HTTP library parses, routes and writes;
// accepting and waiting are ours, since its own timeouts are per read: eight clients that say nothing would keep the
// probes from all others. Here it takes 256 of them at a time.
//
// Threads: SetReady from any thread, the rest from one.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/listen_address.h"

namespace ringd::server {

class AdminHttp {
 public:
  // Binds and serves on threads of its own. UNAVAILABLE when the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<AdminHttp>> Start(const ListenAddress& address);
  AdminHttp(const AdminHttp&) = delete;
  ~AdminHttp();

  void SetReady(bool ready) { ready_ = ready; }
  // The address that is really listened on.
  const ListenAddress& address() const;

 private:
  class Connections;

  AdminHttp() = default;

  std::atomic<bool> ready_ = false;
  std::unique_ptr<Connections> connections_;
};

}  // namespace ringd::server
