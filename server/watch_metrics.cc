#include "server/watch_metrics.h"

#include <algorithm>
#include <span>
#include <utility>

namespace ringd::server {
namespace {

// The bucket of a value among those of `bounds` and the last, above all of them.
size_t BucketOf(std::span<const double> bounds, double value) {
  return static_cast<size_t>(std::lower_bound(bounds.begin(), bounds.end(), value) - bounds.begin());
}

prometheus::MetricFamily LagsOf(const WatchCensus& census) {
  std::array<uint64_t, WatchMetrics::kRevisions.size() + 1> counts{};
  double sum = 0;
  for (const uint64_t lag : census.lags) {
    const auto revisions = static_cast<double>(lag);
    counts[BucketOf(WatchMetrics::kRevisions, revisions)]++;
    sum += revisions;
  }
  auto family =
      Histograms("ringd_watch_lag_revisions",
                 "Rings that named watchers have reported, by how many revisions they are behind as they are now.");
  AddSeries(family, {}, HistogramOf(WatchMetrics::kRevisions, counts, sum));
  return family;
}

}  // namespace

void WatchMetrics::Applied(std::chrono::nanoseconds duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  MutexLock lock(mutex_);
  applied_[BucketOf(kSeconds, seconds)]++;
  applied_seconds_ += seconds;
}

MetricFamilies WatchMetrics::Collect() const {
  const WatchCensus census = watchers_->Census();
  auto names = Gauges("ringd_watch_names", "Names that open Watches have given.");
  AddSeries(names, {}, static_cast<double>(census.names));
  auto silent = Gauges("ringd_watch_silent_names", "Of these names, those that have not reported any version.");
  AddSeries(silent, {}, static_cast<double>(census.silent));
  auto seconds =
      Histograms("ringd_watch_applied_duration_seconds",
                 "Time from the publication of a version until a named watcher had applied it, as it reported.");
  {
    MutexLock lock(mutex_);
    AddSeries(seconds, {}, HistogramOf(kSeconds, applied_, applied_seconds_));
  }
  return {std::move(names), std::move(silent), LagsOf(census), std::move(seconds)};
}

}  // namespace ringd::server
