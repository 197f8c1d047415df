#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "grpcpp/client_context.h"
#include "ring/mutex.h"
#include "ringd/v1/directory.grpc.pb.h"

namespace ringd::ctl {

// WatchReporter tells the directory which version of a ring a named `watch` has shown last. One call is under way at a
// time, on a thread of its own, so that showing never waits for it; what is shown meanwhile goes with the next. A
// report that fails is not made again: the next one, or that of the next stream, says more.
class WatchReporter {
 public:
  // `stub` is that of the stream, and must outlive this.
  WatchReporter(v1::Directory::StubInterface& stub, std::string name, std::string ring);
  WatchReporter(const WatchReporter&) = delete;
  WatchReporter& operator=(const WatchReporter&) = delete;
  // Ends the call that is under way.
  ~WatchReporter();

  // The ring was shown at this version. Returns at once.
  void Shown(const v1::Version& version);

 private:
  using Clock = std::chrono::steady_clock;
  struct Report {
    v1::Version version;
    Clock::time_point shown;
  };

  void Run();
  // Sends it, and returns when it is answered.
  void Send(const Report& report);

  v1::Directory::StubInterface& stub_;
  const std::string name_;
  const std::string ring_;

  Mutex mutex_;
  CondVar changed_;
  std::optional<Report> next_ ABSL_GUARDED_BY(mutex_);
  grpc::ClientContext* call_ ABSL_GUARDED_BY(mutex_) = nullptr;  // under way
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace ringd::ctl
