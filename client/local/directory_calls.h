// DirectoryCalls: the calls that one copy has under way, as a source of messages for one thread at a time.
//
// It outlives the copy where it must: gRPC uses a call until it is done.
//
// Threads: any, but for Watch, Report, Keep and Next, which are for the one that runs the copy. `wake` is called on
// gRPC's threads, under the lock.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "client/local/channel_pool.h"
#include "client/local/watch_call.h"
#include "client/local/watch_machine.h"
#include "grpcpp/client_context.h"
#include "ring/mutex.h"
#include "ringd/v1/directory.grpc.pb.h"

namespace ringd {

class DirectoryCalls : public std::enable_shared_from_this<DirectoryCalls> {
 public:
  using StreamId = WatchMachine::StreamId;
  using Place = ChannelPool::Place;

  struct Said {
    StreamId id = 0;
    StreamEvent event;
  };
  struct Ended {
    StreamId id = 0;
    grpc::Status status;
  };
  struct Reported {
    grpc::Status status;
  };
  using Message = std::variant<Said, Ended, Reported>;

  // `wake` is called when there is a message, until Stop.
  explicit DirectoryCalls(std::function<void()> wake) : wake_(std::move(wake)) {}

  // Opens a stream. The connections of those before it get no more streams: they are left, or have failed.
  void Watch(StreamId id, v1::WatchRequest request, std::shared_ptr<Place> place);
  bool IsOpen(StreamId id) const;
  // Cancels the streams for which `keep` is false; nothing more is heard of them.
  void Keep(const std::function<bool(StreamId)>& keep);
  // Tells what was applied, by the connection of that stream. REQUIRES IsOpen, and no Report before its Reported.
  void Report(StreamId id, v1::ReportWatchRequest request);

  // The oldest message that was not taken yet.
  std::optional<Message> Next();

  // Cancels everything. No message and no wake comes any more.
  void Stop();
  // After Stop: waits until gRPC has let go of all calls.
  void AwaitEnd();

 private:
  // The place goes last, as it wants.
  struct Stream {
    std::shared_ptr<Place> place;
    std::unique_ptr<WatchCall> call;
  };
  struct ReportCall {
    std::shared_ptr<Place> place;
    std::unique_ptr<v1::Directory::Stub> stub;
    grpc::ClientContext context;
    v1::ReportWatchRequest request;
    v1::ReportWatchResponse response;
  };
  struct Event {
    StreamId id = 0;
    WatchCall::Happening what;
  };
  static constexpr StreamId kReport = 0;

  void Happened(StreamId id, WatchCall::Happening what);
  // Nobody is told of it any more: lets the call come to its end.
  void Settle(const Event& event);
  void LetGo(StreamId id);

  const std::function<void()> wake_;

  mutable Mutex mutex_;
  CondVar ended_;
  std::map<StreamId, Stream> streams_ ABSL_GUARDED_BY(mutex_);  // until gRPC has let go of them
  std::set<StreamId> open_ ABSL_GUARDED_BY(mutex_);             // of which something is still to be heard
  std::unique_ptr<ReportCall> report_ ABSL_GUARDED_BY(mutex_);
  std::deque<Event> events_ ABSL_GUARDED_BY(mutex_);
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace ringd
