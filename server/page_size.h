// How much one page of a list holds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace ringd::server {

// Leaves room below a stock client's 4 MiB for the rest of the answer.
inline constexpr size_t kMaxPageBytes = 3 << 20;

// REQUIRES asked >= 0.
inline size_t PageSize(int32_t asked) {
  constexpr size_t kDefault = 1'000;
  constexpr size_t kMax = 10'000;
  return asked == 0 ? kDefault : std::min(static_cast<size_t>(asked), kMax);
}

}  // namespace ringd::server
