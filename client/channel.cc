#include "client/channel.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "grpcpp/create_channel.h"
#include "grpcpp/support/channel_arguments.h"

namespace ringd {
namespace {

constexpr int kConnectWithinMillis = 2'000;

absl::Status ReadFile(const std::string& path, std::string& content) {
  if (path.empty()) return absl::OkStatus();
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  if (file) text << file.rdbuf();
  if (!file) return absl::NotFoundError("cannot read " + path + ": " + std::strerror(errno));
  content = text.str();
  if (content.empty()) return absl::InvalidArgumentError(path + " is empty");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>> ReadCredentials(const std::optional<TlsFiles>& tls) {
  if (!tls.has_value()) return grpc::InsecureChannelCredentials();
  if (tls->cert_file.empty() != tls->key_file.empty()) {
    return absl::InvalidArgumentError("cert_file and key_file belong together; one of them is missing");
  }
  grpc::SslCredentialsOptions options;
  if (auto status = ReadFile(tls->ca_file, options.pem_root_certs); !status.ok()) return status;
  if (auto status = ReadFile(tls->cert_file, options.pem_cert_chain); !status.ok()) return status;
  if (auto status = ReadFile(tls->key_file, options.pem_private_key); !status.ok()) return status;
  return grpc::SslCredentials(options);
}

std::shared_ptr<grpc::Channel> NewChannel(const std::string& endpoint,
                                          const std::shared_ptr<grpc::ChannelCredentials>& credentials,
                                          const std::string& server_name) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, kConnectWithinMillis);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  if (!server_name.empty()) arguments.SetSslTargetNameOverride(server_name);
  const bool plaintext = endpoint.starts_with("unix:");
  return grpc::CreateCustomChannel(endpoint, plaintext ? grpc::InsecureChannelCredentials() : credentials, arguments);
}

}  // namespace ringd
