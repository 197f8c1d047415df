#include <zlib.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "ring/label.h"
#include "ring/preset.h"

namespace ringd::ring {
namespace {

// MD5 gives the ketama rings four points a digest.
constexpr uint64_t kPointsPerDigest = 4;

std::string_view LabelOf(Preset preset) {
  switch (preset) {
    case Preset::kJavaCrc32:
      return "{key}";
    case Preset::kJavaCrc32Vn:
      return "{key}&&VN{index}";
    case Preset::kJavaFnvCluster:
    case Preset::kMurmur3Weighted:
      return "{key}{index}";
    case Preset::kJavaFnv1:
      return "{key}VN{index}";
    case Preset::kEnvoyRingHash:
      return "{key}_{index}";
    default:
      return "{key}-{index}";
  }
}

// Number of points, node by node, where each has the same.
std::vector<uint64_t> EqualCounts(std::span<const PresetNode> nodes, uint64_t points) {
  std::vector<uint64_t> counts;
  for (const PresetNode& node : nodes) counts.push_back(node.weight > 0 ? points : 0);
  return counts;
}

std::vector<uint64_t> WeightedCounts(std::span<const PresetNode> nodes, uint64_t points_per_weight) {
  std::vector<uint64_t> counts;
  for (const PresetNode& node : nodes) counts.push_back(node.weight * points_per_weight);
  return counts;
}

// As update_continuum of libmemcached's hosts.cc and ketama_update of twemproxy's nc_ketama.c: 160 points a node,
// shared out by weight and rounded down to whole digests. Both compute with floats, and their rounding is part of the
// ring: of equal nodes, too, some counts of nodes give 39 digests each. (Both also add 1e-10, which changes no float
// above 0.01.)
std::vector<uint64_t> KetamaCounts(std::span<const PresetNode> nodes) {
  constexpr float kPoints = 160;
  constexpr float kDigestPoints = 4;
  uint64_t total_weight = 0;
  uint64_t live = 0;
  for (const PresetNode& node : nodes) {
    total_weight += node.weight;
    live += node.weight > 0;
  }
  std::vector<uint64_t> counts;
  for (const PresetNode& node : nodes) {
    const float part = static_cast<float>(node.weight) / static_cast<float>(total_weight);
    const float digests = part * kPoints / kDigestPoints * static_cast<float>(live);
    counts.push_back(node.weight > 0 ? static_cast<uint64_t>(digests) * kPointsPerDigest : 0);
  }
  return counts;
}

// As the constructor of Ring in Envoy's ring_hash_lb.cc: the ring is scaled so that the lightest node has a whole
// number of points, and running sums in doubles decide who gets the fractions of the others.
std::vector<uint64_t> EnvoyCounts(const PresetSettings& settings, std::span<const PresetNode> nodes) {
  uint64_t total_weight = 0;
  for (const PresetNode& node : nodes) total_weight += node.weight;
  const auto part = [&](const PresetNode& node) {
    return static_cast<double>(node.weight) / static_cast<double>(total_weight);
  };
  double least_part = 1;
  for (const PresetNode& node : nodes) {
    if (node.weight > 0) least_part = std::min(least_part, part(node));
  }
  const double scale = std::min(std::ceil(least_part * static_cast<double>(settings.minimum_ring_size)) / least_part,
                                static_cast<double>(settings.maximum_ring_size));
  std::vector<uint64_t> counts;
  double points = 0;
  double target = 0;
  for (const PresetNode& node : nodes) {
    double count = 0;
    if (node.weight > 0) {
      const double more = scale * part(node);
      target += more;
      count = std::max(0.0, std::ceil(target) - points);
    }
    points += count;
    counts.push_back(static_cast<uint64_t>(count));
  }
  return counts;
}

// Number of points, node by node.
std::vector<uint64_t> PointCounts(const PresetSettings& settings, std::span<const PresetNode> nodes) {
  switch (settings.preset) {
    case Preset::kJavaCrc32:
      return EqualCounts(nodes, 1);
    case Preset::kJavaCrc32Vn:
      return EqualCounts(nodes, 5);
    case Preset::kJavaFnvCluster:
    case Preset::kKetama:
      return EqualCounts(nodes, 100);
    case Preset::kJavaFnv1:
      return EqualCounts(nodes, 160);
    case Preset::kMurmur3Weighted:
    case Preset::kNginx:
      return WeightedCounts(nodes, 160);
    case Preset::kKetamaWeighted:
    case Preset::kTwemproxy:
      return KetamaCounts(nodes);
    case Preset::kEnvoyRingHash:
      return EnvoyCounts(settings, nodes);
    case Preset::kRedisCluster:
      break;
  }
  return EqualCounts(nodes, 0);
}

uint32_t AppendToCrc32(uint32_t crc, std::string_view bytes) {
  if (bytes.empty()) return crc;  // zlib takes a null pointer for: begin anew
  return static_cast<uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

bool IsUnixSocket(std::string_view server) {
  constexpr std::string_view kUnix = "unix:";
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b; };
  return server.size() >= kUnix.size() &&
         std::equal(server.begin(), server.begin() + kUnix.size(), kUnix.begin(), same);
}

// CRC-32 of host, NUL and port, as nginx takes its servers apart: the port is what follows the last colon, if that is
// nothing but digits; a unix socket has none.
uint32_t NginxServerCrc(std::string_view server) {
  std::string_view host = server;
  std::string_view port;
  const size_t colon = server.find_last_not_of("0123456789");
  if (IsUnixSocket(server)) {
    host = server.substr(server.find(':') + 1);
  } else if (colon != std::string_view::npos && server[colon] == ':') {
    host = server.substr(0, colon);
    port = server.substr(colon + 1);
  }
  return AppendToCrc32(AppendToCrc32(AppendToCrc32(0, host), std::string_view("", 1)), port);
}

// As ngx_http_upstream_init_chash: each point is the CRC-32 of host, NUL, port, and the point before it. nginx keeps
// one of the points at a position, the first; the others own nothing here either.
template <typename Add>
void ForEachNginxPoint(std::string_view server, uint64_t count, Add add) {
  const uint32_t base = NginxServerCrc(server);
  uint32_t point = 0;
  for (uint64_t i = 0; i < count; ++i) {
    const std::array<char, 4> bytes = {static_cast<char>(point), static_cast<char>(point >> 8),
                                       static_cast<char>(point >> 16), static_cast<char>(point >> 24)};
    point = AppendToCrc32(base, std::string_view(bytes.data(), bytes.size()));
    add(point);
  }
}

template <typename Add>
void ForEachDigestPoint(NodeLabels& labels, uint64_t count, Add add) {
  for (uint64_t digest = 0; digest < count / kPointsPerDigest; ++digest) {
    for (const uint32_t word : Md5Words(labels.At(digest))) add(word);
  }
}

// libmemcached leaves its default port out.
std::string_view HashedName(Preset preset, std::string_view hash_key) {
  constexpr std::string_view kDefaultPort = ":11211";
  const bool ketama = preset == Preset::kKetama || preset == Preset::kKetamaWeighted;
  if (ketama && hash_key.size() > kDefaultPort.size() && hash_key.ends_with(kDefaultPort)) {
    hash_key.remove_suffix(kDefaultPort.size());
  }
  return hash_key;
}

template <typename Add>
void ForEachPoint(const PresetSettings& settings, const LabelTemplate& label, std::string_view hash_key, uint64_t count,
                  Add add) {
  NodeLabels labels(label, HashedName(settings.preset, hash_key));
  switch (settings.preset) {
    case Preset::kNginx:
      ForEachNginxPoint(hash_key, count, add);
      break;
    case Preset::kKetamaWeighted:
    case Preset::kTwemproxy:
      ForEachDigestPoint(labels, count, add);
      break;
    default:  // the others hash labels as they hash keys
      for (uint64_t i = 0; i < count; ++i) add(PresetKeyPosition(settings, labels.At(i)));
  }
}

}  // namespace

uint64_t PresetPointCount(const PresetSettings& settings, std::span<const PresetNode> nodes) {
  uint64_t sum = 0;
  for (const uint64_t count : PointCounts(settings, nodes)) sum += count;
  return sum;
}

std::vector<std::pair<uint64_t, uint32_t>> PresetPoints(const PresetSettings& settings,
                                                        std::span<const PresetNode> nodes) {
  const LabelTemplate label(LabelOf(settings.preset));
  const std::vector<uint64_t> counts = PointCounts(settings, nodes);
  std::vector<std::pair<uint64_t, uint32_t>> points;
  points.reserve(PresetPointCount(settings, nodes));
  for (uint32_t node = 0; node < nodes.size(); ++node) {
    ForEachPoint(settings, label, nodes[node].hash_key, counts[node],
                 [&](uint64_t position) { points.emplace_back(position, node); });
  }
  return points;
}

}  // namespace ringd::ring
