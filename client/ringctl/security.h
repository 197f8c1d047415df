#pragma once

#include <absl/status/statusor.h>
#include <grpcpp/security/credentials.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "client/credentials.h"

namespace ringd::ctl {

// Security is how servers are spoken with: TLS where there are files, else plaintext; a unix socket has no TLS. Copies
// are the same value. Any thread.
class Security {
 public:
  // Plaintext.
  Security() = default;

  // FromFiles answers TLS. FAILED_PRECONDITION, with a text that names the file, for one that cannot be used. A watch
  // may last longer than they do: see Credentials.
  // REQUIRES: the CA is given; certificate and key both or neither.
  static absl::StatusOr<Security> FromFiles(const TlsFiles& files);

  // Those to connect with now.
  std::shared_ptr<grpc::ChannelCredentials> credentials() const;

  // WhyRefused says why an endpoint that gRPC could not connect to is not to be had this way, by trying itself for up
  // to `patience`: gRPC tells a refused certificate as a closed socket. Empty when TLS is not what is wrong.
  std::string WhyRefused(const std::string& endpoint, std::chrono::milliseconds patience) const;

 private:
  // Both absent = plaintext.
  std::optional<TlsFiles> files_;
  std::shared_ptr<Credentials> credentials_;
};

}  // namespace ringd::ctl
