#include "server/tls_credentials.h"

#include <cstdlib>
#include <string>

#include "grpc/grpc.h"
#include "grpc/grpc_security.h"
#include "ring/mutex.h"

namespace ringd::server {
namespace {

// gRPC has the fetching of certificates in its C interface alone.
class KeptCredentials final : public grpc::ServerCredentials {
 public:
  explicit KeptCredentials(const CertificateKeeper& keeper)
      : keeper_(keeper),
        credentials_(grpc_ssl_server_credentials_create_with_options(
            grpc_ssl_server_credentials_create_options_using_config_fetcher(
                GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY, Fetch, this))) {}
  ~KeptCredentials() override { grpc_server_credentials_release(credentials_); }

  // Nobody sets one; and one that is ignored in silence would be worse.
  void SetAuthMetadataProcessor(const std::shared_ptr<grpc::AuthMetadataProcessor>&) override { std::abort(); }

 private:
  int AddPortToServer(const std::string& address, grpc_server* server) override {
    return grpc_server_add_http2_port(server, address.c_str(), credentials_);
  }

  static grpc_ssl_certificate_config_reload_status Fetch(void* self, grpc_ssl_server_certificate_config** config) {
    return static_cast<KeptCredentials*>(self)->Fetch(config);
  }

  grpc_ssl_certificate_config_reload_status Fetch(grpc_ssl_server_certificate_config** config) {
    auto served = keeper_.served();
    MutexLock lock(mutex_);
    if (served == given_) return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    const grpc_ssl_pem_key_cert_pair pair{served->texts.key.c_str(), served->texts.certificate.c_str()};
    *config = grpc_ssl_server_certificate_config_create(served->texts.client_ca.c_str(), &pair, 1);
    given_ = std::move(served);
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const CertificateKeeper& keeper_;
  grpc_server_credentials* const credentials_;
  Mutex mutex_;
  std::shared_ptr<const ServedCertificates> given_ ABSL_GUARDED_BY(mutex_);  // to gRPC, the last time
};

}  // namespace

std::shared_ptr<grpc::ServerCredentials> MutualTlsCredentials(const CertificateKeeper& keeper) {
  return std::make_shared<KeptCredentials>(keeper);
}

}  // namespace ringd::server
