// What a durable change costs beside the least that it must do: one node more on 10,000 nodes x 160 points, through the
// directory and its store, against a linear merge of the points and one fsync.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/directory.h"
#include "server/sqlite_store.h"

namespace ringd::server {
namespace {

constexpr int kNodes = 10'000;
constexpr uint32_t kPointsPerNode = 160;

// A folder that goes with it.
class Scratch {
 public:
  Scratch() : path_((std::filesystem::temp_directory_path() / "ringd-bench-XXXXXX").string()) {
    if (mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

ring::AddNode NodeOf(const std::string& id) { return {.node = {.id = id, .weight = 1}}; }

Mutation Change(std::vector<ring::Operation> operations) {
  return {.ring = "r", .what = ChangeNodes{std::move(operations)}, .actor = "bench"};
}

void Do(Directory& directory, const Mutation& mutation) {
  if (!directory.Commit(std::span(&mutation, 1)).front().ok()) std::abort();
}

void BM_DurableAddNode(benchmark::State& state) {
  const Scratch scratch;
  auto store = SqliteStore::Open(scratch.path(), InitMode::kCreate);
  DirectoryOptions options;
  options.ring_limits.max_nodes = kNodes + 1;
  options.random = [] { return 1u; };
  auto directory = *Directory::Open(**store, options);
  const ring::Settings settings{.placement = ring::HashedSettings{.points_per_weight = kPointsPerNode},
                                .default_weight = 1};
  Do(*directory, {.ring = "r", .what = CreateRing{.settings = settings}, .actor = "bench"});
  std::vector<ring::Operation> nodes;
  for (int i = 0; i < kNodes; ++i) nodes.emplace_back(NodeOf("node-" + std::to_string(i)));
  Do(*directory, Change(std::move(nodes)));
  for (auto _ : state) {
    Do(*directory, Change({NodeOf("new")}));
    state.PauseTiming();
    Do(*directory, Change({ring::RemoveNode{.id = "new"}}));
    state.ResumeTiming();
  }
}
BENCHMARK(BM_DurableAddNode)->Unit(benchmark::kMillisecond)->UseRealTime();

void BM_MergeAndSync(benchmark::State& state) {
  const Scratch scratch;
  const int file = open((scratch.path() + "/log").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  std::vector<ring::Point> points;
  for (uint64_t i = 0; i < uint64_t{kNodes} * kPointsPerNode; ++i) {
    points.emplace_back(i * 0x9E37'79B9'7F4A'7C15u, static_cast<uint32_t>(i / kPointsPerNode));
  }
  std::sort(points.begin(), points.end());
  std::vector<ring::Point> added;  // round the circle, as those of a node are
  for (size_t i = 0; i < kPointsPerNode; ++i) added.push_back(points[i * kNodes]);
  const std::string record(4'096, 'x');
  off_t end = 0;
  for (auto _ : state) {
    std::vector<ring::Point> merged;
    merged.reserve(points.size() + added.size());
    std::merge(points.begin(), points.end(), added.begin(), added.end(), std::back_inserter(merged));
    benchmark::DoNotOptimize(merged.data());
    if (pwrite(file, record.data(), record.size(), end) < 0 || fdatasync(file) != 0) std::abort();
    end += static_cast<off_t>(record.size());
  }
  close(file);
}
BENCHMARK(BM_MergeAndSync)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace ringd::server
