// WatchStream: one Watch RPC. It pumps what its WatchSession has to say into the stream, one message at a time.
//
// Lifetime: it holds itself from Await until gRPC is done with it; the hub holds it while it is registered.
// Threads: called by those of WatchCalls and of the hub; its lock is held while the next message is built, never while
// one is sent.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "grpc/grpc.h"
#include "grpcpp/completion_queue.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/async_stream.h"
#include "grpcpp/support/byte_buffer.h"
#include "ring/mutex.h"
#include "server/rpc_metrics.h"
#include "server/watch_calls.h"
#include "server/watch_hub.h"
#include "server/watch_messages.h"
#include "server/watch_session.h"

namespace ringd::server {

class WatchStream final : public WatchSink, public std::enable_shared_from_this<WatchStream> {
 public:
  // What gRPC hands back when something has happened to a stream.
  class Tag {
   public:
    Tag(WatchStream* stream, void (WatchStream::*happened)(bool)) : stream_(stream), happened_(happened) {}
    void Happened(bool ok) const { (stream_->*happened_)(ok); }

   private:
    WatchStream* const stream_;
    void (WatchStream::*const happened_)(bool);
  };

  // Makes a stream that waits for its call.
  static void Await(WatchCalls& calls, grpc::ServerCompletionQueue& queue);

  // The call that has come, and its request.
  const grpc::ServerContext& context() const { return context_; }
  const grpc::ByteBuffer& request() const { return request_; }

  // Begins to say what the session has to say, or ends at once when the hub refuses it. The hub, the messages, the
  // directory and the counts, to which the call is added, must outlive the stream. `connection` is the hub's name of
  // the connection that the call came on.
  void Start(const Directory& directory, WatchHub& hub, WatchMessages& messages, RpcCounts& counts,
             const std::string& connection, RingSelector selector, const std::map<std::string, WatchPosition>& held);
  // Ends it without a word.
  void Refuse(RpcCounts& counts, const absl::Status& status);

  void Touched(const std::vector<std::string>& rings) override;
  void HeartbeatDue() override;
  void HistoryRead(const std::string& ring, std::vector<ChangeRecord> changes) override;
  void End(const absl::Status& status) override;
  void EndIfStuck(std::chrono::steady_clock::time_point written_before) override;

 private:
  WatchStream(WatchCalls& calls, grpc::ServerCompletionQueue& queue) : calls_(calls), queue_(queue) {}

  // --- What happens, each in a thread of WatchCalls.
  void OnArrived(bool ok);
  void OnWritten(bool ok);
  // The call has ended, or its caller has gone.
  void OnGone(bool ok);
  void OnFinished(bool ok);

  // Says the next thing there is to say, if the stream is free to.
  void Pump();
  // Finishes the stream when it must end and no write is in flight. Returns whether it has.
  bool FinishIfEnded();
  // Lets go of the stream once gRPC has said both that it is finished and that the call has gone.
  void Release();

  WatchCalls& calls_;
  grpc::ServerCompletionQueue& queue_;
  const Tag arrived_{this, &WatchStream::OnArrived};
  const Tag written_{this, &WatchStream::OnWritten};
  const Tag gone_{this, &WatchStream::OnGone};
  const Tag finish_{this, &WatchStream::OnFinished};
  grpc::ServerContext context_;
  grpc::ByteBuffer request_;
  grpc::ServerAsyncWriter<grpc::ByteBuffer> writer_{&context_};
  int to_come_ = 2;                    // of OnGone and OnFinished
  std::shared_ptr<WatchStream> self_;  // gRPC's hold on the stream

  // Set once, before anybody else knows of the stream. Null where it was refused.
  WatchHub* hub_ = nullptr;
  WatchMessages* messages_ = nullptr;
  RpcCounts* counts_ = nullptr;

  Mutex mutex_;
  std::optional<WatchSession> session_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  std::chrono::steady_clock::time_point written_at_ ABSL_GUARDED_BY(mutex_);  // while writing_
  grpc_call* call_ ABSL_GUARDED_BY(mutex_) = nullptr;                         // null when it is done
  bool reading_history_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  std::optional<absl::Status> end_ ABSL_GUARDED_BY(mutex_);
  grpc::ByteBuffer message_;  // of the writer: set before Write, free again in OnWritten
};

}  // namespace ringd::server
