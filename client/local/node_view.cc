#include "ringd/node_view.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "ring/error.h"

namespace ringd {
namespace {

// All that the node owns, as gained from nobody or lost to nobody.
std::vector<MovedRange> All(const RingCopy* copy, const std::string& node_id,
                            std::optional<std::string> MovedRange::*side) {
  std::vector<MovedRange> moved;
  if (copy == nullptr) return moved;
  for (const KeyRange& range : OwnedRanges(*copy, node_id)) {
    moved.push_back({.first = range.first, .last = range.last});
    moved.back().*side = node_id;
  }
  return moved;
}

NodeMoves MovesOf(const RingCopy* before, const RingCopy* after, const std::string& node_id) {
  if (before != nullptr && after != nullptr) {
    if (auto moves = GainedAndLost(*before, *after, node_id); moves.ok()) return *std::move(moves);
  }
  return {.gained = All(after, node_id, &MovedRange::to), .lost = All(before, node_id, &MovedRange::from)};
}

}  // namespace

absl::StatusOr<std::unique_ptr<NodeView>> NodeView::Start(std::string_view ring, NodeViewOptions options) {
  if (options.node_id.empty()) return ring::InvalidField("node_id is empty; the id of this node is required");
  const auto alive = std::make_shared<const char>();
  if (options.on_moved) {
    options.ring.on_copy = [on_copy = std::move(options.ring.on_copy), on_moved = std::move(options.on_moved),
                            node_id = options.node_id,
                            alive = std::weak_ptr(alive)](const auto& before, const auto& after) {
      if (on_copy) on_copy(before, after);
      if (alive.expired()) return;  // by that
      const NodeMoves moves = MovesOf(before.get(), after.get(), node_id);
      if (!moves.gained.empty() || !moves.lost.empty()) on_moved(moves);
    };
  }
  auto started = LocalRing::Start(ring, std::move(options.ring));
  if (!started.ok()) return started.status();
  return std::unique_ptr<NodeView>(new NodeView(std::move(options.node_id), *std::move(started), alive));
}

std::vector<KeyRange> NodeView::OwnedRanges() const {
  const std::shared_ptr<const RingCopy> copy = ring_->Copy();
  return copy == nullptr ? std::vector<KeyRange>() : ringd::OwnedRanges(*copy, node_id_);
}

OwnsAnswer NodeView::Owns(std::string_view key, const Version& caller_version) const {
  const RingCopy* copy = ring_->ThreadCopy();
  return copy == nullptr ? OwnsAnswer() : ringd::Owns(*copy, node_id_, key, caller_version);
}

OwnsAnswer NodeView::OwnsAt(uint64_t position, const Version& caller_version) const {
  const RingCopy* copy = ring_->ThreadCopy();
  return copy == nullptr ? OwnsAnswer() : ringd::OwnsAt(*copy, node_id_, position, caller_version);
}

}  // namespace ringd
