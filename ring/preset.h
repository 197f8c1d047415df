// Presets: the rings that other programs and five articles run, point for point. Their settings, what each of them
// does, where its points are, and where it puts a key. Pure functions, any thread.
//
// Positions here are those of the original: 0..2^circle_bits-1. Where two nodes claim one position, both points are
// given, and SharedPoint says which of them the original goes by. `redis-cluster` has slots, no points.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "ring/hash.h"

namespace ringd::ring {

enum class PointMatch : uint32_t;  // of hashed_placement.h

// Numbers are those of ringd.v1.Preset.
enum class Preset : uint32_t {
  kJavaCrc32 = 1,
  kJavaCrc32Vn = 2,
  kJavaFnvCluster = 3,
  kMurmur3Weighted = 4,
  kJavaFnv1 = 5,
  kKetama = 6,
  kKetamaWeighted = 7,
  kTwemproxy = 8,
  kNginx = 9,
  kEnvoyRingHash = 10,
  kRedisCluster = 11,
};

// Who owns a position that several nodes have a point at.
enum class SharedPoint {
  kAnyNode,    // the original leaves it to an unstable sort, or cannot meet it
  kFirstNode,  // the node that comes first in its list
  kLastNode,   // the node that comes last in it
};

struct PresetTraits {
  Preset preset;
  std::string_view name;  // as users write it: "java-crc32"
  HashFunction hash;      // of keys; in twemproxy the default
  unsigned circle_bits;   // positions are 0..2^circle_bits-1; slots in redis-cluster
  PointMatch match;
  SharedPoint shared_point;
  bool weighted;      // false: every node with a weight above 0 has the same number of points
  bool renormalises;  // points of a node change with the weights and the number of other nodes
  bool reads_order;   // points depend on the order of the nodes, which in the original is that of its list
};

// All of them, in order of their numbers.
std::span<const PresetTraits> AllPresets();

// nullptr for a number or a name that is none.
const PresetTraits* FindPreset(Preset preset);
const PresetTraits* FindPreset(std::string_view name);

struct PresetSettings {
  Preset preset;
  HashFunction hash;     // of keys. That of the traits; in twemproxy one of several
  std::string hash_tag;  // twemproxy: empty or two characters; empty in the others, "{}" is a part of redis-cluster
  // Of envoy-ring-hash. The others keep the defaults.
  uint64_t minimum_ring_size = 1'024;
  uint64_t maximum_ring_size = 8'388'608;

  bool operator==(const PresetSettings&) const = default;
};

// The settings of a preset about which nothing else is said. REQUIRES FindPreset(preset).
PresetSettings DefaultsOf(Preset preset);

// The hash that nutcracker.yml calls by a name. nullopt for a name that is none, and for those of its hashes that are
// not served: one_at_a_time, crc32 (15 bits of CRC-32; the whole of it is crc32a), hsieh, jenkins.
std::optional<HashFunction> TwemproxyHash(std::string_view name);
// Those names.
std::vector<std::string_view> TwemproxyHashNames();

// INVALID_ARGUMENT for an unknown preset, a hash that the preset does not have, a tag where there is none, or ring
// sizes out of 1..8,388,608 or in the wrong order.
absl::Status CheckPreset(const PresetSettings& settings);

struct PresetNode {
  // The text that the original hashes for the node:
  // - the articles: the node's name
  // - ketama: "host:port" or "host"; as in libmemcached, ":11211" at its end is not hashed
  // - twemproxy: the server's name; "host:port" for a server without one, then without the port where it is 11211
  // - nginx: the address as it stands in the configuration: "host:port", "host" or "unix:/path"
  // - envoy-ring-hash: "address:port", or the host's hash_key or name where Envoy is told to hash that
  std::string_view hash_key;
  uint32_t weight;
};

// INVALID_ARGUMENT for a weight other than 0 and default_weight where the preset has no weights, and for a hash_key
// that the original cannot hash. REQUIRES CheckPreset(settings).
absl::Status CheckPresetNode(const PresetSettings& settings, const PresetNode& node, uint32_t default_weight);

// The exact number of points, without making them. REQUIRES CheckPreset(settings), CheckPresetNode for each node, and a
// preset that has points. Cost: one step a node.
uint64_t PresetPointCount(const PresetSettings& settings, std::span<const PresetNode> nodes);

// The points: position, and index of the node in `nodes`; node by node, in no order of position. A node of weight 0 is
// as if it were not there. REQUIRES as PresetPointCount, which says how much memory it takes.
std::vector<std::pair<uint64_t, uint32_t>> PresetPoints(const PresetSettings& settings,
                                                        std::span<const PresetNode> nodes);

// Where the original puts a key: its position, in redis-cluster its slot. The hash tag is looked at first. It is not
// always HashBytes: ketama takes half of it, and some of twemproxy's functions are its own for keys with high bytes.
// REQUIRES CheckPreset(settings) and CanHash(settings.hash, key).
uint64_t PresetKeyPosition(const PresetSettings& settings, std::string_view key);

}  // namespace ringd::ring
