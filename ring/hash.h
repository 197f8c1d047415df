// The hash functions that put keys and labels on the circle, and the part of a key that is hashed. Pure functions: any
// thread, no state, no allocation.
//
// Bytes are bytes: NUL, high bytes and any length are hashed as they are. The two Java functions alone read characters:
// they hash UTF-16 units, so their bytes have to be UTF-8.
#pragma once

#include <xxhash.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"

namespace ringd::ring {

// Numbers are those of ringd.v1.HashFunction.
enum class HashFunction : uint32_t {
  kXxh3_64 = 1,     // seed 0
  kXxh64 = 2,       // seed 0
  kMurmur3_32 = 3,  // x86, seed 0
  kMurmur2_32 = 4,  // seed 0
  kCrc32 = 5,       // IEEE, as zlib
  kCrc16 = 6,       // XMODEM, as Redis Cluster
  kFnv1_32 = 7,
  kFnv1a_32 = 8,
  kFnv1_64 = 9,
  kFnv1a_64 = 10,
  kMd5 = 11,             // the first 8 bytes, little-endian
  kSha1 = 12,            // the first 8 bytes, little-endian
  kJavaFnvCluster = 13,  // of the preset java-fnv-cluster
  kJavaFnv1 = 14,        // of the preset java-fnv1
};

// Where a key lies on the circle: XXH3, 64 bits, seed 0. An empty key has a place too.
inline uint64_t HashKey(std::string_view key) { return XXH3_64bits(key.data(), key.size()); }

// Whether it is a number of the enum.
bool IsKnown(HashFunction hash);

// 64, 32 or 16: values are 0..2^bits-1. 0 for a number that is not of the enum.
//
// The Java functions give 0..2^31: they make a signed number positive, but for INT_MIN, which is 2^31 here. On the
// circle that comes after INT_MAX and before 0, as in their order of signed numbers, so owners are theirs; the other
// half of the circle gets no key and no point.
unsigned CircleBits(HashFunction hash);

// Whether the function reads the characters of a text: the two Java functions do.
bool ReadsCharacters(HashFunction hash);

// False only where the hash reads characters and the bytes are no UTF-8. REQUIRES IsKnown(hash).
bool CanHash(HashFunction hash, std::string_view bytes);

// HashBytes for all but XXH3. REQUIRES the same.
uint64_t HashBytesOther(HashFunction hash, std::string_view bytes);

// The hash, in the low CircleBits(hash) bits. REQUIRES CanHash(hash, bytes).
inline uint64_t HashBytes(HashFunction hash, std::string_view bytes) {
  return hash == HashFunction::kXxh3_64 ? HashKey(bytes) : HashBytesOther(hash, bytes);
}

// MurmurHash2, 32 bits, with a seed. kMurmur2_32 has seed 0.
uint32_t Murmur2(std::string_view bytes, uint32_t seed);

// MD5 as four numbers, each little-endian. The first two are kMd5.
std::array<uint32_t, 4> Md5Words(std::string_view bytes);

// INVALID_ARGUMENT unless the tag is empty or two printable ASCII characters.
absl::Status CheckHashTag(std::string_view hash_tag);

// The part of a key that is hashed: what stands between the first of the tag's first character and the next of its
// second character after that; the whole key where one of them is missing or nothing stands between them, or the tag is
// empty. One rule for Redis (keyHashSlot of cluster.c) and twemproxy (server_pool_idx of nc_server.c). REQUIRES
// CheckHashTag.
inline std::string_view Tagged(std::string_view key, std::string_view hash_tag) {
  if (hash_tag.empty()) return key;
  const auto open = key.find(hash_tag[0]);
  if (open == std::string_view::npos) return key;
  const auto close = key.find(hash_tag[1], open + 1);
  if (close == std::string_view::npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

}  // namespace ringd::ring
