#include "ring/checksum.h"

#include <xxhash.h>

#include <bit>
#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "ring/ring.h"

namespace ringd::ring {
namespace {

static_assert(std::endian::native == std::endian::little, "points and digests are hashed as they lie in memory");

constexpr uint32_t kHashedPlacement = 1;
constexpr uint32_t kPresetPlacement = 2;
constexpr uint32_t kSlotsPlacement = 3;
constexpr uint32_t kPointsPlacement = 4;

template <typename Number>
void AppendNumber(Number number, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

template <typename Enum>
void AppendEnum(Enum value, std::string& bytes) {
  AppendNumber(static_cast<uint32_t>(value), bytes);
}

void AppendString(std::string_view text, std::string& bytes) {
  AppendNumber(static_cast<uint32_t>(text.size()), bytes);
  bytes += text;
}

void Append(const HashedSettings& placement, std::string& bytes) {
  AppendNumber(kHashedPlacement, bytes);
  AppendEnum(placement.hash, bytes);
  AppendString(placement.label, bytes);
  AppendNumber(placement.points_per_weight, bytes);
  AppendEnum(placement.match, bytes);
  AppendEnum(placement.tie_rule, bytes);
  AppendString(placement.hash_tag, bytes);
}

void Append(const PresetSettings& placement, std::string& bytes) {
  AppendNumber(kPresetPlacement, bytes);
  AppendEnum(placement.preset, bytes);
  AppendEnum(placement.hash, bytes);
  AppendString(placement.hash_tag, bytes);
  AppendNumber(placement.minimum_ring_size, bytes);
  AppendNumber(placement.maximum_ring_size, bytes);
}

void Append(const SlotsSettings& placement, std::string& bytes) {
  AppendNumber(kSlotsPlacement, bytes);
  AppendNumber(placement.slot_bits, bytes);
  AppendNumber(placement.owners, bytes);
  AppendEnum(placement.hash, bytes);
  AppendString(placement.hash_tag, bytes);
}

void Append(const PointsSettings& placement, std::string& bytes) {
  AppendNumber(kPointsPlacement, bytes);
  AppendNumber(placement.last_position, bytes);
  AppendEnum(placement.match, bytes);
  AppendEnum(placement.tie_rule, bytes);
}

std::string Encode(const Settings& settings) {
  std::string bytes;
  std::visit([&](const auto& placement) { Append(placement, bytes); }, settings.placement);
  AppendNumber(settings.default_weight, bytes);
  return bytes;
}

}  // namespace

uint64_t NodeDigest(const Node& node, NodeOrder order) {
  std::string bytes;
  AppendString(node.id, bytes);
  AppendString(node.address, bytes);
  AppendNumber(node.weight, bytes);
  AppendString(node.zone, bytes);
  AppendString(node.hash_key, bytes);
  AppendNumber(static_cast<uint32_t>(node.metadata.size()), bytes);
  for (const auto& [key, value] : node.metadata) {
    AppendString(key, bytes);
    AppendString(value, bytes);
  }
  if (order != NodeOrder::kById) AppendNumber(node.join_number, bytes);
  if (!node.points.empty()) AppendNumber(uint64_t{node.points.size()}, bytes);
  for (const uint64_t point : node.points) AppendNumber(point, bytes);
  return XXH3_64bits(bytes.data(), bytes.size());
}

uint64_t RingChecksum(const Settings& settings, std::span<const uint64_t> digests, const PointTable& points,
                      const SlotTable* slots) {
  const std::unique_ptr<XXH3_state_t, decltype(&XXH3_freeState)> state(XXH3_createState(), &XXH3_freeState);
  XXH3_64bits_reset(state.get());
  const auto update = [&](const void* bytes, size_t size) { XXH3_64bits_update(state.get(), bytes, size); };

  const std::string head = Encode(settings);
  const auto update_list = [&](const auto& list) {
    const uint64_t count = list.size();
    update(&count, sizeof(count));
    update(list.data(), list.size_bytes());
  };
  update(head.data(), head.size());
  update_list(digests);
  if (slots != nullptr) {
    update_list(slots->places());
  } else {
    update_list(points.points());
  }
  return XXH3_64bits_digest(state.get());
}

}  // namespace ringd::ring
