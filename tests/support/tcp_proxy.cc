#include "tests/support/tcp_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace ringd::support {
namespace {

[[noreturn]] void Fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

sockaddr_in Loopback(int port) {
  sockaddr_in name{};
  name.sin_family = AF_INET;
  name.sin_port = htons(static_cast<uint16_t>(port));
  name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return name;
}

const sockaddr* AsName(const sockaddr_in& name) { return reinterpret_cast<const sockaddr*>(&name); }

}  // namespace

TcpProxy::TcpProxy(std::function<std::string()> target) : target_(std::move(target)) {
  listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  wake_ = eventfd(0, EFD_CLOEXEC);
  sockaddr_in name = Loopback(0);
  socklen_t size = sizeof(name);
  if (bind(listener_, AsName(name), size) != 0 || listen(listener_, SOMAXCONN) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&name), &size) != 0) {
    Fail("TcpProxy");
  }
  endpoint_ = "127.0.0.1:" + std::to_string(ntohs(name.sin_port));
  thread_ = std::thread([this] { Run(); });
}

TcpProxy::~TcpProxy() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  eventfd_write(wake_, 1);
  thread_.join();
  Reset();
  close(listener_);
  close(wake_);
}

void TcpProxy::Reset() {
  const std::lock_guard lock(mutex_);
  while (!links_.empty()) Close(links_.front().from, true);
  eventfd_write(wake_, 1);
}

void TcpProxy::Run() {
  while (true) {
    std::vector<pollfd> polled{{wake_, POLLIN, 0}, {listener_, POLLIN, 0}};
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return;
      for (const Link& link : links_) polled.push_back({link.from, POLLIN, 0});
    }
    poll(polled.data(), polled.size(), -1);
    const std::lock_guard lock(mutex_);
    if (polled[0].revents != 0) {
      eventfd_t count = 0;
      eventfd_read(wake_, &count);
      continue;  // descriptors may have gone meanwhile
    }
    for (size_t i = 2; i < polled.size(); ++i) {
      if (polled[i].revents != 0) HandOn(polled[i].fd);
    }
    if (polled[1].revents != 0) Accept();
  }
}

void TcpProxy::Accept() {
  const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (client < 0) return;
  const std::string target = target_();
  const sockaddr_in name = Loopback(std::atoi(target.substr(target.rfind(':') + 1).c_str()));
  const int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  links_.push_back({client, server});
  links_.push_back({server, client});
  if (connect(server, AsName(name), sizeof(name)) != 0) Close(client, false);
}

void TcpProxy::HandOn(int fd) {
  const auto link = std::find_if(links_.begin(), links_.end(), [fd](const Link& one) { return one.from == fd; });
  if (link == links_.end()) return;  // its other end was closed just now
  std::array<char, 65'536> bytes;
  const ssize_t got = recv(fd, bytes.data(), bytes.size(), 0);
  bool taken = got > 0;
  for (ssize_t done = 0; taken && done < got;) {
    const ssize_t sent = send(link->to, bytes.data() + done, static_cast<size_t>(got - done), MSG_NOSIGNAL);
    taken = sent > 0;
    done += sent;
  }
  if (!taken) Close(fd, false);
}

void TcpProxy::Close(int fd, bool reset) {
  const auto link = std::find_if(links_.begin(), links_.end(), [fd](const Link& one) { return one.from == fd; });
  const Link ends = *link;
  std::erase_if(links_, [&](const Link& one) { return one.from == ends.from || one.from == ends.to; });
  for (const int end : {ends.from, ends.to}) {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    if (reset) setsockopt(end, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(end);
  }
}

}  // namespace ringd::support
