#include "client/local/lookup_counts.h"

#include <utility>

namespace ringd {

LookupCounts::Sums LookupCounts::Read(const OfNodes& nodes) {
  const MutexLock lock(mutex_);
  for (CountedNodes* of_thread : joined_) Fold(*of_thread);
  Sums sums{.ring = ring_};
  sums.nodes.reserve(nodes.size());
  for (const std::shared_ptr<OfNode>& node : nodes) sums.nodes.push_back(node->lookups_);
  return sums;
}

void LookupCounts::Join(CountedNodes& nodes) {
  const MutexLock lock(mutex_);
  joined_.insert(&nodes);
}

void LookupCounts::Leave(CountedNodes& nodes) {
  const MutexLock lock(mutex_);
  Fold(nodes);
  joined_.erase(&nodes);
}

void LookupCounts::Fold(CountedNodes& nodes) {
  for (size_t i = 0; i < nodes.folded_.size(); ++i) {
    const uint64_t counted = nodes.slots_[i + CountedNodes::kApart].lookups.load(std::memory_order_relaxed);
    const uint64_t more = counted - nodes.folded_[i];
    if (more == 0) continue;
    nodes.folded_[i] = counted;
    (*nodes.counts_)[i]->lookups_ += more;
    ring_ += more;
  }
}

CountedNodes::CountedNodes(std::span<const std::shared_ptr<const Node>> nodes,
                           std::shared_ptr<const LookupCounts::OfNodes> counts, std::shared_ptr<LookupCounts> sums)
    : slots_(std::make_unique<Slot[]>(nodes.size() + 2 * kApart)),
      counts_(std::move(counts)),
      sums_(std::move(sums)),
      folded_(nodes.size()) {
  for (size_t i = 0; i < nodes.size(); ++i) slots_[i + kApart].node = nodes[i].get();
  sums_->Join(*this);
}

CountedNodes::~CountedNodes() { sums_->Leave(*this); }

}  // namespace ringd
