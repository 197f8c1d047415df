// RunLoop: the few threads on which all local copies of a process do their work, so that thousands of copies are no
// thousands of threads.
//
// Threads: any. No lock is held while a task runs.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ring/mutex.h"

namespace ringd {

class RunLoop {
 public:
  using Clock = std::chrono::steady_clock;

  // Something to be run again and again, never twice at once.
  class Task {
   public:
    virtual ~Task() = default;
    // Does what there is to do, and answers when to be run again though nobody wakes it; max() = not then.
    virtual Clock::time_point Run() = 0;
  };

  explicit RunLoop(size_t threads);
  // Waits for what runs.
  ~RunLoop();
  RunLoop(const RunLoop&) = delete;

  // That of this process, of two to four threads, which is never destroyed.
  static RunLoop& OfProcess();

  // Runs the task soon; once more where it is running. The loop keeps it until it is removed.
  void Wake(const std::shared_ptr<Task>& task);
  // The task is not run any more once this returns, a run that is under way has ended, and the loop does not hold it;
  // but where that run is the one that calls this, it is the last.
  void Remove(const std::shared_ptr<Task>& task);

 private:
  struct Entry {
    std::shared_ptr<Task> task;
    bool ready = false;                      // it is in ready_, or will be once its run has ended
    std::optional<Clock::time_point> timer;  // it is in timers_
    std::optional<std::thread::id> running;
    bool removed = false;  // while it is running
    bool awaited = false;  // by who removed it
  };

  void Work();
  // The next to be run, out of the queues; null = none is yet.
  Entry* NextReady() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetReady(Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void SetTimer(Entry& entry, std::optional<Clock::time_point> at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  CondVar work_;   // there is more to do
  CondVar ended_;  // a run has
  // By task; places do not move.
  std::unordered_map<const Task*, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  std::deque<const Task*> ready_ ABSL_GUARDED_BY(mutex_);
  std::set<std::pair<Clock::time_point, const Task*>> timers_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;

  std::vector<std::thread> threads_;
};

}  // namespace ringd
