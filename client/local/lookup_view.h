// What lookups see of a local copy, and what each thread that looks up keeps of it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "client/local/lookup_counts.h"
#include "client/local/ring_copy.h"
#include "ring/ring.h"
#include "ringd/local_ring.h"

namespace ringd {

// Immutable; any thread.
struct LookupView {
  LocalRingState state = LocalRingState::kConnecting;
  absl::Status problem;
  std::shared_ptr<const RingCopy> copy;  // null while there is none
  std::shared_ptr<LookupCounts> counts;
};

// One thread's. Its lookups are counted.
class ThreadView {
 public:
  // Goes on with the counted nodes of `before` where the copy is the same: most views tell of a stream alone.
  ThreadView(std::shared_ptr<const LookupView> view, ThreadView* before) : view_(std::move(view)) {
    if (view_->copy == nullptr) return;
    const RingCopy::Parts& parts = view_->copy->parts();
    if (!parts.held->ring.HasOwners()) return;
    ring_ = &parts.held->ring;
    nodes_ = before != nullptr && before->view_->copy == view_->copy
                 ? std::move(before->nodes_)
                 : std::make_unique<CountedNodes>(parts.nodes, parts.counts, view_->counts);
  }

  const LookupView& shared() const { return *view_; }
  // Whether the copy has an owner for every key. Without it, there are no lookups here.
  bool HasOwners() const { return ring_ != nullptr; }

  // Where keys lie. REQUIRES HasOwners().
  const ring::KeyPlace& keys() const { return ring_->keys(); }

  // REQUIRES HasOwners() and keys().CanPlace(key).
  const Node* Owner(std::string_view key) { return nodes_->Answer(ring_->Owner(ring_->Position(key))); }
  // Fills `out` with the owner of each key. REQUIRES as Owner, of all keys, and as many places in `out` as there are
  // keys.
  void OwnersOf(std::span<const std::string_view> keys, std::span<const Node*> out) {
    view_->copy->parts().OwnersOf(keys, [this, out](size_t i, uint32_t owner) { out[i] = nodes_->Answer(owner); });
  }
  // See RingCopy::Owners. REQUIRES as Owner, and `out` of 1 to kMaxOwners.
  size_t Owners(std::string_view key, std::span<const Node*> out) {
    std::array<uint32_t, ring::Ring::kMaxOwners> indices{};
    const size_t found = view_->copy->parts().Owners(key, std::span(indices).first(out.size()));
    return Answer(std::span(indices).first(found), out);
  }
  // See RingCopy::OwnersAt. REQUIRES HasOwners(), a position on the circle, and `out` as Owners.
  size_t OwnersAt(uint64_t position, std::span<const Node*> out) {
    std::array<uint32_t, ring::Ring::kMaxOwners> indices{};
    const size_t found = view_->copy->parts().OwnersAt(position, std::span(indices).first(out.size()));
    return Answer(std::span(indices).first(found), out);
  }

 private:
  size_t Answer(std::span<const uint32_t> owners, std::span<const Node*> out) {
    out[0] = nodes_->Answer(owners[0]);
    for (size_t i = 1; i < owners.size(); ++i) out[i] = nodes_->at(owners[i]);
    return owners.size();
  }

  const std::shared_ptr<const LookupView> view_;
  const ring::Ring* ring_ = nullptr;
  std::unique_ptr<CountedNodes> nodes_;
};

}  // namespace ringd
