#include "server/metric_families.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace ringd::server {
namespace {

prometheus::MetricFamily Family(std::string_view name, std::string_view help, prometheus::MetricType type) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  return family;
}

// In nanoseconds, which the durations come in.
constexpr std::array<int64_t, DurationCounts::kBounds.size()> kNanoBounds = [] {
  std::array<int64_t, DurationCounts::kBounds.size()> bounds{};
  for (size_t i = 0; i < bounds.size(); i++) {
    // NOLINTNEXTLINE(bugprone-incorrect-roundings): std::lround is no constant, and all of these are small and positive
    bounds[i] = static_cast<int64_t>(DurationCounts::kBounds[i] * 1e9 + 0.5);
  }
  return bounds;
}();

}  // namespace

prometheus::MetricFamily Gauges(std::string_view name, std::string_view help) {
  return Family(name, help, prometheus::MetricType::Gauge);
}
prometheus::MetricFamily Counters(std::string_view name, std::string_view help) {
  return Family(name, help, prometheus::MetricType::Counter);
}
prometheus::MetricFamily Histograms(std::string_view name, std::string_view help) {
  return Family(name, help, prometheus::MetricType::Histogram);
}

void AddSeries(prometheus::MetricFamily& family, Labels labels, double value) {
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  metric.label = std::move(labels);
  if (family.type == prometheus::MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
}

void AddSeries(prometheus::MetricFamily& family, Labels labels, prometheus::ClientMetric::Histogram histogram) {
  prometheus::ClientMetric& metric = family.metric.emplace_back();
  metric.label = std::move(labels);
  metric.histogram = std::move(histogram);
}

size_t SeriesIn(const prometheus::MetricFamily& family) {
  if (family.type != prometheus::MetricType::Histogram) return family.metric.size();
  size_t series = 0;
  for (const prometheus::ClientMetric& metric : family.metric) series += metric.histogram.bucket.size() + 2;
  return series;
}

prometheus::ClientMetric::Histogram HistogramOf(std::span<const double> bounds, std::span<const uint64_t> counts,
                                                double sum) {
  prometheus::ClientMetric::Histogram histogram;
  for (size_t i = 0; i < counts.size(); i++) {
    histogram.sample_count += counts[i];
    const double bound = i < bounds.size() ? bounds[i] : std::numeric_limits<double>::infinity();
    histogram.bucket.push_back({.cumulative_count = histogram.sample_count, .upper_bound = bound});
  }
  histogram.sample_sum = sum;
  return histogram;
}

prometheus::ClientMetric::Histogram DurationCounts::Sums::ToHistogram() const {
  return HistogramOf(kBounds, buckets, static_cast<double>(nanos) * 1e-9);
}

void DurationCounts::Add(std::chrono::nanoseconds duration) {
  const auto bound = std::lower_bound(kNanoBounds.begin(), kNanoBounds.end(), duration.count());
  buckets_[bound - kNanoBounds.begin()].fetch_add(1, std::memory_order_relaxed);
  nanos_.fetch_add(static_cast<uint64_t>(duration.count()), std::memory_order_relaxed);
}

void DurationCounts::AddTo(Sums& sums) const {
  for (size_t i = 0; i < buckets_.size(); i++) sums.buckets[i] += buckets_[i].load(std::memory_order_relaxed);
  sums.nanos += nanos_.load(std::memory_order_relaxed);
}

}  // namespace ringd::server
