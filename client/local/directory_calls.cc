#include "client/local/directory_calls.h"

#include <chrono>
#include <utility>
#include <vector>

#include "client/local/watch_decoder.h"

namespace ringd {
namespace {

constexpr std::chrono::seconds kReportWithin{5};

}  // namespace

void DirectoryCalls::Watch(StreamId id, v1::WatchRequest request, std::shared_ptr<Place> place) {
  auto call = std::make_unique<WatchCall>(
      v1::Directory::NewStub(place->channel()), std::move(request),
      [self = shared_from_this(), id](WatchCall*, WatchCall::Happening what) { self->Happened(id, std::move(what)); });
  WatchCall* const started = call.get();
  {
    const MutexLock lock(mutex_);
    if (stopped_) return;
    for (const auto& [other, stream] : streams_) stream.place->Retire();
    streams_.emplace(id, Stream{std::move(place), std::move(call)});
    open_.insert(id);
  }
  started->Start();
}

bool DirectoryCalls::IsOpen(StreamId id) const {
  const MutexLock lock(mutex_);
  return open_.contains(id);
}

void DirectoryCalls::Keep(const std::function<bool(StreamId)>& keep) {
  const MutexLock lock(mutex_);
  std::erase_if(open_, [&](StreamId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (keep(id)) return false;
    streams_.at(id).call->Cancel();
    return true;
  });
}

void DirectoryCalls::Report(StreamId id, v1::ReportWatchRequest request) {
  ReportCall* call = nullptr;
  {
    const MutexLock lock(mutex_);
    if (stopped_) return;
    report_ = std::make_unique<ReportCall>();
    call = report_.get();
    call->place = streams_.at(id).place;
    call->stub = v1::Directory::NewStub(call->place->channel());
  }
  call->request = std::move(request);
  call->context.set_deadline(std::chrono::system_clock::now() + kReportWithin);
  call->stub->async()->ReportWatch(
      &call->context, &call->request, &call->response,
      [self = shared_from_this()](const grpc::Status& status) { self->Happened(kReport, WatchCall::Done{status}); });
}

std::optional<DirectoryCalls::Message> DirectoryCalls::Next() {
  while (true) {
    Event event;
    WatchCall* call = nullptr;
    bool open = false;
    {
      const MutexLock lock(mutex_);
      if (stopped_ || events_.empty()) return std::nullopt;
      event = std::move(events_.front());
      events_.pop_front();
      if (const auto stream = streams_.find(event.id); stream != streams_.end()) call = stream->second.call.get();
      open = open_.contains(event.id);
    }
    if (const auto* done = std::get_if<WatchCall::Done>(&event.what)) {
      LetGo(event.id);
      if (event.id == kReport) return Reported{done->status};
      if (open) return Ended{event.id, done->status};
    } else if (open) {
      Said said{event.id, Decode(call->response())};
      call->Next();
      return said;
    } else {
      call->Next();
    }
  }
}

void DirectoryCalls::Stop() {
  std::deque<Event> left;
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    open_.clear();
    left.swap(events_);
    for (const auto& [id, stream] : streams_) stream.call->Cancel();
    if (report_ != nullptr) report_->context.TryCancel();
  }
  for (const Event& event : left) Settle(event);
}

void DirectoryCalls::AwaitEnd() {
  const MutexLock lock(mutex_);
  while (!streams_.empty() || report_ != nullptr) ended_.Wait(mutex_);
}

void DirectoryCalls::Happened(StreamId id, WatchCall::Happening what) {
  Event event{id, std::move(what)};
  {
    const MutexLock lock(mutex_);
    if (!stopped_) {
      events_.push_back(std::move(event));
      wake_();
      return;
    }
  }
  Settle(event);
}

void DirectoryCalls::Settle(const Event& event) {
  if (std::holds_alternative<WatchCall::Done>(event.what)) return LetGo(event.id);
  WatchCall* call = nullptr;
  {
    const MutexLock lock(mutex_);
    call = streams_.at(event.id).call.get();
  }
  call->Next();
}

void DirectoryCalls::LetGo(StreamId id) {
  // Destroyed without the lock.
  std::unique_ptr<ReportCall> report;
  Stream stream;
  const MutexLock lock(mutex_);
  open_.erase(id);
  if (id == kReport) {
    report = std::move(report_);
  } else if (auto node = streams_.extract(id); !node.empty()) {
    stream = std::move(node.mapped());
    // One that ends with its copy says nothing against the connection.
    if (!stopped_) stream.place->Retire();
  }
  ended_.NotifyAll();
}

}  // namespace ringd
