#include "server/watch_calls.h"

#include <utility>

#include "server/watch_stream.h"

namespace ringd::server {

WatchCalls::WatchCalls(grpc::ServerBuilder& builder) {
  for (int i = 0; i < kQueues; i++) queues_.push_back(builder.AddCompletionQueue());
}

void WatchCalls::Start(Request request, Begin begin) {
  request_ = std::move(request);
  begin_ = std::move(begin);
  for (const auto& queue : queues_) {
    for (int i = 0; i < kAwaited; i++) Await(*queue);
    threads_.emplace_back([&queue = *queue] { Serve(queue); });
  }
}

void WatchCalls::Stop() {
  {
    const MutexLock lock(mutex_);
    while (streams_ > 0) all_ended_.Wait(mutex_);
  }
  // No stream is left that could begin an operation, which a queue that is shut down does not take.
  for (const auto& queue : queues_) queue->Shutdown();
  for (std::thread& thread : threads_) thread.join();
}

void WatchCalls::Await(grpc::ServerCompletionQueue& queue) {
  {
    const MutexLock lock(mutex_);
    streams_++;
  }
  WatchStream::Await(*this, queue);
}

void WatchCalls::Ended() {
  const MutexLock lock(mutex_);
  if (--streams_ == 0) all_ended_.NotifyAll();
}

void WatchCalls::Serve(grpc::ServerCompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) static_cast<WatchStream::Tag*>(tag)->Happened(ok);
}

}  // namespace ringd::server
