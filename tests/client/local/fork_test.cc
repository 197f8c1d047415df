#include "client/local/fork.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>

#include "client/local/lookup_counts.h"
#include "client/local/thread_cached.h"
#include "ring/mutex.h"

namespace ringd {
namespace {

struct Copied {
  Copied(const std::shared_ptr<const int>& value, Copied*) : copy(*value) {}
  int copy;
};

// What a copy has that lookups lock, busy on two threads.
class Busy final : public ForkLocks {
 public:
  Busy() { JoinForks(); }
  ~Busy() { LeaveForks(); }

  void LockForFork() override ABSL_NO_THREAD_SAFETY_ANALYSIS {
    mutex_.Lock();
    cached_.LockForFork();
    counts_.LockForFork();
  }
  void UnlockAfterFork() override ABSL_NO_THREAD_SAFETY_ANALYSIS {
    counts_.UnlockAfterFork();
    cached_.UnlockAfterFork();
    mutex_.Unlock();
  }

  // Takes each lock once.
  int Use() {
    const MutexLock lock(mutex_);
    return *cached_.Share() + static_cast<int>(counts_.Read({}).ring) + cached_.Get().copy;
  }

 private:
  Mutex mutex_;
  ThreadCached<int, Copied> cached_{std::make_shared<const int>(1)};
  LookupCounts counts_;
  std::atomic<bool> ended_ = false;
  std::jthread all_{[this] {
    while (!ended_) Use();
  }};
  std::jthread replaces_{[this] {
    while (!ended_) cached_.Set(std::make_shared<const int>(1));
  }};
  // Destroyed first.
  struct Ender {
    std::atomic<bool>& ended;
    ~Ender() { ended = true; }
  } ender_{ended_};
};

TEST(ForkLocks, AChildFindsAllOfThemFree) {
  const uint64_t generation = ForkLocks::Generation();
  Busy one;
  Busy other;
  for (int i = 0; i < 100; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // one that waits for a lock of nobody ends so
      _exit(one.Use() == 2 && other.Use() == 2 && ForkLocks::Generation() == generation + 1 ? 0 : 1);
    }
    int ending = 0;
    ASSERT_EQ(waitpid(child, &ending, 0), child);
    ASSERT_EQ(ending, 0);
  }
  EXPECT_EQ(ForkLocks::Generation(), generation);
}

}  // namespace
}  // namespace ringd
