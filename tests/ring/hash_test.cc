#include "ring/hash.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <array>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace ringd::ring {
namespace {

using Hash = HashFunction;

std::vector<HashFunction> AllFunctions() {
  std::vector<HashFunction> all;
  for (uint32_t number = 1; IsKnown(HashFunction{number}); ++number) all.push_back(HashFunction{number});
  return all;
}

// Bytes of all values, NUL among them, in an order that repeats after 256.
std::string Bytes(size_t size) {
  std::string bytes;
  for (size_t i = 0; i < size; ++i) bytes.push_back(static_cast<char>(i * 167 + (i >> 3)));
  return bytes;
}

// The bytes of xxHash's own sanity checks.
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

// Those of its older ones.
std::string OldSanityBuffer(size_t size) {
  uint32_t generator = 2654435761U;
  std::string bytes;
  for (size_t i = 0; i < size; ++i) {
    bytes.push_back(static_cast<char>(generator >> 24));
    generator *= generator;
  }
  return bytes;
}

// Vectors of the reference implementation (xxHash v0.8, seed 0), one in each class of lengths.
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
  EXPECT_EQ(HashBytes(Hash::kXxh3_64, SanityBuffer(80)), HashKey(SanityBuffer(80)));
}

// BMK_sanityCheck of xxHash r35 to v0.6, and the vectors of its command line tool.
TEST(HashBytes, IsXxh64OfTheReferenceVectors) {
  EXPECT_EQ(HashBytes(Hash::kXxh64, ""), 0xEF46DB3751D8E999ULL);
  EXPECT_EQ(HashBytes(Hash::kXxh64, OldSanityBuffer(1)), 0x4FCE394CC88952D8ULL);
  EXPECT_EQ(HashBytes(Hash::kXxh64, OldSanityBuffer(14)), 0xCFFA8DB881BC3A3DULL);
  EXPECT_EQ(HashBytes(Hash::kXxh64, OldSanityBuffer(101)), 0x0EAB543384F878ADULL);
  EXPECT_EQ(HashBytes(Hash::kXxh64, "a"), 0xD24EC4F1A98C6E5BULL);
  EXPECT_EQ(HashBytes(Hash::kXxh64, "abc"), 0x44BC2CF5AD770999ULL);
}

struct Vector {
  std::string text;
  uint64_t hash;
};

void ExpectVectors(HashFunction function, const std::vector<Vector>& vectors) {
  for (const Vector& vector : vectors) {
    EXPECT_EQ(HashBytes(function, vector.text), vector.hash) << static_cast<uint32_t>(function) << " " << vector.text;
  }
}

// Wikipedia's vectors with seed 0; pid/murmurHash3js#3 and facebookincubator/velox#18770 (B34, high bytes in the tail);
// B33; the edges of the circle from the cases' ready-made inputs.
TEST(HashBytes, IsMurmur3OfThePublishedVectors) {
  ExpectVectors(Hash::kMurmur3_32, {{"", 0},
                                    {"test", 0xBA6BD213},
                                    {"Hello, world!", 0xC0363E43},
                                    {"The quick brown fox jumps over the lazy dog", 0x2E4FF723},
                                    {"123456789", 0xB4FEF382},
                                    {"My hovercraft is full of eels.", 2953494853},
                                    {"My 🚀 is full of 🦎.", 1818098979},
                                    {"吉 星 高 照", 3435142074},
                                    {"jcygwvub", 0},
                                    {"ntjbvdla", 1},
                                    {"ojwmapea", 0x7FFFFFFF},
                                    {"uwymouna", 0x80000000},
                                    {"hrybljoa", 0xFFFFFFFE},
                                    {"ghgktfga", 0xFFFFFFFF}});
}

