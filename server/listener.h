// Listener: binds an address, accepts connections on a thread of its own, and hands them on.
//
// Ours instead of the libraries': gRPC's stops accepting for good once it has run out of file descriptors, and keeps to
// itself why it could not bind; that of the HTTP library fares no better. This one leaves the last descriptors to the
// store and the log: a connection that would take one of them is closed at once.
//
// Threads: BreakConnections from any thread, the rest from one; `take` is called on the listener's own.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"
#include "server/descriptor.h"
#include "server/listen_address.h"

namespace ringd::server {

class Listener {
 public:
  // Binds and listens, leaving the last `reserved` descriptors of the process to others; connections wait until Start.
  // Port 0 takes a free one. A unix socket's file that nobody listens on is replaced. UNAVAILABLE with the system's
  // reason when the address cannot be bound.
  static absl::StatusOr<std::unique_ptr<Listener>> Bind(const ListenAddress& address, int reserved);
  // Stops.
  ~Listener();

  // The address that is really listened on.
  const ListenAddress& address() const { return address_; }

  // Accepts from now on. `take` becomes the owner of a connected socket, non-blocking and close-on-exec, and must not
  // block.
  void Start(std::function<void(int)> take);

  // Accepts no more and closes the listening sockets; removes the file of a unix socket. May be called twice.
  void Stop();

  // Breaks the connections that came this way and are still open, whoever owns them by now. It knows them by the port
  // or path of their own side: for the end of a process, which has no other use for such.
  void BreakConnections() const;

 private:
  Listener(const ListenAddress& address, int reserved) : address_(address), reserved_(reserved) {}

  absl::Status BindUnix();
  absl::Status BindTcp();
  absl::Status CannotListen(const std::string& why) const;
  void Run(const std::function<void(int)>& take);
  // False when accepting failed.
  bool AcceptOne(int socket, const std::function<void(int)>& take);
  void WarnOfRefusal(std::string_view why);

  ListenAddress address_;
  const int reserved_;
  std::vector<Descriptor> sockets_;
  Descriptor stop_;                                       // an eventfd
  std::chrono::steady_clock::time_point next_warning_{};  // of the listener's thread
  std::thread thread_;
};

}  // namespace ringd::server
