// CopyDriver: what keeps a local copy current: its streams, what lookups see, who is told of it.
//
// It runs on the threads of RunLoop, one run at a time; the machine decides, and nothing here waits.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "client/credentials.h"
#include "client/local/directory_calls.h"
#include "client/local/fork.h"
#include "client/local/lookup_counts.h"
#include "client/local/lookup_view.h"
#include "client/local/report_schedule.h"
#include "client/local/run_loop.h"
#include "client/local/save_schedule.h"
#include "client/local/thread_cached.h"
#include "client/local/watch_machine.h"
#include "ring/mutex.h"
#include "ringd/local_ring.h"

namespace ringd {

class CopyDriver : public RunLoop::Task, public ForkLocks, public std::enable_shared_from_this<CopyDriver> {
 public:
  CopyDriver(std::string_view ring, LocalRingOptions options, std::shared_ptr<Credentials> credentials);

  // Begins; ends. After Stop nobody is called back any more, and no call is under way; where Stop is called from a
  // callback of this very copy, once that has returned.
  void Start();
  void Stop();

  // Whether this process is a fork of the one that made the copy: nothing runs here.
  bool forked() const { return generation_ != Generation(); }

  const std::string& ring() const { return ring_; }
  const LocalRingOptions& options() const { return options_; }

  // Valid until the thread that asks does so again.
  ThreadView& view() const { return view_.Get(); }
  std::shared_ptr<const LookupView> SharedView() const { return view_.Share(); }

  LocalRingLookups lookups() const;
  void CountCalled(size_t lookups) const { called_lookups_.fetch_add(lookups, std::memory_order_relaxed); }

  absl::Status WaitReady(std::chrono::milliseconds timeout) const;
  LocalRingStatus status() const;

 private:
  using Clock = WatchMachine::Clock;

  Clock::time_point Run() override;
  void LockForFork() override;
  void UnlockAfterFork() override;

  void Take(DirectoryCalls::Message message);
  // Opens and cancels streams as the machine wants them.
  void Follow();
  void Open(WatchMachine::StreamId id);
  // Tells the directory which version is applied, where that is due; answers when it will be.
  Clock::time_point Report();
  // Takes up the copy that an earlier process saved.
  void Restore();
  // Saves the copy, where that is due; answers when it will be.
  Clock::time_point SaveIfDue();
  bool IsWorthSaving() const;
  void SaveAtEnd();
  void Save();
  void RemoveSaved();
  void SetSaveProblem(absl::Status problem);
  // Shows the machine's state to lookups and to whoever waits for it.
  void Publish();

  const std::string ring_;
  const LocalRingOptions options_;
  const std::string watcher_;
  const std::shared_ptr<Credentials> credentials_;
  const uint64_t generation_ = Generation();

  const std::shared_ptr<LookupCounts> counts_ = std::make_shared<LookupCounts>();
  mutable std::atomic<uint64_t> called_lookups_ = 0;
  ThreadCached<LookupView, ThreadView> view_{std::make_shared<LookupView>()};
  std::atomic<bool> stopped_ = false;

  // Of the run alone.
  WatchMachine machine_;
  ReportSchedule reports_;
  SaveSchedule saves_;
  bool restored_ = false;  // or there is nothing to restore
  HeldRingPtr shown_;      // of which view_ has a copy
  size_t opened_ = 0;      // streams

  std::shared_ptr<DirectoryCalls> calls_;  // from Start on

  mutable Mutex mutex_;
  mutable CondVar published_;
  LocalRingStatus status_ ABSL_GUARDED_BY(mutex_);
  absl::Status save_problem_ ABSL_GUARDED_BY(mutex_);
  Clock::time_point current_at_ ABSL_GUARDED_BY(mutex_) = Clock::time_point::min();
};

}  // namespace ringd
