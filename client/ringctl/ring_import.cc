#include "client/ringctl/ring_import.h"

#include <fmt/format.h>

#include <sstream>
#include <utility>

#include "client/ringctl/nginx_file.h"
#include "client/ringctl/node_list.h"
#include "client/ringctl/nutcracker_file.h"
#include "client/ringctl/redis_cluster_file.h"
#include "client/ringctl/ring_export.h"

namespace ringd::ctl {
namespace {

constexpr char kNutcracker[] = "nutcracker";
constexpr char kNginx[] = "nginx";
constexpr char kList[] = "list";
constexpr char kJson[] = "json";
constexpr char kRedis[] = "redis";

absl::StatusOr<ImportedRing> ParseFile(const RingImportOptions& options, const std::string& format,
                                       const std::string& file, const std::string& content) {
  if (format == kNutcracker) return ParseNutcrackerFile(file, content, options.pool);
  if (format == kNginx) return ParseNginxFile(file, content, options.upstream);
  if (format == kJson) return ParseRingExport(file, content);
  if (format == kRedis) return ParseRedisCluster(file, content);
  return ParseNodeList(file, content);
}

absl::Status CheckOptions(const RingImportOptions& options, const std::string& format, const std::string& file) {
  const auto wrong = [&](std::string_view text) {
    return absl::InvalidArgumentError(fmt::format(
        "{}{}", text,
        options.format.empty() ? fmt::format(": {} was taken for {}; --format says what it is", file, format) : ""));
  };
  if (!options.pool.empty() && format != kNutcracker) return wrong("--pool is for a nutcracker.yml");
  if (!options.upstream.empty() && format != kNginx) return wrong("--upstream is for a configuration of nginx");
  const bool names_placement = options.ring.placement != PlacementOptions();
  if (names_placement && format != kList) return wrong("the file says which placement it is, no flag does");
  if (!names_placement && format == kList) return wrong("a list needs --preset, or the flags of a placement");
  return absl::OkStatus();
}

}  // namespace

std::vector<std::string> ImportFormatNames() { return {kNutcracker, kNginx, kList, kJson, kRedis}; }

std::string ImportFormatOf(const std::string& content) {
  std::istringstream stream(content);
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string first;
    if (!(words >> first) || first.front() == '#') continue;
    if (first.front() == '{') return kJson;
    std::string more;
    const bool number_alone = first.find_first_not_of("0123456789") == std::string::npos && !(words >> more);
    if (LooksLikeClusterNodes(line) || first == "1)" || number_alone) return kRedis;
    if (first.ends_with(':') || first == "---") return kNutcracker;
    const bool nginx = first == "upstream" || line.find_first_of(";{") != std::string::npos;
    return nginx ? kNginx : kList;
  }
  return kList;
}

absl::StatusOr<ImportedRing> ParseImport(const RingImportOptions& options, const std::string& file,
                                         const std::string& content) {
  if (options.format.empty() && content.starts_with("version:")) {
    return absl::InvalidArgumentError(
        fmt::format("{}: an export in YAML; what is imported is that of `ringctl ring get -o json`", file));
  }
  const std::string format = options.format.empty() ? ImportFormatOf(content) : options.format;
  if (absl::Status status = CheckOptions(options, format, file); !status.ok()) return status;
  absl::StatusOr<ImportedRing> ring = ParseFile(options, format, file, content);
  if (!ring.ok()) return ring.status();
  if (format == kList) {
    absl::StatusOr<v1::Placement> placement = PlacementOf(options.ring.placement);
    if (!placement.ok()) return placement.status();
    *ring->settings.mutable_placement() = *std::move(placement);
  }
  if (options.ring.default_weight) ring->settings.set_default_weight(*options.ring.default_weight);
  for (const auto& [key, value] : options.ring.labels) (*ring->settings.mutable_labels())[key] = value;
  return ring;
}

}  // namespace ringd::ctl
