#include "server/write_queue.h"

#include <utility>
#include <vector>

#include "fmt/format.h"
#include "ring/error.h"

namespace ringd::server {

WriteQueue::WriteQueue(Directory& directory) : directory_(directory), thread_([this] { Run(); }) {}

WriteQueue::~WriteQueue() { Stop(); }

void WriteQueue::Submit(Job job) {
  absl::Status refusal;
  {
    MutexLock lock(mutex_);
    if (stopping_) {
      refusal = Stopping();
    } else if (jobs_.size() >= kMaxWaiting) {
      refusal = ring::Error(absl::StatusCode::kResourceExhausted, ring::kLimitExceeded,
                            fmt::format("{} changes wait already, which is the limit", kMaxWaiting));
    } else {
      jobs_.push_back(std::move(job));
      work_.NotifyOne();
      return;
    }
  }
  job.done(std::move(refusal));
}

void WriteQueue::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  work_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

void WriteQueue::Run() {
  while (true) {
    std::deque<Job> jobs;
    {
      MutexLock lock(mutex_);
      while (jobs_.empty() && !stopping_) work_.Wait(mutex_);
      if (jobs_.empty()) return;
      while (!jobs_.empty() && jobs.size() < kMaxBurst) {
        jobs.push_back(std::move(jobs_.front()));
        jobs_.pop_front();
      }
    }
    Do(std::move(jobs));
  }
}

void WriteQueue::Do(std::deque<Job> jobs) {
  std::vector<Mutation> mutations;
  mutations.reserve(jobs.size());
  for (Job& job : jobs) mutations.push_back(std::move(job.mutation));
  auto results = directory_.Commit(mutations);
  for (size_t i = 0; i < jobs.size(); i++) jobs[i].done(std::move(results[i]));
}

}  // namespace ringd::server
