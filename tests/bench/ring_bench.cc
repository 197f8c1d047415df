// What a local lookup costs beside hashing the key, and a change beside a linear merge of the points.
//
// Lookup: 100 nodes x 160 points, keys user:0 .. user:999999. Read items_per_second: BM_Lookup against BM_HashOnly
// (goal: at least 1 / 2.5 of it), against BM_LookupStdMap (goal: at least 8 times as much) and against
// BM_LookupLibmemcached (goal: at least 20 times as much). Change: one node more on 10,000 nodes x 160 points.
// BM_ApplyAddNode against BM_LinearMerge (goal: at most 3 times as long). Run with --benchmark_repetitions=5
// --benchmark_report_aggregates_only on an idle machine.
#include <benchmark/benchmark.h>
#include <libmemcached/memcached.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ring/label.h"
#include "ring/movement.h"
#include "ring/ring.h"

namespace ringd::ring {
namespace {

constexpr int kKeys = 1'000'000;
constexpr uint32_t kPointsPerNode = 160;

const std::vector<std::string>& Keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> made;
    for (int k = 0; k < kKeys; ++k) made.push_back("user:" + std::to_string(k));
    return made;
  }();
  return keys;
}

std::vector<Node> Nodes(int count) {
  std::vector<Node> nodes;
  for (int i = 0; i < count; ++i) {
    Node node;
    node.id = node.hash_key = "node-" + std::to_string(i);
    node.weight = 1;
    nodes.push_back(std::move(node));
  }
  return nodes;
}

const Settings kSettings{.placement = HashedSettings{.points_per_weight = kPointsPerNode}, .default_weight = 1};

Ring MakeRing(int nodes) { return *Ring::Create(kSettings, Nodes(nodes)); }

// The least that the points of a node cost.
void AppendPoints(const std::string& id, uint32_t node, std::vector<Point>& points) {
  NodeLabels labels(LabelTemplate(kDefaultLabel), id);
  for (uint32_t i = 0; i < kPointsPerNode; ++i) points.emplace_back(HashKey(labels.At(i)), node);
}

// The points as (position, node) pairs, as other rings keep them.
std::vector<std::pair<uint64_t, uint32_t>> Pairs(const Ring& ring) {
  std::vector<std::pair<uint64_t, uint32_t>> pairs;
  for (const Point& point : ring.points().points()) pairs.emplace_back(point.position(), point.node());
  return pairs;
}

// Looks up all keys in turn; `owner` maps a key to a number.
template <typename OwnerOf>
void ForEachKey(benchmark::State& state, OwnerOf owner) {
  const std::vector<std::string>& keys = Keys();
  for (auto _ : state) {
    uint64_t sum = 0;
    for (const std::string& key : keys) sum += owner(key);
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * kKeys);
}

void BM_HashOnly(benchmark::State& state) {
  ForEachKey(state, [](const std::string& key) { return HashKey(key); });
}
BENCHMARK(BM_HashOnly)->Unit(benchmark::kMillisecond);

void BM_Lookup(benchmark::State& state) {
  const Ring ring = MakeRing(100);
  ForEachKey(state, [&](const std::string& key) { return ring.Owner(ring.Position(key)); });
}
BENCHMARK(BM_Lookup)->Unit(benchmark::kMillisecond);

// The hash that libmemcached has for its rings.
void BM_LookupMd5(benchmark::State& state) {
  Settings settings = kSettings;
  std::get<HashedSettings>(settings.placement).hash = HashFunction::kMd5;
  const Ring ring = *Ring::Create(settings, Nodes(100));
  ForEachKey(state, [&](const std::string& key) { return ring.Owner(ring.Position(key)); });
}
BENCHMARK(BM_LookupMd5)->Unit(benchmark::kMillisecond);

// As many points: weighted ketama, servers of one weight. It asks no server.
void BM_LookupLibmemcached(benchmark::State& state) {
  const std::unique_ptr<memcached_st, decltype(&memcached_free)> memc(memcached_create(nullptr), memcached_free);
  bool made = memcached_behavior_set(memc.get(), MEMCACHED_BEHAVIOR_KETAMA_WEIGHTED, 1) == MEMCACHED_SUCCESS;
  for (const Node& node : Nodes(100)) {
    made = made && memcached_server_add_with_weight(memc.get(), node.id.c_str(), 7000, 1) == MEMCACHED_SUCCESS;
  }
  if (!made) state.SkipWithError("libmemcached makes no ring");
  ForEachKey(state,
             [&](const std::string& key) { return memcached_generate_hash(memc.get(), key.data(), key.size()); });
}
BENCHMARK(BM_LookupLibmemcached)->Unit(benchmark::kMillisecond);

Ring MakeSlots(int nodes) { return *Ring::Create({.placement = SlotsSettings{}, .default_weight = 1}, Nodes(nodes)); }

void BM_LookupSlots(benchmark::State& state) {
  const Ring ring = MakeSlots(100);
  ForEachKey(state, [&](const std::string& key) { return ring.Owner(ring.Position(key)); });
}
BENCHMARK(BM_LookupSlots)->Unit(benchmark::kMillisecond);

