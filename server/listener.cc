#include "server/listener.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "fmt/format.h"
#include "ring/error.h"
#include "spdlog/spdlog.h"

namespace ringd::server {
namespace {

// How long to wait when there is no descriptor left: accepting at once would spin.
constexpr int kPauseMillis = 100;
constexpr std::chrono::minutes kBetweenWarnings{1};

// A TCP connection whose peer takes nothing for so long is given up. gRPC does not close one in the middle of a write.
constexpr int kUserTimeoutMillis = 10'000;

void SetOption(int socket, int level, int name, int value = 1) {
  setsockopt(socket, level, name, &value, sizeof(value));
}

sockaddr_un UnixName(const std::string& path) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof(name.sun_path) - 1);
  return name;
}

// The own side of a connection or of the socket that it came by: a unix socket's path, or a port; empty for all else.
// A socket that listens on every address of the machine has another address than its connections.
std::string OwnSideOf(int fd) {
  sockaddr_storage name{};
  socklen_t size = sizeof(name);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&name), &size) != 0) return "";
  switch (name.ss_family) {
    case AF_UNIX:
      return reinterpret_cast<const sockaddr_un&>(name).sun_path;
    case AF_INET:
      return std::to_string(ntohs(reinterpret_cast<const sockaddr_in&>(name).sin_port));
    case AF_INET6:
      return std::to_string(ntohs(reinterpret_cast<const sockaddr_in6&>(name).sin6_port));
    default:
      return "";
  }
}

// The kernel gives the lowest number that is free, so a number near the limit means that few are.
bool IsReserved(int fd, int reserved) {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         static_cast<rlim_t>(fd) + static_cast<rlim_t>(reserved) >= limit.rlim_cur;
}

bool HasPeer(int socket) {
  sockaddr_storage name{};
  socklen_t size = sizeof(name);
  return getpeername(socket, reinterpret_cast<sockaddr*>(&name), &size) == 0;
}

