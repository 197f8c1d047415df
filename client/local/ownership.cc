#include "ringd/ownership.h"

#include <span>

namespace ringd {
namespace {

OwnsAnswer Answer(const RingCopy& copy, std::string_view node_id, const Node* owner, const Version& caller_version) {
  const Version version = copy.version();
  if (caller_version > version) return {.ownership = Ownership::kBehind, .version = version};
  const bool owns = owner != nullptr && owner->id == node_id;
  return {.ownership = owns ? Ownership::kOwned : Ownership::kNotOwned,
          .version = version,
          .caller_behind = caller_version < version,
          .owner = owner};
}

}  // namespace

OwnsAnswer Owns(const RingCopy& copy, std::string_view node_id, std::string_view key, const Version& caller_version) {
  return Answer(copy, node_id, copy.Owner(key), caller_version);
}

OwnsAnswer OwnsAt(const RingCopy& copy, std::string_view node_id, uint64_t position, const Version& caller_version) {
  const Node* owner = nullptr;
  copy.OwnersAt(position, std::span(&owner, 1));
  return Answer(copy, node_id, owner, caller_version);
}

}  // namespace ringd
