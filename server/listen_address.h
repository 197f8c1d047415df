// Addresses to listen on: parsing, and the rule that nothing but loopback and unix sockets is listened on without mTLS.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace ringd::server {

// Reasons of errors. Part of the contract.
inline constexpr std::string_view kCannotListen = "CANNOT_LISTEN";
inline constexpr std::string_view kPlaintextRefused = "PLAINTEXT_REFUSED";

struct ListenAddress {
  std::string host;  // as given, without brackets; empty for a unix socket
  int port = 0;
  std::string unix_path;

  bool is_unix() const { return !unix_path.empty(); }
  // As it is written: HOST:PORT, [V6]:PORT or unix:PATH.
  std::string ToString() const;
};

// INVALID_ARGUMENT, with a text that names what is wrong, for what is not HOST:PORT, [V6]:PORT, unix:PATH or
// unix:///PATH.
absl::StatusOr<ListenAddress> ParseListenAddress(const std::string& text);

// FAILED_PRECONDITION unless the address is loopback (127.0.0.0/8, ::1, localhost) or a unix socket.
absl::Status CheckLocal(const ListenAddress& address);

}  // namespace ringd::server
