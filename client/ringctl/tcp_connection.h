#pragma once

#include <chrono>
#include <string>

namespace ringd::ctl {

// TcpConnection is a connection to the first address of a host that takes one. Connecting, each read and each write
// wait up to `patience`.
// While it lives, writing to it raises no SIGPIPE: one thread only, which is that of the constructor.
class TcpConnection {
 public:
  TcpConnection(const std::string& host, const std::string& port, std::chrono::milliseconds patience);
  TcpConnection(const TcpConnection&) = delete;
  TcpConnection& operator=(const TcpConnection&) = delete;
  ~TcpConnection();

  // Negative when nobody took the connection.
  int socket() const { return socket_; }

 private:
  int socket_ = -1;
};

}  // namespace ringd::ctl
