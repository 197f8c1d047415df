// What LocalRing::Owner costs beside the ring's own lookup, on one thread and on two.
//
// 100 nodes x 160 points, 1,000,000 keys; a copy that a FakeDirectory feeds. Read items_per_second.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ring/ring.h"
#include "ringd/local_ring.h"
#include "ringd/testing/fake_directory.h"

namespace ringd {
namespace {

constexpr int kNodes = 100;
constexpr uint32_t kWeight = 80;  // 2 points each
constexpr size_t kBatch = 1'000;

const std::vector<std::string>& Keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> made;
    for (int k = 0; k < 1'000'000; ++k) made.push_back("user:" + std::to_string(k));
    return made;
  }();
  return keys;
}

const LocalRing& Copy() {
  static testing::FakeDirectory directory;
  static const std::unique_ptr<LocalRing> copy = [] {
    std::vector<Node> nodes;
    for (int i = 0; i < kNodes; ++i) nodes.push_back({.id = "node-" + std::to_string(i), .weight = kWeight});
    (void)directory.SetRing("r", nodes);
    auto started = *LocalRing::Start("r", {.directory = {.endpoints = {directory.endpoint()}}});
    if (!started->WaitReady(std::chrono::seconds(60)).ok()) std::abort();
    return started;
  }();
  return *copy;
}

template <typename OwnerOf>
void ForEachKey(benchmark::State& state, OwnerOf owner) {
  const std::vector<std::string>& keys = Keys();
  for (auto _ : state) {
    uint64_t sum = 0;
    for (const std::string& key : keys) sum += owner(key);
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(keys.size()));
}

void BM_CopyHashOnly(benchmark::State& state) {
  ForEachKey(state, [](const std::string& key) { return ring::HashKey(key); });
}
BENCHMARK(BM_CopyHashOnly)->Unit(benchmark::kMillisecond)->UseRealTime();

void BM_LocalRingOwner(benchmark::State& state) {
  const LocalRing& copy = Copy();
  ForEachKey(state, [&](const std::string& key) { return reinterpret_cast<uintptr_t>(*copy.Owner(key)); });
}
BENCHMARK(BM_LocalRingOwner)->ThreadRange(1, 2)->Unit(benchmark::kMillisecond)->UseRealTime();

// What BM_LocalRingOwnersOf is held against: the same keys in the same form, whose hashes are kept.
void BM_CopyHashOfViews(benchmark::State& state) {
  const std::vector<std::string_view> keys(Keys().begin(), Keys().end());
  std::vector<uint64_t> hashes(kBatch);
  for (auto _ : state) {
    for (size_t first = 0; first < keys.size(); first += kBatch) {
      for (size_t i = 0; i < kBatch; ++i) hashes[i] = ring::HashKey(keys[first + i]);
      benchmark::DoNotOptimize(hashes.data());
      benchmark::ClobberMemory();
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(keys.size()));
}
BENCHMARK(BM_CopyHashOfViews)->Unit(benchmark::kMillisecond)->UseRealTime();

// In batches, as a service has keys that came together.
void BM_LocalRingOwnersOf(benchmark::State& state) {
  const LocalRing& copy = Copy();
  const std::vector<std::string_view> keys(Keys().begin(), Keys().end());
  std::vector<const Node*> owners(kBatch);
  for (auto _ : state) {
    for (size_t first = 0; first < keys.size(); first += kBatch) {
      if (!copy.OwnersOf(std::span(keys).subspan(first, kBatch), owners).ok()) std::abort();
      benchmark::DoNotOptimize(owners.data());
    }
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(keys.size()));
}
BENCHMARK(BM_LocalRingOwnersOf)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace ringd
