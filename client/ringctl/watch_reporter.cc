#include "client/ringctl/watch_reporter.h"

#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <utility>

namespace ringd::ctl {
namespace {

constexpr std::chrono::seconds kPatience{5};
constexpr std::chrono::hours kLongestAgo{1};  // that the directory takes

}  // namespace

WatchReporter::WatchReporter(v1::Directory::StubInterface& stub, std::string name, std::string ring)
    : stub_(stub), name_(std::move(name)), ring_(std::move(ring)), thread_([this] { Run(); }) {}

WatchReporter::~WatchReporter() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    if (call_ != nullptr) call_->TryCancel();
    changed_.NotifyAll();
  }
  thread_.join();
}

void WatchReporter::Shown(const v1::Version& version) {
  MutexLock lock(mutex_);
  next_ = Report{version, Clock::now()};
  changed_.NotifyOne();
}

void WatchReporter::Run() {
  while (true) {
    Report report;
    {
      MutexLock lock(mutex_);
      while (!next_.has_value() && !stopping_) changed_.Wait(mutex_);
      if (stopping_) return;
      report = *std::exchange(next_, std::nullopt);
    }
    Send(report);
  }
}

void WatchReporter::Send(const Report& report) {
  v1::ReportWatchRequest request;
  request.set_watcher(name_);
  v1::HeldRing& applied = *request.add_applied();
  applied.set_ring(ring_);
  *applied.mutable_position()->mutable_version() = report.version;
  const auto ago = std::min<Clock::duration>(Clock::now() - report.shown, kLongestAgo);
  *request.mutable_ago() = google::protobuf::util::TimeUtil::NanosecondsToDuration(
      std::chrono::duration_cast<std::chrono::nanoseconds>(ago).count());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
  {
    MutexLock lock(mutex_);
    if (stopping_) return;
    call_ = &context;
  }
  v1::ReportWatchResponse response;
  stub_.ReportWatch(&context, request, &response);
  MutexLock lock(mutex_);
  call_ = nullptr;
}

}  // namespace ringd::ctl
