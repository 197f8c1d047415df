// LookupCounts: how often the nodes of a ring were answered as first owner. Beside each state of a ring stands one,
// with a counter for each of its nodes in order of id; a node that stays keeps its counter from one state to the next,
// so it never goes back, and one that is removed takes its counter along: added again, it starts at 0.
//
// Threads: every const member from any thread; no lock, no allocation. The constructors are the writer's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "ring/ring.h"

namespace ringd::server {

class LookupCounts {
 public:
  // All at 0: of a ring that was created or loaded.
  explicit LookupCounts(const ring::NodeTable& nodes);
  // Those of the state that a change leads to. `before` are the counts of the nodes `old`.
  LookupCounts(const LookupCounts& before, const ring::NodeTable& old, const ring::NodeTable& nodes);

  // The node at this index was answered as first owner so many times more.
  void Add(uint32_t node, uint64_t lookups) const {
    nodes_[node]->fetch_add(lookups, std::memory_order_relaxed);
    ring_->fetch_add(lookups, std::memory_order_relaxed);
  }

  uint64_t OfNode(size_t node) const { return nodes_[node]->load(std::memory_order_relaxed); }
  // Of all nodes that the ring ever had.
  uint64_t OfRing() const { return ring_->load(std::memory_order_relaxed); }

 private:
  // Shared by the states that have the node, and by all states of the ring.
  using Counter = std::shared_ptr<std::atomic<uint64_t>>;

  Counter ring_;
  std::vector<Counter> nodes_;
};

}  // namespace ringd::server
