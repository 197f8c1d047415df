// Addresses to listen on: parsing, and what is local.
//
// Values and functions, any thread.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace ringd::server {

// The reason of errors. Part of the contract.
inline constexpr std::string_view kCannotListen = "CANNOT_LISTEN";

struct ListenAddress {
  std::string host;  // as given, without brackets; empty for a unix socket
  int port = 0;
  std::string unix_path;

  bool is_unix() const { return !unix_path.empty(); }
  // As it is written: HOST:PORT, [V6]:PORT or unix:PATH.
  std::string ToString() const;

  bool operator==(const ListenAddress&) const = default;
};

// INVALID_ARGUMENT, with a text that names what is wrong, for what is not HOST:PORT, [V6]:PORT, unix:PATH or
// unix:///PATH.
absl::StatusOr<ListenAddress> ParseListenAddress(const std::string& text);

// Loopback (127.0.0.0/8, ::1, localhost) or a unix socket: what other machines do not reach.
bool IsLocal(const ListenAddress& address);

}  // namespace ringd::server