// Whether an address stands earlier in its list.
bool IsRepeated(const addrinfo* first, const addrinfo* info) {
  for (const addrinfo* other = first; other != info; other = other->ai_next) {
    if (other->ai_addrlen == info->ai_addrlen && std::memcmp(other->ai_addr, info->ai_addr, info->ai_addrlen) == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Listener>> Listener::Bind(const ListenAddress& address, int reserved) {
  std::unique_ptr<Listener> listener(new Listener(address, reserved));
  const absl::Status bound = address.is_unix() ? listener->BindUnix() : listener->BindTcp();
  if (!bound.ok()) return bound;
  listener->stop_ = Descriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (listener->stop_.get() < 0) return listener->CannotListen(std::strerror(errno));
  return listener;
}

Listener::~Listener() { Stop(); }

absl::Status Listener::CannotListen(const std::string& why) const {
  return ring::Error(absl::StatusCode::kUnavailable, kCannotListen,
                     fmt::format("cannot listen on {}: {}", address_.ToString(), why));
}

absl::Status Listener::BindUnix() {
  const sockaddr_un name = UnixName(address_.unix_path);
  const auto* bytes = reinterpret_cast<const sockaddr*>(&name);
  struct stat status;
  if (lstat(name.sun_path, &status) == 0) {
    if (!S_ISSOCK(status.st_mode)) return CannotListen("there is a file of that name, which is no socket");
    const Descriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (probe.get() < 0) return CannotListen(std::strerror(errno));
    const bool answers = connect(probe.get(), bytes, sizeof(name)) == 0 || errno == EAGAIN;  // its queue is full
    if (answers) return CannotListen(std::strerror(EADDRINUSE));
    if (errno != ECONNREFUSED) return CannotListen(std::strerror(errno));
    // Left over by a process that did not stop in order.
    if (unlink(name.sun_path) != 0) return CannotListen(std::strerror(errno));
  }
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (socket.get() < 0 || bind(socket.get(), bytes, sizeof(name)) != 0 || listen(socket.get(), SOMAXCONN) != 0) {
    return CannotListen(std::strerror(errno));
  }
  sockets_.push_back(std::move(socket));
  return absl::OkStatus();
}

// A name such as localhost may have several addresses; each that this machine has is bound, to the same port.
absl::Status Listener::BindTcp() {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(address_.host.c_str(), nullptr, &hints, &found);
  if (error != 0) return CannotListen(gai_strerror(error));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> guard(found, freeaddrinfo);
  int last_error = 0;
  for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
    if (IsRepeated(found, info)) continue;
    sockaddr_storage name{};
    std::memcpy(&name, info->ai_addr, info->ai_addrlen);
    auto& port = info->ai_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(name).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(name).sin_port;
    port = htons(static_cast<uint16_t>(address_.port));
    Descriptor socket(::socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    // Without SO_REUSEPORT, which would let two servers share the port in silence.
    if (socket.get() >= 0) SetOption(socket.get(), SOL_SOCKET, SO_REUSEADDR);
    if (socket.get() >= 0 && info->ai_family == AF_INET6) SetOption(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY);
    if (socket.get() < 0 || bind(socket.get(), reinterpret_cast<const sockaddr*>(&name), info->ai_addrlen) != 0 ||
        listen(socket.get(), SOMAXCONN) != 0) {
      last_error = errno;
      if (last_error == EADDRNOTAVAIL || last_error == EAFNOSUPPORT) continue;
      return CannotListen(std::strerror(last_error));
    }
    // Connections inherit these.
    SetOption(socket.get(), IPPROTO_TCP, TCP_NODELAY);
    SetOption(socket.get(), IPPROTO_TCP, TCP_USER_TIMEOUT, kUserTimeoutMillis);
    address_.port = std::atoi(OwnSideOf(socket.get()).c_str());
    sockets_.push_back(std::move(socket));
  }
  return sockets_.empty() ? CannotListen(std::strerror(last_error)) : absl::OkStatus();
}

void Listener::Start(std::function<void(int)> take) {
  thread_ = std::thread([this, take = std::move(take)] { Run(take); });
}

void Listener::Stop() {
  if (thread_.joinable()) {
    const uint64_t one = 1;
    (void)!write(stop_.get(), &one, sizeof(one));
    thread_.join();
  }
  if (!sockets_.empty() && address_.is_unix()) unlink(address_.unix_path.c_str());
  sockets_.clear();
}

void Listener::BreakConnections() const {
  const std::string own_side = address_.is_unix() ? address_.unix_path : std::to_string(address_.port);
  std::error_code error;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end; !error && entry != end;
       entry.increment(error)) {
    const int fd = std::atoi(entry->path().filename().c_str());
    if (OwnSideOf(fd) == own_side) shutdown(fd, SHUT_RDWR);
  }
  if (error) spdlog::warn("connections cannot be broken: /proc/self/fd: {}", error.message());
}

void Listener::Run(const std::function<void(int)>& take) {
  std::vector<pollfd> polled{{stop_.get(), POLLIN, 0}};
  for (const Descriptor& socket : sockets_) polled.push_back({socket.get(), POLLIN, 0});
  bool exhausted = false;
  while (true) {
    // While there is no descriptor left, only a stop is waited for.
    const int ready = exhausted ? poll(polled.data(), 1, kPauseMillis) : poll(polled.data(), polled.size(), -1);
    if (ready < 0) {
      if (errno != EINTR) std::this_thread::sleep_for(std::chrono::milliseconds(kPauseMillis));
      continue;
    }
    if (polled[0].revents != 0) return;
    exhausted = false;
    for (size_t i = 1; i < polled.size(); i++) exhausted |= !AcceptOne(polled[i].fd, take);
  }
}

bool Listener::AcceptOne(int socket, const std::function<void(int)>& take) {
  Descriptor connection(accept4(socket, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  const int error = errno;
  if (connection.get() < 0) {
    const bool nobody = error == EAGAIN || error == EINTR || error == ECONNABORTED;
    if (!nobody) WarnOfRefusal(std::strerror(error));
    return nobody;
  }
  if (IsReserved(connection.get(), reserved_)) {
    WarnOfRefusal("the last file descriptors are kept for the store and the log");
  } else if (HasPeer(connection.get())) {  // else it has gone again, as the checks of load balancers do
    take(connection.Release());
  }
  return true;
}

void Listener::WarnOfRefusal(std::string_view why) {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_warning_) return;
  next_warning_ = now + kBetweenWarnings;
  spdlog::warn("{}: new connections are closed or wait: {}; see ulimit -n", address_.ToString(), why);
}

}  // namespace ringd::server
