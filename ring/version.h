// Version: which state of a ring. Ordered by epoch, then revision.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace ringd::ring {

struct Version {
  uint64_t epoch = 0;
  uint64_t revision = 0;

  auto operator<=>(const Version&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 misreads it
};

// EPOCH/REVISION, as texts and logs show a version.
inline std::string ToString(const Version& version) {
  return std::to_string(version.epoch) + "/" + std::to_string(version.revision);
}

}  // namespace ringd::ring