// The check values of the catalogue of CRC algorithms (CRC-32/ISO-HDLC, CRC-16/XMODEM), and edges of the circle.
TEST(HashBytes, IsCrcOfThePublishedVectors) {
  ExpectVectors(Hash::kCrc32, {{"", 0},
                               {"123456789", 0xCBF43926},
                               {"sypuiuga", 0},
                               {"tfxvntka", 1},
                               {"zsjytspa", 0x7FFFFFFF},
                               {"kynahnda", 0x80000000},
                               {"ycokusia", 0xFFFFFFFE},
                               {"maeqbpja", 0xFFFFFFFF}});
  ExpectVectors(Hash::kCrc16, {{"", 0}, {"123456789", 0x31C3}});
}

// test_fnv.c of the reference code (Noll), B32, and edges of the circle.
TEST(HashBytes, IsFnvOfThePublishedVectors) {
  ExpectVectors(Hash::kFnv1_32, {{"", 0x811C9DC5},
                                 {"a", 0x050C5D7E},
                                 {"foobar", 0x31F0B262},
                                 {"123456789", 0x24148816},
                                 {"bxyapnza", 0},
                                 {"wooitxpb", 1},
                                 {"nxbgcjia", 0x7FFFFFFF},
                                 {"ftprsscb", 0x80000000},
                                 {"nrmxhnhb", 0xFFFFFFFE},
                                 {"nrmxhnhc", 0xFFFFFFFF}});
  ExpectVectors(Hash::kFnv1a_32, {{"", 0x811C9DC5}, {"a", 0xE40C292C}, {"foobar", 0xBF9CF968}});
  ExpectVectors(Hash::kFnv1_64, {{"", 0xCBF29CE484222325}, {"a", 0xAF63BD4C8601B7BE}, {"foobar", 0x340D8765A4DDA9C2}});
  ExpectVectors(Hash::kFnv1a_64, {{"", 0xCBF29CE484222325}, {"a", 0xAF63DC4C8601EC8C}, {"foobar", 0x85944171F73967E8}});
}

// The test suite of RFC 1321; FIPS 180, appendix A. The first 8 bytes, little-endian.
TEST(HashBytes, IsMd5AndSha1OfThePublishedVectors) {
  ExpectVectors(Hash::kMd5, {{"", 0x04B2008FD98C1DD4},                  // d41d8cd98f00b204...
                             {"a", 0xA8B6F1C0B975C10C},                 // 0cc175b9c0f1b6a8...
                             {"abc", 0xB04FD23C98500190},               // 900150983cd24fb0...
                             {"message digest", 0x8D93B77C7D696BF9}});  // f96b697d7cb7938d...
  EXPECT_EQ(Md5Words("abc"), (std::array<uint32_t, 4>{0x98500190, 0xB04FD23C, 0x7D3F96D6, 0x727FE128}));
  ExpectVectors(Hash::kSha1, {{"abc", 0x6A810647363E99A9},  // a9993e364706816a...
                              {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 0x6ED23B1C443E9884}});
}

// SMHasher's VerificationTest, on any 32-bit function with a seed: the keys {}, {0}, {0,1}... under the seeds 256,
// 255...
template <typename SeededHash>
uint32_t SmhasherVerification(SeededHash hash) {
  std::string key;
  std::string hashes;
  for (uint32_t i = 0; i < 256; ++i) {
    const uint32_t value = hash(key, 256 - i);
    hashes.append(reinterpret_cast<const char*>(&value), sizeof(value));
    key.push_back(static_cast<char>(i));
  }
  return hash(hashes, 0);
}

TEST(Murmur2, HasTheVerificationValueOfSmhasher) { EXPECT_EQ(SmhasherVerification(Murmur2), 0x27864C1EU); }

TEST(Murmur2, IsTheHashFunctionWithSeedZero) {
  for (size_t size = 0; size <= 300; ++size) {
    EXPECT_EQ(HashBytes(Hash::kMurmur2_32, Bytes(size)), Murmur2(Bytes(size), 0)) << size;
  }
}

