// Credentials for gRPC that ask a CertificateKeeper at every handshake: TLS 1.2 or later, HTTP/2 by ALPN, and a client
// certificate that the CA of the moment has issued.
//
// gRPC's own ways to reload certificates from files abort the process on a pair that does not match.
#pragma once

#include <memory>

#include "grpcpp/security/server_credentials.h"
#include "server/certificate_keeper.h"

namespace ringd::server {

// The keeper must outlive the credentials, and the credentials every server that has them.
std::shared_ptr<grpc::ServerCredentials> MutualTlsCredentials(const CertificateKeeper& keeper);

}  // namespace ringd::server
