#include "ringd/ranges.h"

#include <limits>
#include <string>

#include "absl/functional/function_ref.h"
#include "client/local/ring_copy.h"
#include "ring/movement.h"
#include "ring/ranges.h"

namespace ringd {
namespace {

const ring::Ring& RingOf(const RingCopy& copy) { return copy.parts().held->ring; }

std::optional<std::string> IdOf(const ring::Node* node) {
  return node == nullptr ? std::nullopt : std::optional(node->id);
}

MovedRange ToValue(const ring::MovedRange& range, const ring::Circle& circle) {
  return {.first = circle.Value(range.first),
          .last = circle.Value(range.last),
          .from = IdOf(range.from),
          .to = IdOf(range.to)};
}

// Ranges of positions, of the two rings' nodes.
absl::Status ForEachOf(const RingCopy& before, const RingCopy& after,
                       absl::FunctionRef<void(const ring::MovedRange&)> visit) {
  if (RingOf(before).settings().placement != RingOf(after).settings().placement) {
    return absl::FailedPreconditionError(
        "the copies of versions " + ToString(before.version()) + " and " + ToString(after.version()) +
        " have different placements: what moved between them cannot be told in ranges");
  }
  ring::ForEachMovedRange(RingOf(before), RingOf(after), visit);
  return absl::OkStatus();
}

}  // namespace

std::optional<uint64_t> HashOf(const RingCopy& copy, std::string_view key) {
  const ring::KeyPlace& keys = RingOf(copy).keys();
  if (!keys.CanPlace(key)) return std::nullopt;
  return keys.circle().Value(keys(key));
}

std::vector<KeyRange> OwnedRanges(const RingCopy& copy, std::string_view node_id) {
  const ring::Ring& ring = RingOf(copy);
  const ring::Circle& circle = ring.keys().circle();
  const size_t node = ring.Find(node_id);
  std::vector<KeyRange> ranges;
  if (node == ring.node_count()) return ranges;
  for (const ring::Range& range : ring::RangesOf(ring, node, 0, std::numeric_limits<size_t>::max())) {
    ranges.push_back({.first = circle.Value(range.first), .last = circle.Value(range.last)});
  }
  return ranges;
}

absl::Status ForEachMovedRange(const RingCopy& before, const RingCopy& after,
                               const std::function<void(const MovedRange&)>& visit) {
  const ring::Circle& circle = RingOf(after).keys().circle();
  return ForEachOf(before, after, [&](const ring::MovedRange& range) { visit(ToValue(range, circle)); });
}

absl::StatusOr<NodeMoves> GainedAndLost(const RingCopy& before, const RingCopy& after, std::string_view node_id) {
  const ring::Circle& circle = RingOf(after).keys().circle();
  const auto is_the_node = [node_id](const ring::Node* node) { return node != nullptr && node->id == node_id; };
  NodeMoves moves;
  const absl::Status compared = ForEachOf(before, after, [&](const ring::MovedRange& range) {
    if (is_the_node(range.to)) moves.gained.push_back(ToValue(range, circle));
    if (is_the_node(range.from)) moves.lost.push_back(ToValue(range, circle));
  });
  if (!compared.ok()) return compared;
  return moves;
}

}  // namespace ringd
