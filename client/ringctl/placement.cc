#include "client/ringctl/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "client/ringctl/escape.h"
#include "proto/enum_names.h"

namespace ringd::ctl {
namespace {

constexpr std::string_view kSlotsName = "slots";
constexpr std::string_view kHashedName = "hashed";
constexpr std::string_view kPointsName = "points";

// The value of a name; 0, the unspecified one, for an empty name.
template <typename Enum>
Enum ValueOf(const google::protobuf::EnumDescriptor& type, const std::string& name) {
  return static_cast<Enum>(NumberOfName(type, name));
}

v1::HashFunction HashOf(const PlacementOptions& options) {
  return ValueOf<v1::HashFunction>(*v1::HashFunction_descriptor(), options.hash);
}

v1::SlotsPlacement SlotsOf(const PlacementOptions& options) {
  v1::SlotsPlacement slots;
  if (options.slot_bits) slots.set_slot_bits(*options.slot_bits);
  if (options.slot_owners) slots.set_owners(*options.slot_owners);
  slots.set_hash(HashOf(options));
  slots.set_hash_tag(options.hash_tag);
  return slots;
}

v1::HashedPlacement HashedOf(const PlacementOptions& options) {
  v1::HashedPlacement hashed;
  hashed.set_hash(HashOf(options));
  hashed.set_label(options.point_label);
  if (options.points_per_weight) hashed.set_points_per_weight(*options.points_per_weight);
  hashed.set_match(ValueOf<v1::PointMatch>(*v1::PointMatch_descriptor(), options.match));
  hashed.set_tie_rule(ValueOf<v1::TieRule>(*v1::TieRule_descriptor(), options.tie_rule));
  hashed.set_hash_tag(options.hash_tag);
  return hashed;
}

v1::PresetPlacement PresetOf(const PlacementOptions& options) {
  v1::PresetPlacement preset;
  preset.set_preset(ValueOf<v1::Preset>(*v1::Preset_descriptor(), options.preset));
  preset.set_hash(HashOf(options));
  preset.set_hash_tag(options.hash_tag);
  if (options.minimum_ring_size) preset.set_minimum_ring_size(*options.minimum_ring_size);
  if (options.maximum_ring_size) preset.set_maximum_ring_size(*options.maximum_ring_size);
  return preset;
}

v1::PointsPlacement PointsOf(const PlacementOptions& options) {
  v1::PointsPlacement points;
  if (options.last_position) points.set_last_position(*options.last_position);
  points.set_match(ValueOf<v1::PointMatch>(*v1::PointMatch_descriptor(), options.match));
  points.set_tie_rule(ValueOf<v1::TieRule>(*v1::TieRule_descriptor(), options.tie_rule));
  return points;
}

enum class Kind { kSlots, kHashed, kPreset, kPoints };

std::string_view FlagOf(Kind kind) {
  switch (kind) {
    case Kind::kSlots:
      return "--placement slots";
    case Kind::kHashed:
      return "--placement hashed";
    case Kind::kPreset:
      return "--preset";
    case Kind::kPoints:
      break;
  }
  return "--placement points";
}

// INVALID_ARGUMENT for an option that has no place in the kind.
absl::Status CheckFlags(const PlacementOptions& options, Kind kind) {
  struct Flag {
    bool given;
    std::vector<Kind> kinds;
    std::string_view name;
  };
  const std::array flags = {
      Flag{options.slot_bits.has_value(), {Kind::kSlots}, "--slot-bits"},
      Flag{options.slot_owners.has_value(), {Kind::kSlots}, "--slot-owners"},
      Flag{!options.point_label.empty(), {Kind::kHashed}, "--point-label"},
      Flag{options.points_per_weight.has_value(), {Kind::kHashed}, "--points-per-weight"},
      Flag{!options.match.empty(), {Kind::kHashed, Kind::kPoints}, "--match"},
      Flag{!options.tie_rule.empty(), {Kind::kHashed, Kind::kPoints}, "--tie-rule"},
      Flag{options.last_position.has_value(), {Kind::kPoints}, "--last-position"},
      Flag{!options.hash.empty(), {Kind::kSlots, Kind::kHashed, Kind::kPreset}, "--hash"},
      Flag{!options.hash_tag.empty(), {Kind::kSlots, Kind::kHashed, Kind::kPreset}, "--hash-tag"},
      Flag{options.minimum_ring_size.has_value(), {Kind::kPreset}, "--min-ring-size"},
      Flag{options.maximum_ring_size.has_value(), {Kind::kPreset}, "--max-ring-size"},
  };
  for (const Flag& flag : flags) {
    if (!flag.given || std::find(flag.kinds.begin(), flag.kinds.end(), kind) != flag.kinds.end()) continue;
    std::string with;
    for (const Kind of : flag.kinds) with += fmt::format("{}{}", with.empty() ? "" : " or ", FlagOf(of));
    return absl::InvalidArgumentError(
        fmt::format("{} means nothing with {}; it goes with {}", flag.name, FlagOf(kind), with));
  }
  return absl::OkStatus();
}

std::string RulesText(v1::PointMatch match, v1::TieRule tie_rule) {
  std::string text;
  if (match == v1::POINT_MATCH_STRICTLY_AFTER) text += ", strictly after";
  if (tie_rule == v1::TIE_RULE_LATER_JOIN) text += ", ties to the later join";
  return text;
}

}  // namespace

std::vector<std::string> KindNames() {
  return {std::string(kSlotsName), std::string(kHashedName), std::string(kPointsName)};
}
std::vector<std::string> PresetNames() { return ShortNames(*v1::Preset_descriptor()); }
std::vector<std::string> HashNames() { return ShortNames(*v1::HashFunction_descriptor()); }
std::vector<std::string> MatchNames() { return ShortNames(*v1::PointMatch_descriptor()); }
std::vector<std::string> TieRuleNames() { return ShortNames(*v1::TieRule_descriptor()); }

absl::StatusOr<v1::Placement> PlacementOf(const PlacementOptions& options) {
  if (!options.kind.empty() && !options.preset.empty()) {
    return absl::InvalidArgumentError("--placement and --preset do not go together");
  }
  const Kind kind = !options.preset.empty()       ? Kind::kPreset
                    : options.kind == kHashedName ? Kind::kHashed
                    : options.kind == kPointsName ? Kind::kPoints
                                                  : Kind::kSlots;
  if (absl::Status fit = CheckFlags(options, kind); !fit.ok()) return fit;
  v1::Placement placement;
  switch (kind) {
    case Kind::kSlots:
      *placement.mutable_slots() = SlotsOf(options);
      break;
    case Kind::kHashed:
      *placement.mutable_hashed() = HashedOf(options);
      break;
    case Kind::kPreset:
      *placement.mutable_preset() = PresetOf(options);
      break;
    case Kind::kPoints:
      *placement.mutable_points() = PointsOf(options);
      break;
  }
  return placement;
}

std::string PlacementName(const v1::Placement& placement) {
  switch (placement.kind_case()) {
    case v1::Placement::kHashed:
      return std::string(kHashedName);
    case v1::Placement::kSlots:
      return std::string(kSlotsName);
    case v1::Placement::kPoints:
      return std::string(kPointsName);
    case v1::Placement::kPreset:
      return ShortName(*v1::Preset_descriptor(), placement.preset().preset());
    case v1::Placement::KIND_NOT_SET:
      break;
  }
  return "";
}

std::string PlacementDetails(const v1::Placement& placement) {
  std::string text = PlacementName(placement);
  std::string hash_tag;
  if (placement.has_hashed()) {
    const v1::HashedPlacement& hashed = placement.hashed();
    text += fmt::format(", {} points per weight, {}, label {}", hashed.points_per_weight(),
                        ShortName(*v1::HashFunction_descriptor(), hashed.hash()), Quoted(hashed.label()));
    text += RulesText(hashed.match(), hashed.tie_rule());
    hash_tag = hashed.hash_tag();
  } else if (placement.has_slots()) {
    const v1::SlotsPlacement& slots = placement.slots();
    text += fmt::format(", {} slots, {} each, {}", 1u << slots.slot_bits(),
                        slots.owners() == 1 ? "1 owner" : fmt::format("{} owners", slots.owners()),
                        ShortName(*v1::HashFunction_descriptor(), slots.hash()));
    hash_tag = slots.hash_tag();
  } else if (placement.has_points()) {
    const v1::PointsPlacement& points = placement.points();
    text += fmt::format(", positions 0..{}{}", points.last_position(), RulesText(points.match(), points.tie_rule()));
  } else if (placement.has_preset()) {
    const v1::PresetPlacement& preset = placement.preset();
    text += fmt::format(", {}", ShortName(*v1::HashFunction_descriptor(), preset.hash()));
    if (preset.has_minimum_ring_size()) {
      text += fmt::format(", ring sizes {}..{}", preset.minimum_ring_size(), preset.maximum_ring_size());
    }
    hash_tag = preset.hash_tag();
  }
  if (!hash_tag.empty()) text += fmt::format(", hash tag {}", Quoted(hash_tag));
  return text;
}

}  // namespace ringd::ctl
