// WriteQueue: the thread on which the directory changes. Mutations wait in a bounded queue; the thread takes all that
// wait and commits them together, so that one flush of the disk serves a burst.
//
// Threads: Submit from any thread. `done` is called on the queue's thread, or on the caller's when the mutation is
// refused at once; it must not block.
#pragma once

#include <deque>
#include <functional>
#include <thread>

#include "absl/status/statusor.h"
#include "ring/mutex.h"
#include "server/directory.h"

namespace ringd::server {

class WriteQueue {
 public:
  static constexpr size_t kMaxWaiting = 256;
  static constexpr size_t kMaxBurst = 64;

  struct Job {
    Mutation mutation;
    std::function<void(absl::StatusOr<MutationResult>)> done;
  };

  // The directory must outlive the queue.
  explicit WriteQueue(Directory& directory);
  // Stops, if Stop was not called.
  ~WriteQueue();

  // RESOURCE_EXHAUSTED when kMaxWaiting wait already; UNAVAILABLE after Stop.
  void Submit(Job job);

  // Does what was submitted, refuses what comes later, and joins the thread. May be called twice.
  void Stop();

 private:
  void Run();
  void Do(std::deque<Job> jobs);

  Directory& directory_;
  Mutex mutex_;
  CondVar work_;
  std::deque<Job> jobs_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace ringd::server
