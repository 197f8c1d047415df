#include "client/ringctl/placement.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

#include "client/ringctl/escape.h"
#include "proto/enum_names.h"

namespace ringd::ctl {
namespace {

constexpr std::string_view kSlotsName = "slots";
constexpr std::string_view kHashedName = "hashed";

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

enum class Kind { kSlots, kHashed, kPreset };

// INVALID_ARGUMENT for an option that has no place in the kind.
absl::Status CheckFlags(const PlacementOptions& options, Kind kind) {
  struct Flag {
    bool given;
    Kind kind;
    std::string_view name;
  };
  const std::array flags = {
      Flag{options.slot_bits.has_value(), Kind::kSlots, "--slot-bits"},
      Flag{options.slot_owners.has_value(), Kind::kSlots, "--slot-owners"},
      Flag{!options.point_label.empty(), Kind::kHashed, "--point-label"},
      Flag{options.points_per_weight.has_value(), Kind::kHashed, "--points-per-weight"},
      Flag{!options.match.empty(), Kind::kHashed, "--match"},
      Flag{!options.tie_rule.empty(), Kind::kHashed, "--tie-rule"},
      Flag{options.minimum_ring_size.has_value(), Kind::kPreset, "--min-ring-size"},
      Flag{options.maximum_ring_size.has_value(), Kind::kPreset, "--max-ring-size"},
  };
  const auto text = [](Kind of) -> std::string_view {
    return of == Kind::kSlots ? "--placement slots" : of == Kind::kHashed ? "--placement hashed" : "--preset";
  };
  for (const Flag& flag : flags) {
    if (flag.given && flag.kind != kind) {
      return absl::InvalidArgumentError(
          fmt::format("{} means nothing with {}; it goes with {}", flag.name, text(kind), text(flag.kind)));
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> KindNames() { return {std::string(kSlotsName), std::string(kHashedName)}; }
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
  }
  return placement;
}

std::string PlacementName(const v1::Placement& placement) {
  switch (placement.kind_case()) {
    case v1::Placement::kHashed:
      return std::string(kHashedName);
    case v1::Placement::kSlots:
      return std::string(kSlotsName);
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
    if (hashed.match() == v1::POINT_MATCH_STRICTLY_AFTER) text += ", strictly after";
    if (hashed.tie_rule() == v1::TIE_RULE_LATER_JOIN) text += ", ties to the later join";
    hash_tag = hashed.hash_tag();
  } else if (placement.has_slots()) {
    const v1::SlotsPlacement& slots = placement.slots();
    text += fmt::format(", {} slots, {} each, {}", 1u << slots.slot_bits(),
                        slots.owners() == 1 ? "1 owner" : fmt::format("{} owners", slots.owners()),
                        ShortName(*v1::HashFunction_descriptor(), slots.hash()));
    hash_tag = slots.hash_tag();
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
