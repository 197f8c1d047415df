#include "ring/hash.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace ringd::ring {
namespace {

// Vectors of the reference implementation (xxHash v0.8): XXH3_64bits, seed 0, on the byte sequence of its own sanity
// check. One in each class of lengths.
std::string SanityBuffer(size_t size) {
  constexpr uint64_t kPrime64 = 11400714785074694797ULL;
  uint64_t generator = 2654435761U;
  std::string bytes;
  for (size_t i = 0; i < size; ++i) {
    bytes.push_back(static_cast<char>(generator >> 56));
    generator *= kPrime64;
  }
  return bytes;
}

TEST(HashKey, IsXxh3OfTheReferenceVectors) {
  EXPECT_EQ(HashKey(""), 0x2D06800538D394C2ULL);
  EXPECT_EQ(HashKey(SanityBuffer(1)), 0xC44BDFF4074EECDBULL);
  EXPECT_EQ(HashKey(SanityBuffer(6)), 0x27B56A84CD2D7325ULL);
  EXPECT_EQ(HashKey(SanityBuffer(12)), 0xA713DAF0DFBB77E7ULL);
  EXPECT_EQ(HashKey(SanityBuffer(24)), 0xA3FE70BF9D3510EBULL);
  EXPECT_EQ(HashKey(SanityBuffer(48)), 0x397DA259ECBA1F11ULL);
  EXPECT_EQ(HashKey(SanityBuffer(80)), 0xBCDEFBBB2C47C90AULL);
  EXPECT_EQ(HashKey(SanityBuffer(195)), 0xCD94217EE362EC3AULL);
  EXPECT_EQ(HashKey(SanityBuffer(403)), 0xCDEB804D65C6DEA4ULL);
  EXPECT_EQ(HashKey(SanityBuffer(2048)), 0xDD59E2C3A5F038E0ULL);
}

// B35 (xroche/coucal#6): high bytes and any alignment must not matter.
TEST(HashKey, IsTheSameAtEveryAlignment) {
  for (const char byte : {'\xC3', '\xFF'}) {
    for (size_t length = 1; length <= 33; ++length) {
      const uint64_t expected = HashKey(std::string(length, byte));
      for (size_t offset = 0; offset < 8; ++offset) {
        const std::string buffer = std::string(offset, 'x') + std::string(length, byte) + "y";
        EXPECT_EQ(HashKey(std::string_view(buffer).substr(offset, length)), expected) << length << " at " << offset;
      }
    }
  }
}

// B36 (redis/jedis#4685): keys are bytes; composed and decomposed forms are different keys, NUL is a byte like others.
TEST(HashKey, HashesBytesAsTheyAre) {
  EXPECT_NE(HashKey("\xC3\xA9"), HashKey("e\xCC\x81"));
  EXPECT_NE(HashKey(std::string_view("a\0b", 3)), HashKey("a"));
}

}  // namespace
}  // namespace ringd::ring