// Murmur3 byte by byte, as another way to compute it.
uint32_t Murmur3ByBytes(std::string_view bytes, uint32_t seed) {
  const auto rotate = [](uint32_t x, int by) { return x << by | x >> (32 - by); };
  uint32_t hash = seed;
  uint32_t block = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    block |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * (i % 4));
    const bool whole = i % 4 == 3;
    if (!whole && i + 1 < bytes.size()) continue;
    hash ^= rotate(block * 0xCC9E2D51, 15) * 0x1B873593;
    if (whole) hash = rotate(hash, 13) * 5 + 0xE6546B64;
    block = 0;
  }
  hash ^= static_cast<uint32_t>(bytes.size());
  hash = (hash ^ hash >> 16) * 0x85EBCA6B;
  hash = (hash ^ hash >> 13) * 0xC2B2AE35;
  return hash ^ hash >> 16;
}

uint32_t CrcByBits(std::string_view bytes, uint32_t polynomial, uint32_t start) {
  uint32_t crc = start;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
  }
  return crc;
}

uint16_t Crc16ByBits(std::string_view bytes) {
  uint32_t crc = 0;
  for (const char byte : bytes) {
    for (int bit = 7; bit >= 0; --bit) {
      const uint32_t in = static_cast<unsigned char>(byte) >> bit & 1;
      crc = crc << 1 ^ ((crc >> 15 & 1) != in ? 0x1021 : 0);
    }
  }
  return static_cast<uint16_t>(crc);
}

uint64_t DigestByEvp(std::string_view bytes, const EVP_MD* algorithm) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, algorithm, nullptr);
  uint64_t first = 0;
  for (size_t i = 8; i-- > 0;) first = first << 8 | digest[i];
  return first;
}

TEST(HashBytes, IsAtEveryLengthWhatAnotherWayComputes) {
  ASSERT_EQ(SmhasherVerification(Murmur3ByBytes), 0xB0F57EE3U) << "the other way is wrong";
  XXH64_state_t* xxh64 = XXH64_createState();
  XXH3_state_t* xxh3 = XXH3_createState();
  for (size_t size = 0; size <= 300; ++size) {
    const std::string bytes = Bytes(size);
    XXH64_reset(xxh64, 0);
    XXH3_64bits_reset(xxh3);
    for (const char& byte : bytes) {
      XXH64_update(xxh64, &byte, 1);
      XXH3_64bits_update(xxh3, &byte, 1);
    }
    EXPECT_EQ(HashBytes(Hash::kXxh3_64, bytes), XXH3_64bits_digest(xxh3)) << size;
    EXPECT_EQ(HashBytes(Hash::kXxh64, bytes), XXH64_digest(xxh64)) << size;
    EXPECT_EQ(HashBytes(Hash::kMurmur3_32, bytes), Murmur3ByBytes(bytes, 0)) << size;
    EXPECT_EQ(HashBytes(Hash::kCrc32, bytes), ~CrcByBits(bytes, 0xEDB88320, ~0U)) << size;
    EXPECT_EQ(HashBytes(Hash::kCrc16, bytes), Crc16ByBits(bytes)) << size;
    EXPECT_EQ(HashBytes(Hash::kMd5, bytes), DigestByEvp(bytes, EVP_md5())) << size;
    EXPECT_EQ(HashBytes(Hash::kSha1, bytes), DigestByEvp(bytes, EVP_sha1())) << size;
  }
  XXH64_freeState(xxh64);
  XXH3_freeState(xxh3);
}

// The articles' functions as Java computes them: an int wraps, >> keeps the sign, Math.abs leaves INT_MIN.
int32_t Wrap(int64_t value) { return static_cast<int32_t>(static_cast<uint32_t>(value)); }
int32_t ShiftLeft(int32_t value, int by) { return Wrap(int64_t{value} * (1LL << by)); }
int32_t Mix(int32_t hash) {
  hash = Wrap(int64_t{hash} + ShiftLeft(hash, 13));
  hash ^= hash >> 7;
  hash = Wrap(int64_t{hash} + ShiftLeft(hash, 3));
  hash ^= hash >> 17;
  return Wrap(int64_t{hash} + ShiftLeft(hash, 5));
}
uint32_t Abs(int32_t hash) { return static_cast<uint32_t>(hash < 0 ? Wrap(-int64_t{hash}) : hash); }

