// The order in which slots are visited where the first that fit are taken. For any thread.
#pragma once

#include <cstddef>

namespace ringd::ring {

// Of 0..slots-1 in an order in which any first part is spread over the whole (the bits of a counter, reversed), the one
// after `slot`; after the last, 0. REQUIRES slots to be a power of two.
inline size_t NextScattered(size_t slot, size_t slots) {
  size_t bit = slots >> 1;
  for (; (slot & bit) != 0; bit >>= 1) slot ^= bit;
  return slot | bit;
}

}  // namespace ringd::ring
