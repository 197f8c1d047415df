#include "client/ringctl/tcp_connection.h"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <memory>

namespace ringd::ctl {
namespace {

sigset_t BrokenPipe() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  return signals;
}

}  // namespace

TcpConnection::TcpConnection(const std::string& host, const std::string& port, std::chrono::milliseconds patience) {
  const sigset_t signals = BrokenPipe();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> guard(found, freeaddrinfo);
  const timeval time{.tv_sec = patience.count() / 1000, .tv_usec = patience.count() % 1000 * 1000};
  for (const addrinfo* info = found; info != nullptr && socket_ < 0; info = info->ai_next) {
    socket_ = ::socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (socket_ < 0) continue;
    setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof(time));
    setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof(time));
    if (connect(socket_, info->ai_addr, info->ai_addrlen) == 0) return;
    close(socket_);
    socket_ = -1;
  }
}

TcpConnection::~TcpConnection() {
  if (socket_ >= 0) close(socket_);
  const sigset_t signals = BrokenPipe();
  const timespec now{};
  while (sigtimedwait(&signals, nullptr, &now) == SIGPIPE) {
  }
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

}  // namespace ringd::ctl
