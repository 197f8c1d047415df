// The hash functions that put keys and labels on the circle. Pure functions: any thread, no allocation.
#pragma once

#include <xxhash.h>

#include <cstdint>
#include <string_view>

namespace ringd::ring {

// Numbers are those of ringd.v1.HashFunction.
enum class HashFunction : uint32_t {
  kXxh3_64 = 1,
};

// Where a key lies on the circle: XXH3, 64 bits, seed 0. An empty key has a place too.
inline uint64_t HashKey(std::string_view key) { return XXH3_64bits(key.data(), key.size()); }

}  // namespace ringd::ring
