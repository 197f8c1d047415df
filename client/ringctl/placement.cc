#include "client/ringctl/placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "client/ringctl/escape.h"

namespace ringd::ctl {
namespace {

// "PRESET_JAVA_CRC32_VN" as "java-crc32-vn".
std::string ShortName(const google::protobuf::EnumDescriptor& type, int number) {
  const auto* value = type.FindValueByNumber(number);
  if (value == nullptr) return fmt::format("number {}", number);
  const std::string_view unspecified = type.value(0)->name();
  const size_t prefix = unspecified.size() - std::string_view("UNSPECIFIED").size();
  std::string name = value->name().substr(prefix);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return c == '_' ? '-' : static_cast<char>(std::tolower(c)); });
  return name;
}

std::vector<std::string> NamesOf(const google::protobuf::EnumDescriptor& type) {
  std::vector<std::string> names;
  for (int i = 1; i < type.value_count(); ++i) names.push_back(ShortName(type, type.value(i)->number()));
  return names;
}

// The value of a name; 0, the unspecified one, for an empty name.
template <typename Enum>
Enum ValueOf(const google::protobuf::EnumDescriptor& type, const std::string& name) {
  int number = 0;
  for (int i = 1; i < type.value_count(); ++i) {
    if (ShortName(type, type.value(i)->number()) == name) number = type.value(i)->number();
  }
  return static_cast<Enum>(number);
}

v1::HashFunction HashOf(const PlacementOptions& options) {
  return ValueOf<v1::HashFunction>(*v1::HashFunction_descriptor(), options.hash);
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

absl::Status NoPlaceFor(std::string_view flag, std::string_view where) {
  return absl::InvalidArgumentError(fmt::format("{} means nothing in {}", flag, where));
}

}  // namespace

std::vector<std::string> PresetNames() { return NamesOf(*v1::Preset_descriptor()); }
std::vector<std::string> HashNames() { return NamesOf(*v1::HashFunction_descriptor()); }
std::vector<std::string> MatchNames() { return NamesOf(*v1::PointMatch_descriptor()); }
std::vector<std::string> TieRuleNames() { return NamesOf(*v1::TieRule_descriptor()); }

absl::StatusOr<v1::Placement> PlacementOf(const PlacementOptions& options) {
  v1::Placement placement;
  if (options.preset.empty()) {
    if (options.minimum_ring_size) return NoPlaceFor("--min-ring-size", "a hashed placement");
    if (options.maximum_ring_size) return NoPlaceFor("--max-ring-size", "a hashed placement");
    *placement.mutable_hashed() = HashedOf(options);
    return placement;
  }
  if (!options.kind.empty()) return absl::InvalidArgumentError("--placement and --preset do not go together");
  if (!options.point_label.empty()) return NoPlaceFor("--point-label", "a preset");
  if (options.points_per_weight) return NoPlaceFor("--points-per-weight", "a preset");
  if (!options.match.empty()) return NoPlaceFor("--match", "a preset");
  if (!options.tie_rule.empty()) return NoPlaceFor("--tie-rule", "a preset");
  *placement.mutable_preset() = PresetOf(options);
  return placement;
}

std::string PlacementName(const v1::Placement& placement) {
  switch (placement.kind_case()) {
    case v1::Placement::kHashed:
      return "hashed";
    case v1::Placement::kSlots:
      return "slots";
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
