#pragma once

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ringd/v1/directory.pb.h"

namespace ringd::ctl {

// Placements as people write them; names are those of proto/enum_names.h.

// PlacementOptions are what the command line says of a placement. Empty = not said.
struct PlacementOptions {
  std::string kind;  // slots where no preset is named
  std::string preset;
  std::string hash;
  std::string point_label;
  std::optional<uint32_t> slot_bits;
  std::optional<uint32_t> slot_owners;
  std::optional<uint32_t> points_per_weight;
  std::string match;
  std::string tie_rule;
  std::string hash_tag;
  std::optional<uint64_t> last_position;
  std::optional<uint32_t> minimum_ring_size;
  std::optional<uint32_t> maximum_ring_size;

  bool operator==(const PlacementOptions&) const = default;
};

// The names of all values but the unspecified one, in order of their numbers.
std::vector<std::string> KindNames();
std::vector<std::string> PresetNames();
std::vector<std::string> HashNames();
std::vector<std::string> MatchNames();
std::vector<std::string> TieRuleNames();

// PlacementOf is the message. REQUIRES names of those above. INVALID_ARGUMENT for an option that has no place in the
// kind that is named.
absl::StatusOr<v1::Placement> PlacementOf(const PlacementOptions& options);

// The kind of a placement: "hashed", "slots", "points", the name of a preset.
std::string PlacementName(const v1::Placement& placement);

// PlacementDetails is the kind and what it was given, in a line.
std::string PlacementDetails(const v1::Placement& placement);

}  // namespace ringd::ctl
