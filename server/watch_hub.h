// WatchHub: brings what the directory publishes to the streams that watch it.
//
// One thread fans out, sends heartbeats and ends streams whose readers are stuck or whose time is over, another reads
// the durable history for streams that catch up; so a slow disk does not hold up what is published, and a slow reader
// nobody. No gRPC here: a stream is a WatchSink.
//
// Threads: every member from any thread. Sinks are called on the hub's threads, never under its lock.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "ring/mutex.h"
#include "server/store.h"
#include "server/watch_session.h"

namespace ringd::server {

// A stream as the hub sees it. Every member may be called from any thread and must not block.
class WatchSink {
 public:
  virtual ~WatchSink() = default;
  // These rings were published.
  virtual void Touched(const std::vector<std::string>& rings) = 0;
  virtual void HeartbeatDue() = 0;
  // The caller is to be told to reconnect within that time.
  virtual void ReconnectDue(std::chrono::seconds within) = 0;
  // The answer to ReadHistory.
  virtual void HistoryRead(const std::string& ring, std::vector<ChangeRecord> changes) = 0;
  // The stream must end with this status.
  virtual void End(const absl::Status& status) = 0;
  // The stream must end if its reader has not taken what was written before that time.
  virtual void EndIfStuck(std::chrono::steady_clock::time_point written_before) = 0;
};

class WatchHub {
 public:
  struct Options {
    std::chrono::milliseconds heartbeat_interval{10'000};
    size_t max_watches_per_connection = 100;
    size_t max_watches = 20'000;
    // How long a reader may take for one message. gRPC's pings find a peer that stands still only where they can be
    // sent: not behind bytes that it does not take, on a unix socket.
    std::chrono::milliseconds stuck_after{40'000};
    // The age at which gRPC closes a connection to new calls; 0 = none. A stream that has itself lasted a little longer
    // is told to leave its connection: by then that is closed for sure, so that who comes again gets another one.
    std::chrono::milliseconds max_connection_age{0};
    // How long a stream stays after its caller was told.
    std::chrono::seconds leave_within{30};
  };

  // Watchers that are sent away all at once are told to come back over so long a time, each at another one: the first,
  // or so much for each, if that is more.
  static constexpr std::chrono::milliseconds kShortestReturn{1'000};
  static constexpr std::chrono::microseconds kReturnPerWatch{500};

  // The name under which all connections of a unix socket are counted together, and how many Watches they may have.
  static constexpr std::string_view kUnixConnections = "unix";
  static constexpr size_t kMaxUnixWatches = 5'000;

  // How much is read from the history at a time, which bounds what a stream that catches up holds.
  static constexpr size_t kHistoryBatch = 128;
  static constexpr size_t kHistoryBatchBytes = 1 << 20;

  // The store must outlive the hub.
  WatchHub(Store& store, Options options);
  ~WatchHub();

  // Takes a stream in, or refuses it: RESOURCE_EXHAUSTED when the connection has its number already, or the hub, then
  // with a time to come again; UNAVAILABLE after Stop. From now on the sink is told what is published.
  absl::Status Add(std::shared_ptr<WatchSink> sink, const std::string& connection);
  void Remove(const WatchSink* sink);

  // These rings were published. Returns at once.
  void Published(std::span<const std::string> rings);

  // Reads changes for a sink, which gets them by HistoryRead.
  void ReadHistory(std::shared_ptr<WatchSink> sink, HistoryNeeded needed);

  // Ends every stream with UNAVAILABLE, takes no more, and joins the threads. May be called twice.
  void Stop();

  size_t watches() const;

  // A stream was sent a snapshot marked rewound; and how often that was.
  void CountRewound() { rewound_++; }
  uint64_t rewound() const { return rewound_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    std::shared_ptr<WatchSink> sink;
    std::string connection;
    Clock::time_point leave_at = Clock::time_point::max();
    bool told_to_leave = false;
  };
  // Streams whose time has come: those that are told so, and those that were told and are still there.
  struct OfAge {
    std::vector<std::shared_ptr<WatchSink>> to_tell;
    std::vector<std::shared_ptr<WatchSink>> to_end;
  };
  struct HistoryRequest {
    std::shared_ptr<WatchSink> sink;
    HistoryNeeded needed;
  };

  void FanOut();
  void ServeHistory();
  std::vector<std::shared_ptr<WatchSink>> Sinks() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Clock::time_point LeaveAt() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  OfAge TakeOfAge(Clock::time_point now);
  // The error with a random time to come again.
  absl::Status ComeBack(absl::Status status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Store& store_;
  const Options options_;
  std::atomic<uint64_t> rewound_ = 0;

  mutable Mutex mutex_;
  CondVar published_;
  CondVar history_wanted_;
  std::map<const WatchSink*, Entry> sinks_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, size_t> per_connection_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> rings_ ABSL_GUARDED_BY(mutex_);
  std::deque<HistoryRequest> history_ ABSL_GUARDED_BY(mutex_);
  std::minstd_rand random_ ABSL_GUARDED_BY(mutex_){std::random_device()()};
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread fan_out_;
  std::thread serve_history_;
};

}  // namespace ringd::server
