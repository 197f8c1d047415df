#pragma once

#include <absl/status/statusor.h>
#include <grpcpp/security/credentials.h>
#include <openssl/ssl.h>

#include <chrono>
#include <memory>
#include <string>

namespace ringd::ctl {

// TlsFiles names PEM files; empty = not given.
struct TlsFiles {
  std::string cacert;  // the CAs that servers' certificates must come from
  std::string cert;    // the certificate to show, its chain behind it
  std::string key;     // of that certificate
};

// Security is how servers are spoken with: TLS where there are files, else plaintext; a unix socket has no TLS. Copies
// are the same value. Any thread.
class Security {
 public:
  // Plaintext.
  Security() = default;

  // FromFiles answers TLS. FAILED_PRECONDITION, with a text that names the file, for one that cannot be used.
  // REQUIRES: `cacert` is given; `cert` and `key` both or neither.
  static absl::StatusOr<Security> FromFiles(const TlsFiles& files);

  const std::shared_ptr<grpc::ChannelCredentials>& credentials() const { return credentials_; }

  // WhyRefused says why an endpoint that gRPC could not connect to is not to be had this way, by trying itself for up
  // to `patience`: gRPC tells a refused certificate as a closed socket. Empty when TLS is not what is wrong.
  std::string WhyRefused(const std::string& endpoint, std::chrono::milliseconds patience) const;

 private:
  std::shared_ptr<SSL_CTX> context_;  // null = plaintext
  std::shared_ptr<grpc::ChannelCredentials> credentials_ = grpc::InsecureChannelCredentials();
};

}  // namespace ringd::ctl
