#include "server/metered_store.h"

#include <algorithm>
#include <chrono>

namespace ringd::server {

std::vector<absl::Status> MeteredStore::Commit(const std::vector<Write>& writes, absl::Time tombstones_before) {
  const auto start = std::chrono::steady_clock::now();
  std::vector<absl::Status> outcomes = store_->Commit(writes, tombstones_before);
  commits_.Add(std::chrono::steady_clock::now() - start);
  if (std::any_of(outcomes.begin(), outcomes.end(),
                  [](const absl::Status& outcome) { return !outcome.ok() && !absl::IsAborted(outcome); })) {
    failures_.fetch_add(1, std::memory_order_relaxed);
  }
  return outcomes;
}

MetricFamilies MeteredStore::Collect() const {
  auto seconds = Histograms("ringd_store_commit_duration_seconds",
                            "Time in which the store made a burst of changes durable, or failed to.");
  DurationCounts::Sums sums;
  commits_.AddTo(sums);
  AddSeries(seconds, {}, sums.ToHistogram());
  auto failures = Counters("ringd_store_commit_failures_total", "Bursts of changes that the store could not write.");
  AddSeries(failures, {}, static_cast<double>(failures_.load(std::memory_order_relaxed)));
  return {std::move(seconds), std::move(failures)};
}

}  // namespace ringd::server
