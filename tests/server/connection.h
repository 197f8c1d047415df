// A client's end of a connection, without any protocol.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <string>

#include "server/descriptor.h"
#include "server/listen_address.h"

namespace ringd::server {

class Connection {
 public:
  // To 127.0.0.1 or a unix socket.
  explicit Connection(const ListenAddress& address) : Connection(address.is_unix() ? AF_UNIX : AF_INET) {
    Connect(address);
  }
  // A socket that is not connected yet.
  explicit Connection(int family = AF_INET) : socket_(socket(family, SOCK_STREAM, 0)) {}

  void Connect(const ListenAddress& address) {
    sockaddr_un path{};
    path.sun_family = AF_UNIX;
    address.unix_path.copy(path.sun_path, sizeof(path.sun_path) - 1);
    sockaddr_in port{};
    port.sin_family = AF_INET;
    port.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    port.sin_port = htons(static_cast<uint16_t>(address.port));
    const int code = address.is_unix() ? connect(socket_.get(), reinterpret_cast<const sockaddr*>(&path), sizeof(path))
                                       : connect(socket_.get(), reinterpret_cast<const sockaddr*>(&port), sizeof(port));
    EXPECT_EQ(code, 0) << address.ToString();
  }
  // False when the other side has closed.
  bool Send(const std::string& bytes) {
    return send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
  }
  // What comes until the other side closes.
  std::string ReadAll() {
    std::string all;
    char buffer[256];
    for (ssize_t size; (size = recv(socket_.get(), buffer, sizeof(buffer), 0)) > 0;) {
      all.append(buffer, static_cast<size_t>(size));
    }
    return all;
  }

 private:
  Descriptor socket_;
};

}  // namespace ringd::server
