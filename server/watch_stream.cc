#include "server/watch_stream.h"

#include <utility>

#include "proto/status_codec.h"
#include "spdlog/spdlog.h"

namespace ringd::server {

WatchStream* WatchStream::Start(const Shared& shared, grpc_call* call, const std::string& connection, Watcher watcher,
                                const std::map<std::string, WatchPosition>& held) {
  auto stream = std::shared_ptr<WatchStream>(new WatchStream(shared, call));
  shared.counts.Started();
  stream->self_ = stream;
  if (absl::Status status = shared.hub.Add(stream, connection); !status.ok()) {
    stream->End(status);
    return stream.get();
  }
  // Registered before the session looks at the directory, so that nothing published between the two is missed.
  {
    MutexLock lock(stream->mutex_);
    stream->session_.emplace(shared.directory, watcher.selector, held);
  }
  // Before anything is said, so that whoever has applied it is known by name.
  shared.watchers.Add(stream, std::move(watcher));
  stream->Pump();
  return stream.get();
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

void WatchStream::ReconnectDue(std::chrono::seconds within) {
  {
    MutexLock lock(mutex_);
    if (!session_.has_value()) return;
    session_->ReconnectDue(within);
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
      const grpc::Slice bytes = shared_.messages.Of(event);
      message_ = grpc::ByteBuffer(&bytes, 1);
      writing_ = true;
      written_at_ = std::chrono::steady_clock::now();
    }
  }
  if (needed.has_value()) return shared_.hub.ReadHistory(shared_from_this(), *std::move(needed));
  if (rewound.has_value()) {
    shared_.hub.CountRewound();
    spdlog::error("a watcher is ahead of ring \"{}\" at {}: the store was rolled back outside ringd", rewound->name,
                  ToString(rewound->version));
  }
  shared_.counts.Sent();
  StartWrite(&message_);
}

void WatchStream::OnWriteDone(bool ok) {
  {
    MutexLock lock(mutex_);
    writing_ = false;
    message_.Clear();
    if (!ok && !end_.has_value()) end_ = absl::CancelledError("the stream is broken");
  }
  Pump();
}

void WatchStream::OnCancel() { End(absl::CancelledError("the caller has gone")); }

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
  Leave();
}

void WatchStream::EachRing(const std::string& from, const VisitRing& visit) const {
  MutexLock lock(mutex_);
  if (session_.has_value()) session_->EachRing(from, visit);
}

void WatchStream::Leave() {
  shared_.hub.Remove(this);
  shared_.watchers.Remove(this);
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
  shared_.counts.Handled(answer.error_code());
  Finish(answer);
  return true;
}

void WatchStream::OnDone() {
  {
    MutexLock lock(mutex_);
    call_ = nullptr;
  }
  Leave();
  // Whoever still holds the stream (the hub's threads) lets go of it when it returns.
  const std::shared_ptr<WatchStream> last = std::move(self_);
}

}  // namespace ringd::server