void BM_LookupThreeOwners(benchmark::State& state) {
  const Ring ring = MakeRing(100);
  ForEachKey(state, [&](const std::string& key) {
    std::array<uint32_t, 3> owners;
    ring.Owners(ring.Position(key), owners);
    return owners[2];
  });
}
BENCHMARK(BM_LookupThreeOwners)->Unit(benchmark::kMillisecond);

// A balanced tree, as most hand-written rings have it.
void BM_LookupStdMap(benchmark::State& state) {
  const auto pairs = Pairs(MakeRing(100));
  const std::map<uint64_t, uint32_t> points(pairs.begin(), pairs.end());
  ForEachKey(state, [&](const std::string& key) {
    const auto found = points.lower_bound(HashKey(key));
    return found != points.end() ? found->second : points.begin()->second;
  });
}
BENCHMARK(BM_LookupStdMap)->Unit(benchmark::kMillisecond);

void BM_LookupBinarySearch(benchmark::State& state) {
  const auto points = Pairs(MakeRing(100));
  ForEachKey(state, [&](const std::string& key) {
    const auto found = std::lower_bound(points.begin(), points.end(), std::pair(HashKey(key), uint32_t{0}));
    return found != points.end() ? found->second : points.front().second;
  });
}
BENCHMARK(BM_LookupBinarySearch)->Unit(benchmark::kMillisecond);

// A plain scan of the sorted list; too slow for all keys.
void BM_LookupScan(benchmark::State& state) {
  const auto points = Pairs(MakeRing(100));
  const std::vector<std::string>& keys = Keys();
  size_t next = 0;
  for (auto _ : state) {
    const uint64_t position = HashKey(keys[next++ % keys.size()]);
    const auto found =
        std::find_if(points.begin(), points.end(), [&](const auto& point) { return point.first >= position; });
    benchmark::DoNotOptimize(found != points.end() ? found->second : points.front().second);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_LookupScan);

constexpr int kManyNodes = 10'000;

void BM_ApplyAddNode(benchmark::State& state) {
  const Ring ring = MakeRing(kManyNodes);
  AddNode add;
  add.node.id = "new";
  add.node.weight = 1;
  const std::vector<Operation> operations = {add};
  const Limits limits = {.max_nodes = kManyNodes + 1};
  for (auto _ : state) {
    const absl::StatusOr<Applied> applied = ring.Apply(operations, limits);
    if (!applied.ok()) state.SkipWithError(applied.status().ToString().c_str());
    benchmark::DoNotOptimize(applied);
  }
}
BENCHMARK(BM_ApplyAddNode)->Unit(benchmark::kMillisecond);

// The same points, with nothing derived from them.
void BM_LinearMerge(benchmark::State& state) {
  const Ring ring = MakeRing(kManyNodes);
  std::vector<Point> added;
  AppendPoints("new", kManyNodes, added);
  std::sort(added.begin(), added.end());
  const std::span<const Point> points = ring.points().points();
  for (auto _ : state) {
    std::vector<Point> merged;
    merged.reserve(points.size() + added.size());
    std::merge(points.begin(), points.end(), added.begin(), added.end(), std::back_inserter(merged));
    benchmark::DoNotOptimize(merged.data());
  }
}
BENCHMARK(BM_LinearMerge)->Unit(benchmark::kMillisecond);

// What a directory does for a change: the next ring, and what moves.
void ChangeOne(benchmark::State& state, const Ring& ring) {
  AddNode add;
  add.node.id = "new";
  add.node.weight = 1;
  const std::vector<Operation> operations = {add};
  for (auto _ : state) {
    const absl::StatusOr<Applied> applied = ring.Apply(operations, kUnlimited);
    if (!applied.ok()) state.SkipWithError(applied.status().ToString().c_str());
    benchmark::DoNotOptimize(Compare(ring, applied->ring));
  }
}
void BM_ChangePoints(benchmark::State& state) { ChangeOne(state, MakeRing(kManyNodes)); }
BENCHMARK(BM_ChangePoints)->Unit(benchmark::kMillisecond);
void BM_ChangeSlots(benchmark::State& state) { ChangeOne(state, MakeSlots(static_cast<int>(state.range(0)))); }
BENCHMARK(BM_ChangeSlots)->Arg(100)->Arg(600)->Unit(benchmark::kMillisecond);

void BM_Create(benchmark::State& state) {
  const std::vector<Node> nodes = Nodes(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(Ring::Create(kSettings, nodes));
}
BENCHMARK(BM_Create)->Arg(1'000)->Arg(kManyNodes)->Unit(benchmark::kMillisecond);

// The least that Create must do: the same points, hashed and sorted.
void BM_HashAndSort(benchmark::State& state) {
  const std::vector<Node> nodes = Nodes(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    std::vector<Point> points;
    points.reserve(nodes.size() * kPointsPerNode);
    for (uint32_t i = 0; i < nodes.size(); ++i) AppendPoints(nodes[i].id, i, points);
    std::sort(points.begin(), points.end());
    benchmark::DoNotOptimize(points.data());
  }
}
BENCHMARK(BM_HashAndSort)->Arg(1'000)->Arg(kManyNodes)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ringd::ring
