#include "ring/hash.h"

// The functions that OpenSSL 3 offers instead of those of MD5 and SHA-1 look the algorithm up and allocate at every
// hash. This is no cryptography, so that a policy against old algorithms does not apply either.
#define OPENSSL_SUPPRESS_DEPRECATED  // NOLINT(readability-identifier-naming): the name is OpenSSL's

#include <openssl/md5.h>
#include <openssl/sha.h>
#include <zlib.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#include "ring/error.h"
#include "ring/utf8.h"

namespace ringd::ring {
namespace {

static_assert(std::endian::native == std::endian::little, "digests and murmur blocks are read as little-endian");

template <typename Int>
Int Load(const void* bytes) {
  Int value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

unsigned char ByteAt(std::string_view bytes, size_t i) { return static_cast<unsigned char>(bytes[i]); }

// The last 1..3 bytes, as a little-endian number.
uint32_t Tail(std::string_view bytes) {
  uint32_t tail = 0;
  for (size_t i = 0; i < bytes.size(); ++i) tail |= uint32_t{ByteAt(bytes, i)} << (8 * i);
  return tail;
}

uint32_t Murmur3(std::string_view bytes) {
  const auto scrambled = [](uint32_t block) { return std::rotl(block * 0xCC9E2D51U, 15) * 0x1B873593U; };
  const auto length = static_cast<uint32_t>(bytes.size());
  uint32_t hash = 0;
  for (; bytes.size() >= 4; bytes.remove_prefix(4)) {
    hash = std::rotl(hash ^ scrambled(Load<uint32_t>(bytes.data())), 13) * 5 + 0xE6546B64U;
  }
  hash ^= scrambled(Tail(bytes)) ^ length;
  hash = (hash ^ hash >> 16) * 0x85EBCA6BU;
  hash = (hash ^ hash >> 13) * 0xC2B2AE35U;
  return hash ^ hash >> 16;
}

uint32_t Crc32(std::string_view bytes) {
  const uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  return static_cast<uint32_t>(crc);
}

constexpr std::array<uint16_t, 256> Crc16Table() {
  std::array<uint16_t, 256> table{};
  for (unsigned byte = 0; byte < table.size(); ++byte) {
    unsigned crc = byte << 8;
    for (int bit = 0; bit < 8; ++bit) crc = crc << 1 ^ (crc & 0x8000 ? 0x1021U : 0);
    table[byte] = static_cast<uint16_t>(crc);
  }
  return table;
}

uint16_t Crc16(std::string_view bytes) {
  static constexpr std::array<uint16_t, 256> kTable = Crc16Table();
  uint16_t crc = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    crc = static_cast<uint16_t>(crc << 8 ^ kTable[(crc >> 8) ^ ByteAt(bytes, i)]);
  }
  return crc;
}

template <typename Int>
struct FnvNumbers;
template <>
struct FnvNumbers<uint32_t> {
  static constexpr uint32_t kBasis = 2'166'136'261;
  static constexpr uint32_t kPrime = 16'777'619;
};
template <>
struct FnvNumbers<uint64_t> {
  static constexpr uint64_t kBasis = 0xCBF29CE484222325;
  static constexpr uint64_t kPrime = 0x100000001B3;
};

template <typename Int>
Int Fnv1(std::string_view bytes) {
  Int hash = FnvNumbers<Int>::kBasis;
  for (size_t i = 0; i < bytes.size(); ++i) hash = (hash * FnvNumbers<Int>::kPrime) ^ ByteAt(bytes, i);
  return hash;
}

template <typename Int>
Int Fnv1a(std::string_view bytes) {
  Int hash = FnvNumbers<Int>::kBasis;
  for (size_t i = 0; i < bytes.size(); ++i) hash = (hash ^ ByteAt(bytes, i)) * FnvNumbers<Int>::kPrime;
  return hash;
}

uint64_t Md5(std::string_view bytes) {
  const std::array<uint32_t, 4> words = Md5Words(bytes);
  return uint64_t{words[1]} << 32 | words[0];
}

uint64_t Sha1(std::string_view bytes) {
  SHA_CTX context;
  std::array<unsigned char, SHA_DIGEST_LENGTH> digest;
  SHA1_Init(&context);
  SHA1_Update(&context, bytes.data(), bytes.size());
  SHA1_Final(digest.data(), &context);
  return Load<uint64_t>(digest.data());
}

// Calls `hash_unit` with each UTF-16 unit of a text. REQUIRES valid UTF-8.
template <typename HashUnit>
void ForEachUtf16Unit(std::string_view text, HashUnit hash_unit) {
  while (!text.empty()) {
    const Utf8Char next = ReadUtf8(text);
    if (next.code < 0x10000) {
      hash_unit(uint32_t{next.code});
    } else {
      hash_unit(uint32_t{0xD7C0 + (next.code >> 10)});
      hash_unit(uint32_t{0xDC00 + (next.code & 0x3FF)});
    }
    text.remove_prefix(next.length);
  }
}

// Java's >> on an int.
uint32_t SignedShiftRight(uint32_t value, int bits) {
  return static_cast<uint32_t>(static_cast<int32_t>(value) >> bits);
}

uint32_t JavaMix(uint32_t hash) {
  hash += hash << 13;
  hash ^= SignedShiftRight(hash, 7);
  hash += hash << 3;
  hash ^= SignedShiftRight(hash, 17);
  return hash + (hash << 5);
}

// Math.abs of the int. INT_MIN stays what it is.
uint32_t JavaAbs(uint32_t value) { return static_cast<int32_t>(value) < 0 ? 0 - value : value; }

// 16777618 is not the prime of FNV; that, and the mixing inside the loop, are the article's.
uint32_t JavaFnvCluster(std::string_view text) {
  uint32_t hash = FnvNumbers<uint32_t>::kBasis;
  ForEachUtf16Unit(text, [&](uint32_t unit) { hash = JavaMix(hash ^ unit * 16'777'618); });
  return JavaAbs(hash);
}

uint32_t JavaFnv1(std::string_view text) {
  uint32_t hash = FnvNumbers<uint32_t>::kBasis;
  ForEachUtf16Unit(text, [&](uint32_t unit) { hash = (hash ^ unit) * FnvNumbers<uint32_t>::kPrime; });
  return JavaAbs(JavaMix(hash));
}

}  // namespace

bool IsKnown(HashFunction hash) { return CircleBits(hash) != 0; }

unsigned CircleBits(HashFunction hash) {
  switch (hash) {
    case HashFunction::kXxh3_64:
    case HashFunction::kXxh64:
    case HashFunction::kFnv1_64:
    case HashFunction::kFnv1a_64:
    case HashFunction::kMd5:
    case HashFunction::kSha1:
      return 64;
    case HashFunction::kMurmur3_32:
    case HashFunction::kMurmur2_32:
    case HashFunction::kCrc32:
    case HashFunction::kFnv1_32:
    case HashFunction::kFnv1a_32:
    case HashFunction::kJavaFnvCluster:
    case HashFunction::kJavaFnv1:
      return 32;
    case HashFunction::kCrc16:
      return 16;
  }
  return 0;
}

bool ReadsCharacters(HashFunction hash) {
  return hash == HashFunction::kJavaFnvCluster || hash == HashFunction::kJavaFnv1;
}

bool CanHash(HashFunction hash, std::string_view bytes) { return !ReadsCharacters(hash) || IsValidUtf8(bytes); }

uint64_t HashBytesOther(HashFunction hash, std::string_view bytes) {
  switch (hash) {
    case HashFunction::kXxh3_64:
      return HashKey(bytes);
    case HashFunction::kXxh64:
      return XXH64(bytes.data(), bytes.size(), 0);
    case HashFunction::kMurmur3_32:
      return Murmur3(bytes);
    case HashFunction::kMurmur2_32:
      return Murmur2(bytes, 0);
    case HashFunction::kCrc32:
      return Crc32(bytes);
    case HashFunction::kCrc16:
      return Crc16(bytes);
    case HashFunction::kFnv1_32:
      return Fnv1<uint32_t>(bytes);
    case HashFunction::kFnv1a_32:
      return Fnv1a<uint32_t>(bytes);
    case HashFunction::kFnv1_64:
      return Fnv1<uint64_t>(bytes);
    case HashFunction::kFnv1a_64:
      return Fnv1a<uint64_t>(bytes);
    case HashFunction::kMd5:
      return Md5(bytes);
    case HashFunction::kSha1:
      return Sha1(bytes);
    case HashFunction::kJavaFnvCluster:
      return JavaFnvCluster(bytes);
    case HashFunction::kJavaFnv1:
      return JavaFnv1(bytes);
  }
  return 0;  // not reached: the function is known
}

uint32_t Murmur2(std::string_view bytes, uint32_t seed) {
  constexpr uint32_t kFactor = 0x5BD1E995;
  uint32_t hash = seed ^ static_cast<uint32_t>(bytes.size());
  for (; bytes.size() >= 4; bytes.remove_prefix(4)) {
    const uint32_t block = Load<uint32_t>(bytes.data()) * kFactor;
    hash = hash * kFactor ^ (block ^ block >> 24) * kFactor;
  }
  if (!bytes.empty()) hash = (hash ^ Tail(bytes)) * kFactor;
  hash = (hash ^ hash >> 13) * kFactor;
  return hash ^ hash >> 15;
}

std::array<uint32_t, 4> Md5Words(std::string_view bytes) {
  MD5_CTX context;
  std::array<unsigned char, MD5_DIGEST_LENGTH> digest;
  MD5_Init(&context);
  MD5_Update(&context, bytes.data(), bytes.size());
  MD5_Final(digest.data(), &context);
  return Load<std::array<uint32_t, 4>>(digest.data());
}

absl::Status CheckHashTag(std::string_view hash_tag) {
  const auto is_printable = [](char c) { return c >= 0x20 && c <= 0x7E; };
  if (hash_tag.empty()) return absl::OkStatus();
  if (hash_tag.size() == 2 && is_printable(hash_tag[0]) && is_printable(hash_tag[1])) return absl::OkStatus();
  return InvalidField("hash_tag " + Quote(hash_tag) + " is not two printable ASCII characters, such as \"{}\"");
}

}  // namespace ringd::ring
