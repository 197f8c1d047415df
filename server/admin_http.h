// AdminHttp: probes and metrics over HTTP. GET and HEAD only; it changes nothing.
//
//   /livez    200 while the process runs
//   /readyz   200 while it serves, 503 before and while it drains
//   /metrics  what is exported, for Prometheus; at most 8 at a time are made and sent, the next is answered 503, so
//   that
//             scrapes never keep the probes waiting
//   /version  the build, as text; not for Pages::kPublic
//
// A connection is for one request, which must have come within a second. The HTTP library parses, routes and writes;
// accepting and waiting are ours, since its own timeouts are per read: eight clients that say nothing would keep the
// probes from all others. Here it takes 256 of them at a time.
//
// Threads: SetReady from any thread, the rest from one.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/listen_address.h"

namespace ringd::server {

class AdminHttp {
 public:
  // Whom the pages are for: this machine, or whoever reaches the address.
  enum class Pages { kLocal, kPublic };
  static constexpr size_t kMaxScrapes = 8;

  // Binds and serves on threads of its own. `metrics` makes the page of /metrics; it is called from any of them.
  // UNAVAILABLE when the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<AdminHttp>> Start(const ListenAddress& address, Pages pages,
                                                          std::function<std::string()> metrics);
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
