// NodeView: a ring as one of its nodes sees it: what it owns, what it gains and loses, whether it may take a request.
//
// It is a LocalRing with the functions of ringd/ranges.h and ringd/ownership.h, which say what is told, and what holds.
//
// Performance: Owns costs what LocalRing::Owner does, without a lock. OwnedRanges, and each change of the ring, cost a
// walk over its points or slots.
//
// Thread safety: all members may be called from any number of threads at once; on_moved comes as LocalRing's callbacks.
//
// Error handling: while there is no copy, nothing is owned, and Owns says kBehind.
//
// Idempotency: nothing here changes anything.
//
// Example, in the node "n1":
//   auto view = ringd::NodeView::Start("cache", {.node_id = "n1",
//                                                .ring = {.directory = {.endpoints = {"127.0.0.1:7440"}}},
//                                                .on_moved = [](const ringd::NodeMoves& moves) {
//                                                  for (const auto& range : moves.gained) Fetch(range);
//                                                  for (const auto& range : moves.lost) HandOver(range);
//                                                }});
//   ...
//   if ((*view)->Owns(request.key(), caller_version).ownership != ringd::Ownership::kOwned) return Refuse();
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ringd/local_ring.h"
#include "ringd/ownership.h"
#include "ringd/ranges.h"

namespace ringd {

struct NodeViewOptions {
  std::string node_id;
  LocalRingOptions ring;
  // Called after each version of the ring that gives the node ranges or takes some. With the first copy it gains all
  // that it owns, from nobody; when the ring goes it loses all, to nobody; and both where the ring was made anew with
  // another placement.
  std::function<void(const NodeMoves&)> on_moved;
};

class NodeView {
 public:
  // As LocalRing::Start; INVALID_ARGUMENT for an empty node_id too.
  static absl::StatusOr<std::unique_ptr<NodeView>> Start(std::string_view ring, NodeViewOptions options);

  // As it is now; see ringd/ranges.h.
  std::vector<KeyRange> OwnedRanges() const;

  // See ringd/ownership.h. `owner` lives until this thread's next lookup of this ring.
  OwnsAnswer Owns(std::string_view key, const Version& caller_version) const;
  OwnsAnswer OwnsAt(uint64_t position, const Version& caller_version) const;

  const std::string& node_id() const { return node_id_; }
  const LocalRing& ring() const { return *ring_; }

 private:
  NodeView(std::string node_id, std::unique_ptr<LocalRing> ring, std::shared_ptr<const void> alive)
      : node_id_(std::move(node_id)), ring_(std::move(ring)), alive_(std::move(alive)) {}

  const std::string node_id_;
  const std::unique_ptr<LocalRing> ring_;
  const std::shared_ptr<const void> alive_;  // which callbacks look at; it goes first
};

}  // namespace ringd
