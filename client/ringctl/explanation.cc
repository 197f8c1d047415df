#include "client/ringctl/explanation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "client/ringctl/escape.h"
#include "proto/codec.h"
#include "ring/checksum.h"
#include "ring/ring.h"

namespace ringd::ctl {
namespace {

constexpr uint64_t kRedisSlots = 16'384;
// Nodes that were passed over, in one text.
constexpr std::size_t kMostNames = 4;

// Of a ring that has slots.
std::optional<Explanation> ExplainSlot(const v1::Placement& placement, uint64_t hash) {
  Explanation explanation;
  if (placement.preset().preset() == v1::PRESET_REDIS_CLUSTER) {
    explanation.slot = hash % kRedisSlots;
    return explanation;
  }
  if (!placement.has_slots()) return std::nullopt;
  const auto function = static_cast<ring::HashFunction>(placement.slots().hash());
  const unsigned below = ring::CircleBits(function) - placement.slots().slot_bits();
  explanation.slot = hash >> below;
  const uint64_t first = *explanation.slot << below;
  explanation.hashes = {first, first + ((uint64_t{1} << below) - 1)};
  return explanation;
}

absl::StatusOr<ring::Ring> RingOf(const v1::GetRingResponse& response) {
  auto placement = FromProto(response.ring().placement());
  if (!placement.ok()) return placement.status();
  std::vector<ring::Node> nodes;
  for (const v1::Node& message : response.nodes()) {
    nodes.push_back(FromProto(message).node);
    nodes.back().join_number = message.join_number();
  }
  auto ring = ring::Ring::Create({*std::move(placement), response.ring().default_weight()}, std::move(nodes));
  const v1::Checksum& checksum = response.ring().checksum();
  if (ring.ok() && checksum.algorithm() == ring::kChecksumAlgorithm && checksum.value() != ring->checksum()) {
    return absl::FailedPreconditionError(
        fmt::format("of ring {} this ringctl makes another table than the server; are their versions the same?",
                    Quoted(response.ring().name())));
  }
  return ring;
}

// The nodes in the order in which a walk meets them from a position on, until it has met `until`, all of which have
// points.
std::vector<std::size_t> Walk(const ring::Ring& ring, uint64_t position, const std::vector<std::size_t>& until) {
  std::vector<std::size_t> met;
  std::vector<bool> seen(ring.node_count());
  const auto points = ring.points().points();
  const auto is_seen = [&seen](std::size_t node) { return seen[node]; };
  for (std::size_t at = ring.points().PointAt(position); !std::all_of(until.begin(), until.end(), is_seen);
       at = (at + 1) % points.size()) {
    const std::size_t node = points[at].node();
    if (!seen[node]) met.push_back(node);
    seen[node] = true;
  }
  return met;
}

std::string PassedText(const ring::Ring& ring, const std::vector<std::size_t>& passed) {
  std::vector<std::string> names;
  for (const std::size_t node : passed) {
    if (names.size() == kMostNames) break;
    names.push_back(fmt::format("{} ({})", ring.node(node).id,
                                ring.node(node).zone.empty() ? "no zone" : "zone " + ring.node(node).zone));
  }
  const std::size_t more = passed.size() - names.size();
  return fmt::format("{}{}", fmt::join(names, ", "), more > 0 ? fmt::format(" and {} more", more) : "");
}

// Why each of the owners has its place.
std::vector<std::string> Whys(const ring::Ring& ring, uint64_t position, const std::vector<std::size_t>& owners) {
  const std::vector<std::size_t> walk = Walk(ring, position, owners);
  std::vector<std::string> whys;
  for (auto owner = owners.begin(); owner != owners.end(); ++owner) {
    std::vector<std::size_t> passed;
    for (const std::size_t node : walk) {
      if (node == *owner) break;
      if (std::find(owners.begin(), owner, node) == owner) passed.push_back(node);
    }
    if (owner == owners.begin()) {
      whys.emplace_back("has the point");
    } else if (passed.empty()) {
      whys.emplace_back("next on the circle");
    } else {
      whys.push_back(fmt::format("zones are spread first: passed {}", PassedText(ring, passed)));
    }
  }
  return whys;
}

absl::StatusOr<Explanation> ExplainPoint(const v1::GetRingResponse& response, const v1::LookupResponse& answer) {
  const auto ring = RingOf(response);
  if (!ring.ok()) return ring.status();
  std::vector<std::size_t> owners;
  for (const v1::Owner& owner : answer.owners()) {
    owners.push_back(ring->Find(owner.id()));
    if (owners.back() == ring->node_count()) {
      return absl::FailedPreconditionError(fmt::format("node {} is not in the ring", Quoted(owner.id())));
    }
  }
  const ring::Circle& circle = ring->keys().circle();
  const uint64_t position = circle.First(answer.hash());
  const ring::Point& point = ring->points().points()[ring->points().PointAt(position)];
  Explanation explanation;
  explanation.point_of = ring->node(point.node()).id;
  explanation.hashes = {circle.Value(ring->points().PositionBefore(point.position()) + 1),
                        circle.Value(point.position())};
  explanation.whys = Whys(*ring, position, owners);
  return explanation;
}

}  // namespace

absl::StatusOr<Explanation> ExplainOwners(const v1::GetRingResponse& ring, const v1::LookupResponse& answer) {
  if (const auto known = FromProto(ring.ring().placement()); !known.ok()) return known.status();
  absl::StatusOr<Explanation> explanation;
  if (auto slot = ExplainSlot(ring.ring().placement(), answer.hash())) {
    slot->whys.assign(static_cast<std::size_t>(answer.owners_size()), "kept in the slot");
    explanation = *std::move(slot);
  } else {
    explanation = ExplainPoint(ring, answer);
    if (!explanation.ok()) return explanation;
  }
  // Redis gives replicas no weight, and they are owners all the same.
  if (ring.ring().placement().preset().preset() == v1::PRESET_REDIS_CLUSTER) return explanation;
  for (const v1::Node& node : ring.nodes()) {
    if (node.weight() == 0) explanation->weightless.push_back(node.id());
  }
  return explanation;
}

}  // namespace ringd::ctl
