// The owners of many keys of one ring, faster than key by key.
//
// Some keys are hashed before the first of them is looked for, and looked for before the first is answered: so the
// processor has many reads of the tables under way at once, and not one after each hash and one before each answer.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "ring/ring.h"

namespace ringd::ring {

// Calls answer(i, owner) for each i below `count`, in this order, with the owner of the key that key(i) returns.
// REQUIRES ring.HasOwners(), and ring.keys().CanPlace of all keys. No allocation.
template <class Key, class Answer>
void OwnersOfKeys(const Ring& ring, size_t count, Key key, Answer answer) {
  constexpr size_t kAtOnce = 32;
  std::array<uint64_t, kAtOnce> positions;
  std::array<uint32_t, kAtOnce> owners;
  for (size_t first = 0; first < count; first += kAtOnce) {
    const size_t some = std::min(kAtOnce, count - first);
    for (size_t i = 0; i < some; ++i) positions[i] = ring.Position(key(first + i));
    for (size_t i = 0; i < some; ++i) owners[i] = ring.Owner(positions[i]);
    for (size_t i = 0; i < some; ++i) answer(first + i, owners[i]);
  }
}

}  // namespace ringd::ring
