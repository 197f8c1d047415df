// TcpProxy: a TCP port on loopback that hands on what comes to another one, until its connections are reset.
//
// Threads: every member from any thread.
#pragma once

#include <poll.h>

#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace ringd::support {

class TcpProxy {
 public:
  // `target` tells the HOST:PORT of IPv4 that each new connection is handed on to; it is called on the proxy's thread.
  explicit TcpProxy(std::function<std::string()> target);
  TcpProxy(const TcpProxy&) = delete;
  ~TcpProxy();

  // Where it listens, as HOST:PORT.
  const std::string& endpoint() const { return endpoint_; }

  // Resets all connections, on both sides. New ones are taken as before.
  void Reset();

 private:
  // What goes in at one end comes out at the other.
  struct Link {
    int from = -1;
    int to = -1;
  };

  void Run();
  void Accept();
  // Hands on what has come. Closes both ends when one has ended.
  void HandOn(int fd);
  void Close(int fd, bool reset);

  const std::function<std::string()> target_;
  std::string endpoint_;
  int listener_ = -1;
  int wake_ = -1;  // eventfd
  std::mutex mutex_;
  std::vector<Link> links_;  // two of each connection
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace ringd::support
