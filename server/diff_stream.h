// DiffStream: one DiffVersions RPC. It makes the next message when the one before it has gone, so a reader that is slow
// costs what the VersionDiff holds and one message.
//
// Lifetime: its own, until gRPC calls OnDone. Threads: gRPC's, one at a time.
#pragma once

#include <atomic>
#include <memory>

#include "absl/status/status.h"
#include "grpcpp/support/server_callback.h"
#include "ringd/v1/directory.pb.h"
#include "server/directory.h"
#include "server/rpc_metrics.h"
#include "server/version_diff.h"

namespace ringd::server {

// How many of them there are: each holds the tables of two versions for as long as its reader likes. Any thread.
class DiffStreams {
 public:
  static constexpr int kMost = 16;

  // False: there are as many as may be. What has entered must leave.
  bool Enter() {
    if (open_.fetch_add(1) < kMost) return true;
    Leave();
    return false;
  }
  void Leave() { open_.fetch_sub(1); }

 private:
  std::atomic<int> open_ = 0;
};

class DiffStream final : public grpc::ServerWriteReactor<v1::DiffVersionsResponse> {
 public:
  // The call is added to the counts, and leaves `streams`, which it has entered; both must outlive it. `still_wanted`
  // is asked before each message, and ends the stream with its error.
  DiffStream(std::unique_ptr<VersionDiff> diff, RpcCounts& counts, DiffStreams& streams, StillWanted still_wanted);
  ~DiffStream() override { streams_.Leave(); }
  DiffStream(const DiffStream&) = delete;

  void OnWriteDone(bool ok) override;
  void OnDone() override { delete this; }

 private:
  void WriteNext();
  void End(const absl::Status& status);

  std::unique_ptr<VersionDiff> diff_;  // null when it has ended
  RpcCounts& counts_;
  DiffStreams& streams_;
  const StillWanted still_wanted_;
  v1::DiffVersionsResponse response_;
};

}  // namespace ringd::server
