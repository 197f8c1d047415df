// What a process that was forked may still do with what its parent made: the threads are gone, the memory is there.
#pragma once

#include <cstdint>

namespace ringd {

// Somebody whose locks a child shall find free. The process is forked while all of them are held, so that none is held
// by a thread that the child does not have.
//
// Threads: any; objects are added and taken out under no lock of their own.
class ForkLocks {
 public:
  ForkLocks(const ForkLocks&) = delete;

  // How many forks this process is away from the first of its ancestors that asked.
  static uint64_t Generation();

  // Holds all locks, by the thread that forks; and frees them, in the parent and in the child.
  virtual void LockForFork() = 0;
  virtual void UnlockAfterFork() = 0;

 protected:
  ForkLocks() = default;
  ~ForkLocks() = default;

  void JoinForks();
  void LeaveForks();
};

}  // namespace ringd
