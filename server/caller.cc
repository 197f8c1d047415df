#include "server/caller.h"

#include <memory>

#include "grpc/grpc_security_constants.h"
#include "grpcpp/security/auth_context.h"

namespace ringd::server {
namespace {

std::vector<std::string> ValuesOf(const grpc::AuthContext& context, const char* property) {
  std::vector<std::string> values;
  for (const grpc::string_ref& value : context.FindPropertyValues(property)) {
    values.emplace_back(value.data(), value.size());
  }
  return values;
}

}  // namespace

Caller CallerOf(const grpc::ServerContextBase& context) {
  Caller caller{.peer = context.peer()};
  const std::shared_ptr<const grpc::AuthContext> authentication = context.auth_context();
  if (authentication == nullptr) return caller;
  const std::vector<std::string> types = ValuesOf(*authentication, GRPC_TRANSPORT_SECURITY_TYPE_PROPERTY_NAME);
  caller.has_certificate = types.size() == 1 && types.front() == GRPC_SSL_TRANSPORT_SECURITY_TYPE;
  // By name: the peer's identity, as gRPC calls it, is the list of all SANs, addresses among them.
  caller.uris = ValuesOf(*authentication, GRPC_PEER_URI_PROPERTY_NAME);
  caller.dns_names = ValuesOf(*authentication, GRPC_PEER_DNS_PROPERTY_NAME);
  return caller;
}

}  // namespace ringd::server
