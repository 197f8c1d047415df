#include "server/listen_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <charconv>

#include "fmt/format.h"
#include "ring/error.h"

namespace ringd::server {
namespace {

absl::Status Malformed(const std::string& text, const std::string& why) {
  return ring::InvalidField(fmt::format("{} is no address to listen on: {}", ring::Quote(text), why));
}

bool IsLoopback(const std::string& host) {
  if (host == "localhost") return true;
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace

std::string ListenAddress::ToString() const {
  if (is_unix()) return "unix:" + unix_path;
  const bool v6 = host.find(':') != std::string::npos;
  return v6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

absl::StatusOr<ListenAddress> ParseListenAddress(const std::string& text) {
  ListenAddress address;
  if (text.starts_with("unix:")) {
    // What follows "//" is a host's name, up to the next "/".
    if (text.starts_with("unix://") && text.size() > 7 && text[7] != '/') {
      return Malformed(text, "write unix:PATH or unix:///PATH");
    }
    address.unix_path = text.substr(text.starts_with("unix://") ? 7 : 5);
    constexpr size_t kMaxPath = 107;  // sun_path less its end
    if (address.unix_path.empty() || address.unix_path.size() > kMaxPath) {
      return Malformed(text,
                       fmt::format("the path has {} bytes, it must have 1..{}", address.unix_path.size(), kMaxPath));
    }
    return address;
  }
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return Malformed(text, "it has no port; write HOST:PORT");
  std::string host = text.substr(0, colon);
  const bool bracketed = host.size() >= 2 && host.front() == '[' && host.back() == ']';
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty()) return Malformed(text, "it has no host; write 127.0.0.1:PORT");
  if (!bracketed && host.find(':') != std::string::npos)
    return Malformed(text, "write an IPv6 address as [ADDRESS]:PORT");
  const std::string port = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
  if (error != std::errc() || end != port.data() + port.size() || address.port < 0 || address.port > 65'535) {
    return Malformed(text, fmt::format("the port {} is not a number 0..65535", ring::Quote(port)));
  }
  address.host = host;
  return address;
}

bool IsLocal(const ListenAddress& address) { return address.is_unix() || IsLoopback(address.host); }

}  // namespace ringd::server