uint32_t JavaFnvClusterOf(std::u16string_view text) {
  int32_t hash = Wrap(2166136261);
  for (const char16_t unit : text) hash = Mix(hash ^ Wrap(int64_t{unit} * 16777618));
  return Abs(hash);
}

uint32_t JavaFnv1Of(std::u16string_view text) {
  int32_t hash = Wrap(2166136261);
  for (const char16_t unit : text) hash = Wrap(int64_t{hash ^ int32_t{unit}} * 16777619);
  return Abs(Mix(hash));
}

TEST(HashBytes, HashesUtf16UnitsWhereTheArticlesDo) {
  const std::vector<std::pair<std::string, std::u16string>> texts = {
      {"", u""},
      {"192.168.0.1", u"192.168.0.1"},
      {"订单:42", u"订单:42"},
      {"ключ é", u"ключ é"},
      {"\xEF\xBF\xBF", u"\xFFFF"},
      {"\xF0\x90\x80\x80", u"\xD800\xDC00"},
      {"🚀 and 🦎", u"🚀 and 🦎"},
      {"\xF4\x8F\xBF\xBF", u"\xDBFF\xDFFF"},
      {std::string("a\0b", 3), std::u16string(u"a\0b", 3)},
  };
  for (const auto& [utf8, utf16] : texts) {
    ASSERT_TRUE(CanHash(Hash::kJavaFnvCluster, utf8) && CanHash(Hash::kJavaFnv1, utf8)) << utf8;
    EXPECT_EQ(HashBytes(Hash::kJavaFnvCluster, utf8), JavaFnvClusterOf(utf16)) << utf8;
    EXPECT_EQ(HashBytes(Hash::kJavaFnv1, utf8), JavaFnv1Of(utf16)) << utf8;
  }
  for (int i = 0; i < 2000; ++i) {
    const std::string text = "key" + std::to_string(i);
    const std::u16string utf16(text.begin(), text.end());
    ASSERT_EQ(HashBytes(Hash::kJavaFnvCluster, text), JavaFnvClusterOf(utf16)) << text;
    ASSERT_EQ(HashBytes(Hash::kJavaFnv1, text), JavaFnv1Of(utf16)) << text;
  }
}

// B94's bytes, a surrogate and an overlong NUL: refused where characters are read, hashed by all others.
TEST(CanHash, RefusesInvalidUtf8WhereCharactersAreReadAndNowhereElse) {
  for (const std::string_view bytes : {"\xF0\x80", "\xC3\x28", "\xFF", "\xED\xA0\x80", "\xC0\x80", "ok\xE2\x82"}) {
    for (const HashFunction function : AllFunctions()) {
      const bool reads_characters = function == Hash::kJavaFnvCluster || function == Hash::kJavaFnv1;
      EXPECT_EQ(CanHash(function, bytes), !reads_characters) << static_cast<uint32_t>(function);
    }
  }
}

TEST(HashFunction, NumbersAreKnownFromOneToFourteen) {
  EXPECT_EQ(AllFunctions().size(), 14U);
  EXPECT_FALSE(IsKnown(HashFunction{0}));
  EXPECT_FALSE(IsKnown(HashFunction{15}));
  EXPECT_FALSE(IsKnown(HashFunction{99}));
}

TEST(CircleBits, HoldEveryHashAndNoMoreThanIsNeeded) {
  for (const HashFunction function : AllFunctions()) {
    uint64_t seen = 0;
    for (int i = 0; i < 1000; ++i) seen |= HashBytes(function, "key" + std::to_string(i));
    const bool java = function == Hash::kJavaFnvCluster || function == Hash::kJavaFnv1;
    EXPECT_EQ(seen >> (CircleBits(function) - (java ? 2 : 1)), 1U) << static_cast<uint32_t>(function);
  }
  EXPECT_EQ(CircleBits(HashFunction{0}), 0U);
}

