#include "server/transport.h"

#include "grpcpp/resource_quota.h"

namespace ringd::server {
namespace {

constexpr int kMaxSendBytes = 4 << 20;
constexpr size_t kQuotaBytes = 256 << 20;
constexpr int kMaxMetadataBytes = 8 << 10;
// Well above the Watches that one connection may have: gRPC makes what is over this wait in silence.
constexpr int kMaxConcurrentStreams = 10'000;

}  // namespace

void SetTransport(grpc::ServerBuilder& builder, int max_request_bytes) {
  builder.SetMaxReceiveMessageSize(max_request_bytes);
  builder.SetMaxSendMessageSize(kMaxSendBytes);
  builder.SetResourceQuota(grpc::ResourceQuota("ringd").Resize(kQuotaBytes));
  // A small compressed request would be unpacked before its size is judged.
  builder.SetDefaultCompressionAlgorithm(GRPC_COMPRESS_NONE);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_DEFLATE, false);
  builder.SetCompressionAlgorithmSupportStatus(GRPC_COMPRESS_GZIP, false);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxConcurrentStreams);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, 10'000);
  // Idle watchers are kept: their pings are welcome, and a peer that no longer answers ours is given up.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
}

}  // namespace ringd::server
