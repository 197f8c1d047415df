#include "client/channel.h"

#include "grpcpp/create_channel.h"
#include "grpcpp/support/channel_arguments.h"

namespace ringd {
namespace {

constexpr int kConnectWithinMillis = 2'000;

}  // namespace

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
