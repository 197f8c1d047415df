#include "ring/preset.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "ring/error.h"
#include "ring/hashed_placement.h"

namespace ringd::ring {
namespace {

// Preset number n at n - 1.
constexpr std::array kPresets = {
    PresetTraits{.preset = Preset::kJavaCrc32,
                 .name = "java-crc32",
                 .hash = HashFunction::kCrc32,
                 .circle_bits = 32,
                 .match = PointMatch::kStrictlyAfter,
                 .shared_point = SharedPoint::kAnyNode},
    PresetTraits{.preset = Preset::kJavaCrc32Vn,
                 .name = "java-crc32-vn",
                 .hash = HashFunction::kCrc32,
                 .circle_bits = 32,
                 .match = PointMatch::kStrictlyAfter,
                 .shared_point = SharedPoint::kAnyNode},
    PresetTraits{.preset = Preset::kJavaFnvCluster,
                 .name = "java-fnv-cluster",
                 .hash = HashFunction::kJavaFnvCluster,
                 .circle_bits = 32,
                 .match = PointMatch::kAtOrAfter,
                 .shared_point = SharedPoint::kLastNode},
    PresetTraits{.preset = Preset::kMurmur3Weighted,
                 .name = "murmur3-weighted",
                 .hash = HashFunction::kMurmur3_32,
                 .circle_bits = 32,
                 .match = PointMatch::kAtOrAfter,
                 .shared_point = SharedPoint::kLastNode,
                 .weighted = true},
    PresetTraits{.preset = Preset::kJavaFnv1,
                 .name = "java-fnv1",
                 .hash = HashFunction::kJavaFnv1,
                 .circle_bits = 32,
                 .match = PointMatch::kAtOrAfter,
                 .shared_point = SharedPoint::kLastNode},
    // libmemcached sorts by position, then by place in the list; nginx and twemproxy by position alone, with a qsort
    // that in glibc keeps the order of the list.
    PresetTraits{.preset = Preset::kKetama,
                 .name = "ketama",
                 .hash = HashFunction::kMd5,
                 .circle_bits = 32,
                 .match = PointMatch::kAtOrAfter,
                 .shared_point = SharedPoint::kFirstNode},
    PresetTraits{.preset = Preset::kKetamaWeighted,
                 .name = "ketama-weighted",
                 .hash = HashFunction::kMd5,
                 .circle_bits = 32,
                 .match = PointMatch::kAtOrAfter,
                 .shared_point = SharedPoint::kFirstNode,
                 .weighted = true,
                 .renormalises = true},
    PresetTraits{.preset = Preset::kTwemproxy,
                 .name = "twemproxy",
                 .hash = HashFunction::kFnv1a_64,
                 .circle_bits = 32,
                 .match = PointMatch::kAtOrAfter,
                 .shared_point = SharedPoint::kFirstNode,
                 .weighted = true,
                 .renormalises = true},
    PresetTraits{.preset = Preset::kNginx,
                 .name = "nginx",
                 .hash = HashFunction::kCrc32,
                 .circle_bits = 32,
                 .match = PointMatch::kAtOrAfter,
                 .shared_point = SharedPoint::kFirstNode,
                 .weighted = true},
    PresetTraits{.preset = Preset::kEnvoyRingHash,
                 .name = "envoy-ring-hash",
                 .hash = HashFunction::kXxh64,
                 .circle_bits = 64,
                 .match = PointMatch::kAtOrAfter,
                 .shared_point = SharedPoint::kAnyNode,
                 .weighted = true,
                 .renormalises = true,
                 .reads_order = true},
    PresetTraits{.preset = Preset::kRedisCluster,
                 .name = "redis-cluster",
                 .hash = HashFunction::kCrc16,
                 .circle_bits = 14,
                 .match = PointMatch::kAtOrAfter,
                 .shared_point = SharedPoint::kAnyNode},
};

struct NamedHash {
  std::string_view name;
  HashFunction hash;
};
constexpr std::array kTwemproxyHashes = {
    NamedHash{"md5", HashFunction::kMd5},           NamedHash{"crc16", HashFunction::kCrc16},
    NamedHash{"crc32a", HashFunction::kCrc32},      NamedHash{"fnv1_64", HashFunction::kFnv1_64},
    NamedHash{"fnv1a_64", HashFunction::kFnv1a_64}, NamedHash{"fnv1_32", HashFunction::kFnv1_32},
    NamedHash{"fnv1a_32", HashFunction::kFnv1a_32}, NamedHash{"murmur", HashFunction::kMurmur2_32},
};

constexpr uint64_t kMaxRingSize = 8'388'608;

// nutcracker writes name, '-' and index into 85 bytes. A ring of our limits has indices of up to 6 digits.
constexpr size_t kMaxTwemproxyName = 85 - 1 - 6;

// The FNV functions of twemproxy have 32 bits, the 64-bit ones with the low halves of their numbers, and add bytes as
// signed numbers, as char is on x86.
struct TwemproxyFnv {
  uint32_t basis;
  uint32_t prime;
};
constexpr TwemproxyFnv kFnv32 = {2'166'136'261, 16'777'619};
constexpr TwemproxyFnv kFnv64 = {0x84222325, 0x1B3};

uint32_t SignedByte(char c) { return static_cast<uint32_t>(int32_t{static_cast<signed char>(c)}); }

uint32_t TwemproxyFnv1(std::string_view bytes, TwemproxyFnv numbers) {
  uint32_t hash = numbers.basis;
  for (const char c : bytes) hash = (hash * numbers.prime) ^ SignedByte(c);
  return hash;
}

uint32_t TwemproxyFnv1a(std::string_view bytes, TwemproxyFnv numbers) {
  uint32_t hash = numbers.basis;
  for (const char c : bytes) hash = (hash ^ SignedByte(c)) * numbers.prime;
  return hash;
}

// CRC-16 in 32 bits that are never cut: above the CRC stand the high bytes of the CRCs before the last byte and before
// the last two.
uint32_t TwemproxyCrc16(std::string_view bytes) {
  const auto crc_without = [bytes](size_t last) {
    const std::string_view prefix = bytes.substr(0, bytes.size() - std::min(last, bytes.size()));
    return static_cast<uint32_t>(HashBytes(HashFunction::kCrc16, prefix));
  };
  return crc_without(0) | (crc_without(1) >> 8) << 16 | (crc_without(2) >> 8) << 24;
}

uint32_t TwemproxyKeyHash(HashFunction hash, std::string_view key) {
  switch (hash) {
    case HashFunction::kFnv1_32:
      return TwemproxyFnv1(key, kFnv32);
    case HashFunction::kFnv1a_32:
      return TwemproxyFnv1a(key, kFnv32);
    case HashFunction::kFnv1_64:
      return TwemproxyFnv1(key, kFnv64);
    case HashFunction::kFnv1a_64:
      return TwemproxyFnv1a(key, kFnv64);
    case HashFunction::kCrc16:
      return TwemproxyCrc16(key);
    case HashFunction::kMurmur2_32:
      return Murmur2(key, 0xDEADBEEF * static_cast<uint32_t>(key.size()));
    default:
      return static_cast<uint32_t>(HashBytes(hash, key));
  }
}

bool HasHash(const PresetTraits& traits, HashFunction hash) {
  if (traits.preset != Preset::kTwemproxy) return hash == traits.hash;
  return std::any_of(kTwemproxyHashes.begin(), kTwemproxyHashes.end(),
                     [&](const NamedHash& named) { return named.hash == hash; });
}

absl::Status CheckRingSizes(const PresetSettings& settings) {
  const std::string minimum = std::to_string(settings.minimum_ring_size);
  const std::string maximum = std::to_string(settings.maximum_ring_size);
  for (const auto& [name, size] : {std::pair("minimum_ring_size", settings.minimum_ring_size),
                                   std::pair("maximum_ring_size", settings.maximum_ring_size)}) {
    if (size < 1 || size > kMaxRingSize) {
      return InvalidField(std::string(name) + " " + std::to_string(size) + " is out of 1.." +
                          std::to_string(kMaxRingSize));
    }
  }
  if (settings.minimum_ring_size > settings.maximum_ring_size) {
    return InvalidField("minimum_ring_size " + minimum + " is above maximum_ring_size " + maximum);
  }
  return absl::OkStatus();
}

}  // namespace

std::span<const PresetTraits> AllPresets() { return kPresets; }

const PresetTraits* FindPreset(Preset preset) {
  const size_t index = static_cast<uint32_t>(preset) - size_t{1};  // 0 becomes a number above all
  return index < kPresets.size() ? &kPresets[index] : nullptr;
}

const PresetTraits* FindPreset(std::string_view name) {
  for (const PresetTraits& traits : kPresets) {
    if (traits.name == name) return &traits;
  }
  return nullptr;
}

PresetSettings DefaultsOf(Preset preset) { return {.preset = preset, .hash = FindPreset(preset)->hash}; }

std::optional<HashFunction> TwemproxyHash(std::string_view name) {
  for (const NamedHash& named : kTwemproxyHashes) {
    if (named.name == name) return named.hash;
  }
  return std::nullopt;
}

std::vector<std::string_view> TwemproxyHashNames() {
  std::vector<std::string_view> names;
  for (const NamedHash& named : kTwemproxyHashes) names.push_back(named.name);
  return names;
}

absl::Status CheckPreset(const PresetSettings& settings) {
  const PresetTraits* traits = FindPreset(settings.preset);
  if (traits == nullptr) {
    return InvalidField("preset " + std::to_string(static_cast<uint32_t>(settings.preset)) + " is unknown");
  }
  const std::string preset = "preset " + std::string(traits->name);
  if (!HasHash(*traits, settings.hash)) {
    return InvalidField(preset + " does not hash keys by function " +
                        std::to_string(static_cast<uint32_t>(settings.hash)));
  }
  if (traits->preset != Preset::kTwemproxy && !settings.hash_tag.empty()) {
    return InvalidField(preset + " takes no hash_tag, " + Quote(settings.hash_tag) + " was given");
  }
  if (absl::Status status = CheckHashTag(settings.hash_tag); !status.ok()) return status;
  if (traits->preset == Preset::kEnvoyRingHash) return CheckRingSizes(settings);
  const PresetSettings defaults = DefaultsOf(settings.preset);
  if (settings.minimum_ring_size != defaults.minimum_ring_size ||
      settings.maximum_ring_size != defaults.maximum_ring_size) {
    return InvalidField(preset + " takes no ring sizes");
  }
  return absl::OkStatus();
}

absl::Status CheckPresetNode(const PresetSettings& settings, const PresetNode& node, uint32_t default_weight) {
  const PresetTraits& traits = *FindPreset(settings.preset);
  const std::string preset = "preset " + std::string(traits.name);
  if (!traits.weighted && node.weight != 0 && node.weight != default_weight) {
    return InvalidField(preset + " has no weights: weight " + std::to_string(node.weight) + " is neither 0 nor " +
                        std::to_string(default_weight));
  }
  if (traits.preset == Preset::kTwemproxy && node.hash_key.size() > kMaxTwemproxyName) {
    return InvalidField(preset + " takes a hash_key of at most " + std::to_string(kMaxTwemproxyName) +
                        " bytes, as twemproxy does: " + Quote(node.hash_key) + " has " +
                        std::to_string(node.hash_key.size()));
  }
  return absl::OkStatus();
}

uint64_t PresetKeyPosition(const PresetSettings& settings, std::string_view key) {
  if (settings.preset == Preset::kTwemproxy) return TwemproxyKeyHash(settings.hash, Tagged(key, settings.hash_tag));
  if (settings.preset == Preset::kRedisCluster) key = Tagged(key, "{}");
  const unsigned bits = FindPreset(settings.preset)->circle_bits;
  return HashBytes(settings.hash, key) & (UINT64_MAX >> (64 - bits));
}

}  // namespace ringd::ring
