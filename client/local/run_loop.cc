#include "client/local/run_loop.h"

#include <algorithm>

namespace ringd {

RunLoop::RunLoop(size_t threads) {
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

RunLoop::~RunLoop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  work_.NotifyAll();
  for (std::thread& thread : threads_) thread.join();
}

RunLoop& RunLoop::OfProcess() {
  static auto* const loop = new RunLoop(std::clamp<size_t>(std::thread::hardware_concurrency(), 2, 4));
  return *loop;
}

void RunLoop::Wake(const std::shared_ptr<Task>& task) {
  const MutexLock lock(mutex_);
  Entry& entry = entries_[task.get()];
  if (entry.task == nullptr) entry.task = task;
  if (!entry.ready) SetReady(entry);
}

void RunLoop::Remove(const std::shared_ptr<Task>& task) {
  const MutexLock lock(mutex_);
  const auto found = entries_.find(task.get());
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  if (entry.running.has_value()) {
    entry.removed = true;
    if (entry.running == std::this_thread::get_id()) return;
    entry.awaited = true;
    while (entries_.contains(task.get())) ended_.Wait(mutex_);
    return;
  }
  SetTimer(entry, std::nullopt);
  if (entry.ready) ready_.erase(std::find(ready_.begin(), ready_.end(), task.get()));
  entries_.erase(found);
}

void RunLoop::Work() {
  mutex_.Lock();
  while (!stopping_) {
    Entry* const entry = NextReady();
    if (entry == nullptr) {
      if (timers_.empty()) {
        work_.Wait(mutex_);
      } else {
        work_.WaitUntil(mutex_, timers_.begin()->first);
      }
      continue;
    }
    Task* const task = entry->task.get();  // the entry stays while it is running
    entry->running = std::this_thread::get_id();
    if (!timers_.empty()) work_.NotifyOne();  // another one looks at the times meanwhile
    mutex_.Unlock();
    const Clock::time_point again = task->Run();
    mutex_.Lock();
    entry->running.reset();
    if (entry->removed) {
      std::shared_ptr<Task> removed = std::move(entry->task);
      if (entry->awaited) removed.reset();  // not the last: who waits has one
      entries_.erase(task);
      ended_.NotifyAll();
      mutex_.Unlock();
      removed.reset();
      mutex_.Lock();
    } else if (entry->ready) {
      SetReady(*entry);  // it was woken meanwhile
    } else if (again != Clock::time_point::max()) {
      SetTimer(*entry, again);
    }
  }
  mutex_.Unlock();
}

RunLoop::Entry* RunLoop::NextReady() {
  // Not only where nothing else is ready: with thousands of tasks, something may always be.
  while (!timers_.empty() && timers_.begin()->first <= Clock::now()) {
    Entry& due = entries_.at(timers_.begin()->second);
    SetTimer(due, std::nullopt);
    if (!due.ready) SetReady(due);
  }
  if (ready_.empty()) return nullptr;
  Entry& entry = entries_.at(ready_.front());
  ready_.pop_front();
  entry.ready = false;
  SetTimer(entry, std::nullopt);
  return &entry;
}

void RunLoop::SetReady(Entry& entry) {
  entry.ready = true;
  if (entry.running.has_value()) return;  // it gets into the queue when that has ended
  ready_.push_back(entry.task.get());
  work_.NotifyOne();
}

void RunLoop::SetTimer(Entry& entry, std::optional<Clock::time_point> at) {
  if (entry.timer.has_value()) timers_.erase({*entry.timer, entry.task.get()});
  entry.timer = at;
  if (at.has_value()) timers_.emplace(*at, entry.task.get());
}

}  // namespace ringd
