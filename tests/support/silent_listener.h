// A listener that takes connections and says nothing, until it is destroyed.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace ringd::support {

class SilentListener {
 public:
  SilentListener() : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    // The kernel takes the connections; nobody accepts them.
    if (bind(socket_, any, size) != 0 || listen(socket_, 16) != 0 || getsockname(socket_, any, &size) != 0) abort();
    endpoint_ = "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  ~SilentListener() { close(socket_); }
  SilentListener(const SilentListener&) = delete;

  const std::string& endpoint() const { return endpoint_; }

 private:
  const int socket_;
  std::string endpoint_;
};

}  // namespace ringd::support
