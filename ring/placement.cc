#include "ring/placement.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "ring/error.h"
#include "ring/label.h"

namespace ringd::ring {
namespace {

// Weights are 32 bits, so their sum is safe for as many nodes as memory holds; only the product may pass 64 bits.
uint64_t Product(uint64_t weight, uint64_t points_per_weight) {
  const bool fits = weight <= std::numeric_limits<uint64_t>::max() / points_per_weight;
  return fits ? weight * points_per_weight : std::numeric_limits<uint64_t>::max();
}

Circle CircleOf(HashFunction hash) {
  // They give 0..2^31, and the other half of 32 bits would be a part of the circle that no key can lie in.
  const bool java = hash == HashFunction::kJavaFnvCluster || hash == HashFunction::kJavaFnv1;
  if (java) return Circle(uint64_t{1} << 31);
  return Circle(UINT64_MAX >> (64 - CircleBits(hash)));
}

Circle CircleOf(const Placement& placement) {
  if (const auto* hashed = std::get_if<HashedSettings>(&placement)) return CircleOf(hashed->hash);
  if (const auto* slots = std::get_if<SlotsSettings>(&placement)) return CircleOf(slots->hash);
  if (const auto* points = std::get_if<PointsSettings>(&placement)) return Circle(points->last_position);
  const PresetTraits& traits = *FindPreset(std::get<PresetSettings>(placement).preset);
  return traits.circle_bits == CircleBits(traits.hash) ? CircleOf(traits.hash)
                                                       : Circle(UINT64_MAX >> (64 - traits.circle_bits));
}

PointMatch MatchOf(const Placement& placement) {
  if (const auto* hashed = std::get_if<HashedSettings>(&placement)) return hashed->match;
  if (const auto* points = std::get_if<PointsSettings>(&placement)) return points->match;
  return FindPreset(std::get<PresetSettings>(placement).preset)->match;
}

// Where the keys end that a point at `value` owns.
class PointPlace {
 public:
  explicit PointPlace(const Placement& placement)
      : circle_(CircleOf(placement)), strictly_after_(MatchOf(placement) == PointMatch::kStrictlyAfter) {}

  uint64_t operator()(uint64_t value) const {
    if (!strictly_after_) return circle_.Last(value);
    return circle_.Last(value == 0 ? circle_.last_value() : value - 1);
  }

 private:
  const Circle circle_;
  const bool strictly_after_;
};

void AppendLabelPoints(const HashedSettings& settings, const LabelTemplate& label, const PointPlace& place,
                       const Node& node, uint32_t index, std::vector<Point>& points) {
  const uint64_t count = Product(node.weight, settings.points_per_weight);
  NodeLabels labels(label, node.hash_key);
  for (uint64_t i = 0; i < count; ++i) points.emplace_back(place(HashBytes(settings.hash, labels.At(i))), index);
}

void AppendOwnPoints(const PointPlace& place, const Node& node, uint32_t index, std::vector<Point>& points) {
  if (node.weight == 0) return;
  for (const uint64_t value : node.points) points.emplace_back(place(value), index);
}

// Nodes as in the list of a preset's original: those that joined earlier stand before those that joined later.
struct PresetList {
  explicit PresetList(std::span<const NodePtr> by_id) : indices(by_id.size()) {
    std::iota(indices.begin(), indices.end(), 0u);
    std::sort(indices.begin(), indices.end(),
              [&](uint32_t a, uint32_t b) { return by_id[a]->join_number < by_id[b]->join_number; });
    nodes.reserve(by_id.size());
    for (const uint32_t index : indices) nodes.push_back({by_id[index]->hash_key, by_id[index]->weight});
  }

