#include "server/watch_stream.h"

#include <utility>

#include "proto/status_codec.h"
#include "spdlog/spdlog.h"

namespace ringd::server {
namespace {

// gRPC only hands it back.
void* TagOf(const WatchStream::Tag& tag) { return const_cast<WatchStream::Tag*>(&tag); }

}  // namespace

void WatchStream::Await(WatchCalls& calls, grpc::ServerCompletionQueue& queue) {
  auto stream = std::shared_ptr<WatchStream>(new WatchStream(calls, queue));
  stream->self_ = stream;
  stream->context_.AsyncNotifyWhenDone(TagOf(stream->gone_));
  calls.request()(&stream->context_, &stream->request_, &stream->writer_, &queue, TagOf(stream->arrived_));
}

void WatchStream::OnArrived(bool ok) {
  if (!ok) {  // the server shuts down
    calls_.Ended();
    self_.reset();
    return;
  }
  calls_.Await(queue_);
  calls_.begin()(*this);
}

void WatchStream::Start(const Directory& directory, WatchHub& hub, WatchMessages& messages, RpcCounts& counts,
                        const std::string& connection, RingSelector selector,
                        const std::map<std::string, WatchPosition>& held) {
  request_.Clear();
  hub_ = &hub;
  messages_ = &messages;
  counts_ = &counts;
  counts.Started();
  {
    const MutexLock lock(mutex_);
    call_ = context_.c_call();
  }
  if (absl::Status status = hub.Add(shared_from_this(), connection); !status.ok()) return End(status);
  // Registered before the session looks at the directory, so that nothing published between the two is missed.
  {
    const MutexLock lock(mutex_);
    session_.emplace(directory, std::move(selector), held);
  }
  Pump();
}

void WatchStream::Refuse(RpcCounts& counts, const absl::Status& status) {
  counts_ = &counts;
  counts.Started();
  End(status);
}

void WatchStream::Touched(const std::vector<std::string>& rings) {
  {
    MutexLock lock(mutex_);
    if (!session_.has_value()) return;
    bool watched = false;
    for (const std::string& ring : rings) watched |= session_->Touch(ring);
    if (!watched) return;
  }
  Pump();
}

void WatchStream::HeartbeatDue() {
  {
    MutexLock lock(mutex_);
    if (!session_.has_value()) return;
    session_->HeartbeatDue();
  }
  Pump();
}

void WatchStream::HistoryRead(const std::string& ring, std::vector<ChangeRecord> changes) {
  {
    MutexLock lock(mutex_);
    reading_history_ = false;
    session_->ProvideHistory(ring, std::move(changes));
  }
  Pump();
}

void WatchStream::Pump() {
  if (FinishIfEnded()) return;
  std::optional<HistoryNeeded> needed;
  std::optional<RingHead> rewound;
  {
    MutexLock lock(mutex_);
    if (writing_ || reading_history_ || finished_ || end_.has_value()) return;
    const uint64_t rewound_before = session_->rewound();
    Next next = session_->Advance();
    if (std::holds_alternative<Idle>(next)) return;
    if (auto* history = std::get_if<HistoryNeeded>(&next)) {
      reading_history_ = true;
      needed = std::move(*history);
    } else {
      const auto& event = std::get<WatchEvent>(next);
      if (session_->rewound() != rewound_before) rewound = std::get<SnapshotChunk>(event).head;
      const grpc::Slice bytes = messages_->Of(event);
      message_ = grpc::ByteBuffer(&bytes, 1);
      writing_ = true;
      written_at_ = std::chrono::steady_clock::now();
    }
  }
  if (needed.has_value()) return hub_->ReadHistory(shared_from_this(), *std::move(needed));
  if (rewound.has_value()) {
    hub_->CountRewound();
    spdlog::error("a watcher is ahead of ring \"{}\" at {}: the store was rolled back outside ringd", rewound->name,
                  ToString(rewound->version));
  }
  counts_->Sent();
  writer_.Write(message_, TagOf(written_));
}

void WatchStream::OnWritten(bool ok) {
  {
    MutexLock lock(mutex_);
    writing_ = false;
    message_.Clear();
    if (!ok && !end_.has_value()) end_ = absl::CancelledError("the stream is broken");
  }
  Pump();
}

void WatchStream::OnGone(bool) {
  End(absl::CancelledError("the caller has gone"));
  Release();
}

void WatchStream::OnFinished(bool) { Release(); }

void WatchStream::Release() {
  if (--to_come_ > 0) return;
  {
    MutexLock lock(mutex_);
    call_ = nullptr;
  }
  if (hub_ != nullptr) hub_->Remove(this);
  calls_.Ended();
  // Whoever still holds the stream (the hub's threads) lets go of it when it returns.
  self_.reset();
}

void WatchStream::End(const absl::Status& status) {
  {
    MutexLock lock(mutex_);
    if (!end_.has_value()) end_ = status;
  }
  FinishIfEnded();
}

// What gRPC has begun to write on a unix socket is over only when the connection is, and so is the call. All else that
// the stream has is given back now.
void WatchStream::EndIfStuck(std::chrono::steady_clock::time_point written_before) {
  grpc_call* call = nullptr;
  {
    MutexLock lock(mutex_);
    if (!writing_ || written_at_ >= written_before || call_ == nullptr) return;
    if (!end_.has_value()) end_ = absl::UnavailableError("the reader takes nothing");
    session_.reset();
    call = call_;
    grpc_call_ref(call);
  }
  // Not under the lock: it may call back from here.
  grpc_call_cancel_with_status(call, GRPC_STATUS_UNAVAILABLE, "the reader takes nothing", nullptr);
  grpc_call_unref(call);
  hub_->Remove(this);
}

bool WatchStream::FinishIfEnded() {
  absl::Status status;
  {
    MutexLock lock(mutex_);
    if (!end_.has_value() || writing_) return finished_;
    if (finished_) return true;
    finished_ = true;
    status = *end_;
  }
  const grpc::Status answer = ToGrpc(status);
  counts_->Handled(answer.error_code());
  writer_.Finish(answer, TagOf(finish_));
  return true;
}

}  // namespace ringd::server
