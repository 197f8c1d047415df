// WatchStream: one Watch RPC. It pumps what its WatchSession has to say into the stream, one message at a time.
//
// Lifetime: it holds itself until gRPC calls OnDone; the hub holds it while it is registered.
// Threads: called by gRPC's threads and by the hub's; its lock is held while the next message is built, never while
// one is sent.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "grpc/grpc.h"
#include "grpcpp/support/byte_buffer.h"
#include "grpcpp/support/server_callback.h"
#include "ring/mutex.h"
#include "server/rpc_metrics.h"
#include "server/watch_hub.h"
#include "server/watch_messages.h"
#include "server/watch_session.h"
#include "server/watchers.h"

namespace ringd::server {

class WatchStream final : public grpc::ServerWriteReactor<grpc::ByteBuffer>,
                          public WatchSink,
                          public WatchedRings,
                          public std::enable_shared_from_this<WatchStream> {
 public:
  // What all streams share, and what must outlive them.
  struct Shared {
    const Directory& directory;
    WatchHub& hub;
    Watchers& watchers;
    WatchMessages& messages;
    RpcCounts& counts;  // to which each call is added
  };
  // Starts a stream, or ends it at once when the hub refuses it. `connection` is the hub's name of the connection that
  // the call came on.
  static WatchStream* Start(const Shared& shared, grpc_call* call, const std::string& connection, Watcher watcher,
                            const std::map<std::string, WatchPosition>& held);

  void Touched(const std::vector<std::string>& rings) override;
  void HeartbeatDue() override;
  void ReconnectDue(std::chrono::seconds within) override;
  void HistoryRead(const std::string& ring, std::vector<ChangeRecord> changes) override;
  void End(const absl::Status& status) override;
  void EndIfStuck(std::chrono::steady_clock::time_point written_before) override;
  void EachRing(const std::string& from, const VisitRing& visit) const override;

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  WatchStream(const Shared& shared, grpc_call* call) : shared_(shared), call_(call) {}

  // Says the next thing there is to say, if the stream is free to.
  void Pump();
  // Finishes the stream when it must end and no write is in flight. Returns whether it has.
  bool FinishIfEnded();
  // Nobody tells or asks the stream any more.
  void Leave();

  const Shared shared_;
  std::shared_ptr<WatchStream> self_;  // gRPC's hold on the stream, until OnDone

  mutable Mutex mutex_;
  std::optional<WatchSession> session_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  std::chrono::steady_clock::time_point written_at_ ABSL_GUARDED_BY(mutex_);  // while writing_
  grpc_call* call_ ABSL_GUARDED_BY(mutex_);                                   // null when it is done
  bool reading_history_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  grpc::ByteBuffer message_;  // of the writer: set before StartWrite, free again in OnWriteDone
};

}  // namespace ringd::server
