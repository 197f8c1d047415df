// DiffStream: one DiffVersions RPC. It makes the next message when the one before it has gone, so a reader that is slow
// costs what the VersionDiff holds and one message.
//
// Lifetime: its own, until gRPC calls OnDone. Threads: gRPC's, one at a time.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "grpcpp/support/server_callback.h"
#include "ringd/v1/directory.pb.h"
#include "server/directory.h"
#include "server/rpc_metrics.h"
#include "server/version_diff.h"

namespace ringd::server {

class DiffStream final : public grpc::ServerWriteReactor<v1::DiffVersionsResponse> {
 public:
  // The call is added to the counts, which must outlive it. `still_wanted` is asked before each message, and ends the
  // stream with its error.
  DiffStream(std::unique_ptr<VersionDiff> diff, RpcCounts& counts, StillWanted still_wanted);

  void OnWriteDone(bool ok) override;
  void OnDone() override { delete this; }

 private:
  void WriteNext();
  void End(const absl::Status& status);

  std::unique_ptr<VersionDiff> diff_;  // null when it has ended
  RpcCounts& counts_;
  const StillWanted still_wanted_;
  v1::DiffVersionsResponse response_;
};

}  // namespace ringd::server
