// LookupCounts: how often the nodes of one ring were answered as first owner, by all threads, over all versions.
//
// Each thread counts in memory that no other one writes (CountedNodes), beside the pointer to the node that a lookup
// reads anyway: a load and a store more, and nothing that threads share. Those counts are added up when somebody asks,
// and when a thread lets go of them; so none is lost, and no sum ever goes back. A node that stays has its count from
// one version of the ring to the next, and one that is removed takes it along: added again, it starts at 0.
//
// Threads: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <vector>

#include "ring/mutex.h"
#include "ringd/types.h"

namespace ringd {

class CountedNodes;

class LookupCounts {
 public:
  // Of a node; versions of the ring that have the node share it.
  class OfNode {
    friend class LookupCounts;
    uint64_t lookups_ = 0;  // guarded by the mutex of the LookupCounts
  };
  // Those of the nodes of one version, in order of id.
  using OfNodes = std::vector<std::shared_ptr<OfNode>>;

  struct Sums {
    uint64_t ring = 0;            // of all nodes that the ring ever had
    std::vector<uint64_t> nodes;  // parallel to those asked for
  };
  Sums Read(const OfNodes& nodes);

  // Holds what all of this locks, while the process forks.
  void LockForFork() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex_.Lock(); }
  void UnlockAfterFork() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex_.Unlock(); }

 private:
  friend class CountedNodes;

  void Join(CountedNodes& nodes);
  void Leave(CountedNodes& nodes);
  // Takes over what a thread has counted since the last time.
  void Fold(CountedNodes& nodes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Mutex mutex_;
  std::set<CountedNodes*> joined_ ABSL_GUARDED_BY(mutex_);
  uint64_t ring_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The nodes of one version of a ring as one thread looks them up, with how often it did.
//
// Threads: one; but LookupCounts reads what it counts.
class CountedNodes {
 public:
  // `nodes` must outlive it; `counts` has one for each of them.
  CountedNodes(std::span<const std::shared_ptr<const Node>> nodes, std::shared_ptr<const LookupCounts::OfNodes> counts,
               std::shared_ptr<LookupCounts> sums);
  ~CountedNodes();
  CountedNodes(const CountedNodes&) = delete;

  const Node* at(uint32_t index) const { return slots_[index + kApart].node; }
  // The same, counted as a lookup of which it is the first owner.
  const Node* Answer(uint32_t index) {
    Slot& slot = slots_[index + kApart];
    slot.lookups.store(slot.lookups.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return slot.node;
  }

 private:
  friend class LookupCounts;

  struct Slot {
    const Node* node = nullptr;
    std::atomic<uint64_t> lookups = 0;
  };
  // So many slots, a cache line, are left empty at both ends, so that no line is shared with other threads.
  static constexpr size_t kApart = 4;

  const std::unique_ptr<Slot[]> slots_;
  const std::shared_ptr<const LookupCounts::OfNodes> counts_;
  const std::shared_ptr<LookupCounts> sums_;
  std::vector<uint64_t> folded_;  // of what was counted, by node; guarded by the mutex of sums_
};

}  // namespace ringd
