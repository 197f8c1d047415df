#include "client/local/fork.h"

#include <pthread.h>

#include <set>

#include "ring/mutex.h"

namespace ringd {
namespace {

struct Joined {
  Mutex mutex;
  std::set<ForkLocks*> holders ABSL_GUARDED_BY(mutex);
  uint64_t generation ABSL_GUARDED_BY(mutex) = 0;
};

Joined& AllJoined();

void BeforeFork() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  AllJoined().mutex.Lock();
  for (ForkLocks* holder : AllJoined().holders) holder->LockForFork();
}

void AfterFork() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (ForkLocks* holder : AllJoined().holders) holder->UnlockAfterFork();
  AllJoined().mutex.Unlock();
}

void InChild() ABSL_NO_THREAD_SAFETY_ANALYSIS {
  AllJoined().generation++;
  AfterFork();
}

// Never destroyed: a process may fork for as long as it is there.
Joined& AllJoined() {
  static auto* const all = [] {
    pthread_atfork(BeforeFork, AfterFork, InChild);
    return new Joined;
  }();
  return *all;
}

}  // namespace

uint64_t ForkLocks::Generation() {
  Joined& all = AllJoined();
  const MutexLock lock(all.mutex);
  return all.generation;
}

void ForkLocks::JoinForks() {
  Joined& all = AllJoined();
  const MutexLock lock(all.mutex);
  all.holders.insert(this);
}

void ForkLocks::LeaveForks() {
  Joined& all = AllJoined();
  const MutexLock lock(all.mutex);
  all.holders.erase(this);
}

}  // namespace ringd
