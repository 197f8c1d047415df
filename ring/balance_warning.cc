#include "ring/balance_warning.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "ring/error.h"

namespace ringd::ring {
namespace {

constexpr int kSampleNodes = 10;
constexpr uint64_t kMaxSamplePoints = 200'000;
// What is told whatever chance would do.
constexpr double kMostOften = 2;
constexpr double kLeastOften = 0.25;
// With fewer slots a node, rounding shows.
constexpr size_t kLeastSlotsOfNode = 100;
constexpr size_t kMostNamed = 10;

// How far the share of a node of so many points strays from what is expected, where points lie at random: the
// deviation of one node is 1 / sqrt(points), and the largest of n nodes is about sqrt(2 ln n) times that. One more
// deviation leaves room for bad luck.
double Chance(double points, size_t nodes) {
  return (std::sqrt(2 * std::log(static_cast<double>(nodes))) + 1) / std::sqrt(points);
}

size_t WeightedNodes(const NodeTable& table) {
  return static_cast<size_t>(
      std::count_if(table.nodes.begin(), table.nodes.end(), [](const NodePtr& node) { return node->weight > 0; }));
}

// "" where all is well.
std::string PointsWarning(const Ring& ring) {
  const NodeTable& table = *ring.table();
  const size_t weighted = WeightedNodes(table);
  if (weighted < 2) return "";

  struct Extreme {
    size_t node = 0;
    double ratio = 1;
    bool told = false;
  };
  Extreme most;
  Extreme least;
  for (size_t i = 0; i < table.nodes.size(); ++i) {
    if (table.nodes[i]->weight == 0) continue;
    const double expected = table.ExpectedShareOf(i);
    const double ratio = table.ShareOf(i) / expected;
    const double chance = Chance(expected * static_cast<double>(ring.point_count()), weighted);
    if (ratio > most.ratio && ratio > std::min(1 + chance, kMostOften)) most = {i, ratio, true};
    if (ratio < least.ratio && ratio < std::max(1 - chance, kLeastOften)) least = {i, ratio, true};
  }
  const auto text = [&](const Extreme& extreme) {
    return fmt::format("node {} has {:.2f} times its share of the keys", Quote(table.nodes[extreme.node]->id),
                       extreme.ratio);
  };
  if (most.told && least.told) return text(most) + ", " + text(least);
  if (most.told) return text(most);
  return least.told ? text(least) : "";
}

std::vector<std::string> SlotsWarnings(const Ring& ring) {
  const NodeTable& table = *ring.table();
  const size_t slots = ring.slots()->slot_count();
  std::vector<std::string> warnings;
  size_t without = 0;
  std::string named;
  for (size_t i = 0; i < table.nodes.size(); ++i) {
    if (table.nodes[i]->weight == 0 || table.arcs[i] != 0) continue;
    if (++without <= kMostNamed) named += (named.empty() ? "" : ", ") + Quote(table.nodes[i]->id);
  }
  if (without > kMostNamed) named += ", ...";
  const bool imported = IsImported(ring.settings().placement);
  if (without != 0) {
    warnings.push_back(fmt::format(
        "{} of weight > 0 {} none of {} slots{}: {}", without == 1 ? "1 node" : fmt::format("{} nodes", without),
        without == 1 ? "owns" : "own", slots, imported ? "" : ", since the share is below one", named));
  }
  if (imported) return warnings;
  if (const size_t weighted = WeightedNodes(table); weighted * kLeastSlotsOfNode > slots) {
    warnings.push_back(fmt::format("{} nodes share {} slots, fewer than {} each: shares may be more than 1 % off",
                                   weighted, slots, kLeastSlotsOfNode));
  }
  return warnings;
}

}  // namespace

std::vector<std::string> BalanceWarnings(const Ring& ring) {
  if (ring.slots() != nullptr) return SlotsWarnings(ring);
  std::string warning = PointsWarning(ring);
  if (warning.empty()) return {};
  return {std::move(warning)};
}

std::vector<std::string> BalanceWarnings(const Settings& settings) {
  const bool told = std::holds_alternative<PointsSettings>(settings.placement);
  if (told || SlotShapeOf(settings.placement)) return {};
  std::vector<Node> nodes;
  for (int i = 0; i < kSampleNodes; ++i) {
    Node node{.id = fmt::format("node-{}", i), .weight = settings.default_weight};
    node.hash_key = node.id;
    node.join_number = static_cast<uint64_t>(i) + 1;
    nodes.push_back(std::move(node));
  }
  const auto sample = Ring::Create(settings, std::move(nodes), kSampleNodes + 1, {.max_points = kMaxSamplePoints});
  if (!sample.ok()) return {};
  std::vector<std::string> warnings = BalanceWarnings(*sample);
  for (std::string& warning : warnings) {
    warning = fmt::format("of ten nodes of weight {}, {}", settings.default_weight, warning);
  }
  return warnings;
}

}  // namespace ringd::ring