  std::vector<PresetNode> nodes;
  std::vector<uint32_t> indices;  // of `nodes`, in order of id
};

}  // namespace

absl::Status CheckPlacement(const Placement& placement) {
  if (const auto* hashed = std::get_if<HashedSettings>(&placement)) return CheckHashed(*hashed);
  if (const auto* slots = std::get_if<SlotsSettings>(&placement)) return CheckSlots(*slots);
  if (const auto* points = std::get_if<PointsSettings>(&placement)) return CheckPointsPlacement(*points);
  return CheckPreset(std::get<PresetSettings>(placement));
}

absl::Status CheckNode(const Placement& placement, const Node& node, uint32_t default_weight) {
  if (const auto* points = std::get_if<PointsSettings>(&placement)) return CheckNodePoints(*points, node);
  if (!node.points.empty()) {
    return InvalidField("node " + Quote(node.id) +
                        " has points of its own; only a ring of placement points takes them");
  }
  if (const auto* preset = std::get_if<PresetSettings>(&placement)) {
    return CheckPresetNode(*preset, {node.hash_key, node.weight}, default_weight);
  }
  // A label holds the hash_key as it is, and no byte of its own can make it UTF-8.
  const auto* hashed = std::get_if<HashedSettings>(&placement);
  if (hashed != nullptr && !CanHash(hashed->hash, node.hash_key)) {
    return InvalidField("hash_key " + Quote(node.hash_key) + " of node " + Quote(node.id) +
                        " is no UTF-8, which the ring's hash reads");
  }
  return absl::OkStatus();
}

NodeOrder NodeOrderOf(const Placement& placement) {
  const auto by_rule = [](TieRule rule) {
    return rule == TieRule::kLaterJoin ? NodeOrder::kLaterJoinFirst : NodeOrder::kById;
  };
  if (const auto* hashed = std::get_if<HashedSettings>(&placement)) return by_rule(hashed->tie_rule);
  if (const auto* points = std::get_if<PointsSettings>(&placement)) return by_rule(points->tie_rule);
  const auto* preset = std::get_if<PresetSettings>(&placement);
  if (preset == nullptr) return NodeOrder::kById;
  const PresetTraits& traits = *FindPreset(preset->preset);
  if (traits.shared_point == SharedPoint::kLastNode) return NodeOrder::kLaterJoinFirst;
  const bool listed = traits.shared_point == SharedPoint::kFirstNode || traits.reads_order;
  return listed ? NodeOrder::kEarlierJoinFirst : NodeOrder::kById;
}

bool PointsStandAlone(const Placement& placement) {
  const auto* preset = std::get_if<PresetSettings>(&placement);
  if (preset == nullptr) return true;
  const PresetTraits& traits = *FindPreset(preset->preset);
  return !traits.renormalises && !traits.reads_order;
}

bool WeightGivesPoints(const Placement& placement) {
  return PointsStandAlone(placement) && !std::holds_alternative<PointsSettings>(placement);
}

std::optional<SlotShape> SlotShapeOf(const Placement& placement) {
  if (const auto* slots = std::get_if<SlotsSettings>(&placement)) {
    return SlotShape{.slot_bits = slots->slot_bits, .owners = slots->owners};
  }
  if (!IsImported(placement)) return std::nullopt;
  return SlotShape{.slot_bits = FindPreset(Preset::kRedisCluster)->circle_bits, .owners = kMaxSlotOwners};
}

bool IsImported(const Placement& placement) {
  const auto* preset = std::get_if<PresetSettings>(&placement);
  return preset != nullptr && preset->preset == Preset::kRedisCluster;
}

uint64_t PointCount(const Placement& placement, std::span<const NodePtr> nodes) {
  if (SlotShapeOf(placement)) return 0;
  if (const auto* preset = std::get_if<PresetSettings>(&placement)) {
    return PresetPointCount(*preset, PresetList(nodes).nodes);
  }
  if (std::holds_alternative<PointsSettings>(placement)) {
    return std::accumulate(nodes.begin(), nodes.end(), uint64_t{0},
                           [](uint64_t sum, const NodePtr& node) { return sum + node->points.size(); });
  }
  uint64_t weight = 0;
  for (const NodePtr& node : nodes) weight += node->weight;
  return Product(weight, std::get<HashedSettings>(placement).points_per_weight);
}

std::vector<Point> PointsOf(const Placement& placement, std::span<const NodePtr> nodes) {
  std::vector<Point> points;
  if (SlotShapeOf(placement)) return points;
  points.reserve(PointCount(placement, nodes));
  const PointPlace place(placement);
  if (const auto* hashed = std::get_if<HashedSettings>(&placement)) {
    const LabelTemplate label(hashed->label);
    for (size_t i = 0; i < nodes.size(); ++i) {
      AppendLabelPoints(*hashed, label, place, *nodes[i], static_cast<uint32_t>(i), points);
    }
    return points;
  }
  if (std::holds_alternative<PointsSettings>(placement)) {
    for (size_t i = 0; i < nodes.size(); ++i) AppendOwnPoints(place, *nodes[i], static_cast<uint32_t>(i), points);
    return points;
  }
  const PresetList list(nodes);
  for (const auto& [value, node] : PresetPoints(std::get<PresetSettings>(placement), list.nodes)) {
    points.emplace_back(place(value), list.indices[node]);
  }
  return points;
}

void AppendPointsOf(const Placement& placement, const Node& node, uint32_t index, std::vector<Point>& points) {
  if (SlotShapeOf(placement)) return;
  const PointPlace place(placement);
  if (const auto* hashed = std::get_if<HashedSettings>(&placement)) {
    AppendLabelPoints(*hashed, LabelTemplate(hashed->label), place, node, index, points);
    return;
  }
  if (std::holds_alternative<PointsSettings>(placement)) return AppendOwnPoints(place, node, index, points);
  const PresetNode alone{node.hash_key, node.weight};
  for (const auto& [value, zero] : PresetPoints(std::get<PresetSettings>(placement), std::span(&alone, 1))) {
    points.emplace_back(place(value), index);
  }
}

KeyPlace::KeyPlace(const Placement& placement)
    : circle_(CircleOf(placement)), has_hash_(!std::holds_alternative<PointsSettings>(placement)) {
  std::visit(
      [this](const auto& settings) {
        if constexpr (requires { settings.hash; }) {
          hash_ = settings.hash;
          hash_tag_ = settings.hash_tag;
        }
      },
      placement);
  if (const auto* preset = std::get_if<PresetSettings>(&placement)) preset_ = *preset;
  plain_ = !preset_ && hash_ == HashFunction::kXxh3_64 && hash_tag_.empty();
  judges_keys_ = !has_hash_ || ReadsCharacters(hash_);
}

bool KeyPlace::CanRead(std::string_view key) const { return has_hash_ && CanHash(hash_, Tagged(key, hash_tag_)); }

uint64_t KeyPlace::Other(std::string_view key) const {
  return circle_.First(preset_ ? PresetKeyPosition(*preset_, key) : HashBytes(hash_, Tagged(key, hash_tag_)));
}

}  // namespace ringd::ring
