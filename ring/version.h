// Version: which state of a ring. Ordered by epoch, then revision.
#pragma once

#include <compare>
#include <cstdint>

namespace ringd::ring {

struct Version {
  uint64_t epoch = 0;
  uint64_t revision = 0;

  auto operator<=>(const Version&) const = default;
};

}  // namespace ringd::ring