// B35 (xroche/coucal#6): high bytes and any alignment must not matter.
TEST(HashBytes, IsTheSameAtEveryAlignment) {
  for (const HashFunction function : AllFunctions()) {
    for (size_t length = 1; length <= 33; ++length) {
      const bool any_bytes = CanHash(function, "\xFF");
      const std::string bytes = any_bytes ? std::string(length, '\xFF') : std::string(length, 'x');
      const uint64_t expected = HashBytes(function, bytes);
      for (size_t offset = 0; offset < 8; ++offset) {
        const std::string buffer = std::string(offset, 'x') + bytes + "y";
        EXPECT_EQ(HashBytes(function, std::string_view(buffer).substr(offset, length)), expected)
            << static_cast<uint32_t>(function) << ": " << length << " at " << offset;
      }
    }
  }
}

// B36 (redis/jedis#4685): keys are bytes; composed and decomposed forms are different keys, NUL is a byte like others.
TEST(HashBytes, HashesBytesAsTheyAre) {
  for (const HashFunction function : AllFunctions()) {
    EXPECT_NE(HashBytes(function, "\xC3\xA9"), HashBytes(function, "e\xCC\x81")) << static_cast<uint32_t>(function);
    EXPECT_NE(HashBytes(function, std::string_view("a\0b", 3)), HashBytes(function, "a"));
    EXPECT_NE(HashBytes(function, std::string_view("a\0b", 3)), HashBytes(function, std::string_view("a\0c", 3)));
    EXPECT_EQ(HashBytes(function, {}), HashBytes(function, "")) << "no buffer is an empty key";
  }
}

// B33 (cnblogs/EnyimMemcachedCore#208): nothing of one computation may be left for the next, on any thread.
TEST(HashBytes, IsTheSameOnEveryCallAndThread) {
  const auto all = [] {
    std::vector<uint64_t> hashes;
    for (const HashFunction function : AllFunctions()) {
      for (int i = 0; i < 100; ++i) hashes.push_back(HashBytes(function, "key-" + std::to_string(i)));
    }
    return hashes;
  };
  const std::vector<uint64_t> expected = all();
  std::array<std::vector<uint64_t>, 4> results;
  std::vector<std::thread> threads;
  for (auto& result : results) threads.emplace_back([&result, &all] { result = all(); });
  for (auto& thread : threads) thread.join();
  for (const auto& result : results) EXPECT_EQ(result, expected);
  EXPECT_EQ(all(), expected);
}

TEST(Tagged, IsWhatStandsBetweenTheFirstPairOfTheTag) {
  EXPECT_EQ(Tagged("{user:7}.a", "{}"), "user:7");
  EXPECT_EQ(Tagged("a{b}c{d}", "{}"), "b");
  EXPECT_EQ(Tagged("foo{{bar}}zap", "{}"), "{bar");
  EXPECT_EQ(Tagged("}{x}", "{}"), "x");
  EXPECT_EQ(Tagged("<x>{y}", "<>"), "x");
  EXPECT_EQ(Tagged("a$b$c$d$", "$$"), "b");
  EXPECT_EQ(Tagged(std::string_view("{\0}\xFF", 4), "{}"), std::string_view("\0", 1));
}

TEST(Tagged, IsTheWholeKeyWithoutATagInIt) {
  for (const std::string_view key : {"", "plain", "{unclosed", "unopened}", "}{", "x{}y", "a{}{b}c", "{", "}", "{}"}) {
    EXPECT_EQ(Tagged(key, "{}"), key);
  }
  EXPECT_EQ(Tagged("{a}b", ""), "{a}b");
}

TEST(CheckHashTag, TakesNoneOrTwoPrintableAsciiCharacters) {
  for (const std::string_view tag : {"", "{}", "<>", "$$", "  "}) EXPECT_TRUE(CheckHashTag(tag).ok()) << tag;
  for (const std::string_view tag : {"{", "{}}", "\n}", "{\x7F", "é", "«»"}) {
    EXPECT_EQ(CheckHashTag(tag).code(), absl::StatusCode::kInvalidArgument) << tag;
  }
  EXPECT_EQ(CheckHashTag("{").message(), "hash_tag \"{\" is not two printable ASCII characters, such as \"{}\"");
}

}  // namespace
}  // namespace ringd::ring
