#include "ring/slot_target.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace ringd::ring {
namespace {

uint64_t WeightOf(std::span<const SlotNode> members) {
  return std::accumulate(members.begin(), members.end(), uint64_t{0},
                         [](uint64_t sum, const SlotNode& member) { return sum + member.weight; });
}

std::vector<uint64_t> ZoneWeights(std::span<const SlotNode> members) {
  std::vector<uint64_t> weights;
  for (const SlotNode& member : members) {
    if (member.zone >= weights.size()) weights.resize(member.zone + size_t{1});
    weights[member.zone] += member.weight;
  }
  return weights;
}

// A sum of shares as a function of lambda: fixed + lambda * weight. Where lambda reaches 1 / at, the sum bends.
struct Line {
  uint64_t fixed = 0;
  uint64_t weight = 0;
};
enum class Bend : uint32_t {
  kStartsToGrow,  // until here it was 1, from here it is lambda * at
  kStopsGrowing,  // until here it was lambda * at, from here it is 1
};
struct Event {
  uint64_t at = 0;
  Bend bend = Bend::kStopsGrowing;
};

struct Fraction {
  uint64_t above = 0;
  uint64_t below = 1;
};

// The lambda at which the sum reaches `total`. REQUIRES the sum to reach it at the last bend or before. At a bend both
// lines meet, so that the order of bends at one lambda does not matter.
Fraction SolveLambda(Line line, std::vector<Event> events, uint64_t total) {
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.at > b.at; });
  for (const Event& event : events) {
    if (line.fixed * event.at + line.weight >= total * event.at) break;
    if (event.bend == Bend::kStartsToGrow) {
      line.fixed -= 1;
      line.weight += event.at;
    } else {
      line.fixed += 1;
      // Below 0 for a moment, where the only node of a zone stops as the zone starts, and its event comes first. The
      // sum above is right modulo 2^64 all the same.
      line.weight -= event.at;
    }
  }
  return {.above = total - line.fixed, .below = line.weight};
}

// Members in zones of their own: a zone's part grows with lambda and stops at 1.
Fraction LambdaOfCappedZones(const SlotSpread& spread, std::span<const uint64_t> zone_weights) {
  std::vector<Event> events;
  Line line;
  for (const uint64_t weight : zone_weights) {
    if (weight == 0) continue;
    events.push_back({.at = weight, .bend = Bend::kStopsGrowing});
    line.weight += weight;
  }
  return SolveLambda(line, std::move(events), spread.members);
}

// A zone's part is 1 at first and then grows; that of a node stops at 1. A node stops only when its zone has started.
Fraction LambdaOfCappedNodes(const SlotSpread& spread, std::span<const uint64_t> zone_weights,
                             std::span<const SlotNode> members) {
  std::vector<Event> events;
  Line line;
  for (const uint64_t weight : zone_weights) {
    if (weight == 0) continue;
    events.push_back({.at = weight, .bend = Bend::kStartsToGrow});
    line.fixed += 1;
  }
  for (const SlotNode& member : members) {
    if (member.weight > 0) events.push_back({.at = member.weight, .bend = Bend::kStopsGrowing});
  }
  return SolveLambda(line, std::move(events), spread.members);
}

}  // namespace

std::vector<SlotNode> MembersOf(std::span<const NodePtr> nodes) {
  std::unordered_map<std::string_view, uint32_t> numbers;
  std::vector<SlotNode> members;
  members.reserve(nodes.size());
  for (const NodePtr& node : nodes) {
    const uint32_t zone = numbers.try_emplace(node->zone, static_cast<uint32_t>(numbers.size())).first->second;
    members.push_back({.weight = node->weight, .zone = zone});
  }
  return members;
}

SlotSpread SpreadOf(size_t owners, std::span<const SlotNode> members) {
  const std::vector<uint64_t> zone_weights = ZoneWeights(members);
  const auto weighted = std::count_if(members.begin(), members.end(), [](const auto& m) { return m.weight > 0; });
  const auto zones = std::count_if(zone_weights.begin(), zone_weights.end(), [](uint64_t w) { return w > 0; });
  SlotSpread spread;
  spread.members = std::min(owners, static_cast<size_t>(weighted));
  spread.zones = std::min(spread.members, static_cast<size_t>(zones));
  return spread;
}

std::vector<uint32_t> OwnerQuotas(size_t slots, std::span<const SlotNode> members, std::span<const uint32_t> held) {
  std::vector<uint32_t> quotas(members.size());
  const uint64_t total = WeightOf(members);
  if (total == 0) return quotas;

  struct Candidate {
    bool gives;  // rounded down, it would have to give up more
    uint64_t remainder;
    uint32_t node;
  };
  std::vector<Candidate> candidates;
  size_t left = slots;
  for (uint32_t node = 0; node < members.size(); ++node) {
    const uint64_t share = uint64_t{slots} * members[node].weight;
    quotas[node] = static_cast<uint32_t>(share / total);
    left -= quotas[node];
    if (share % total != 0) candidates.push_back({held[node] > quotas[node], share % total, node});
  }
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(b.gives, b.remainder, a.node) < std::tie(a.gives, a.remainder, b.node);
  });
  for (size_t i = 0; i < left; ++i) ++quotas[candidates[i].node];
  return quotas;
}

std::vector<MemberTarget> MemberTargets(size_t slots, const SlotSpread& spread, std::span<const SlotNode> members) {
  std::vector<MemberTarget> targets(members.size());
  if (spread.members == 0) return targets;
  const std::vector<uint64_t> zone_weights = ZoneWeights(members);
  const bool zones_capped = spread.zones == spread.members;
  const Fraction lambda =
      zones_capped ? LambdaOfCappedZones(spread, zone_weights) : LambdaOfCappedNodes(spread, zone_weights, members);
  for (size_t node = 0; node < members.size(); ++node) {
    const SlotNode& member = members[node];
    if (member.weight == 0) continue;
    const uint64_t zone_weight = zone_weights[member.zone];
    const bool lambda_is_less = lambda.above * zone_weight < lambda.below;
    const Fraction rate = lambda_is_less == zones_capped ? lambda : Fraction{.above = 1, .below = zone_weight};
    const uint64_t share = slots * member.weight * rate.above;
    targets[node].least = static_cast<uint32_t>(std::min<uint64_t>(slots, share / rate.below));
    targets[node].most = static_cast<uint32_t>(std::min<uint64_t>(slots, (share + rate.below - 1) / rate.below));
  }
  return targets;
}

}  // namespace ringd::ring
