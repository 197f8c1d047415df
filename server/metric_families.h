// Short words for prometheus-cpp's metric families, and durations counted by atomics of our own: a family of the
// library takes a lock for each observation.
//
// Names and HELP texts are constants of ours: plain ASCII without a backslash, since the library escapes label values
// alone.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "prometheus/client_metric.h"
#include "prometheus/metric_family.h"

namespace ringd::server {

using Labels = std::vector<prometheus::ClientMetric::Label>;
using MetricFamilies = std::vector<prometheus::MetricFamily>;

prometheus::MetricFamily Gauges(std::string_view name, std::string_view help);
prometheus::MetricFamily Counters(std::string_view name, std::string_view help);
prometheus::MetricFamily Histograms(std::string_view name, std::string_view help);

// Adds a series to a family of gauges or counters, or the series of one histogram to a family of those.
void AddSeries(prometheus::MetricFamily& family, Labels labels, double value);
void AddSeries(prometheus::MetricFamily& family, Labels labels, prometheus::ClientMetric::Histogram histogram);

// How many series a family has on the page: one for each bucket, the sum and the count of a histogram.
size_t SeriesIn(const prometheus::MetricFamily& family);

// A histogram of numbers that were counted apart: `counts` has one more than there are bounds, for those above the
// last.
prometheus::ClientMetric::Histogram HistogramOf(std::span<const double> bounds, std::span<const uint64_t> counts,
                                                double sum);

// Durations by bucket, 10 us to 1 s. Threads: Add and AddTo from any thread; AddTo may see a part of an Add.
class DurationCounts {
 public:
  // Upper bounds in seconds, as the page shows them.
  static constexpr std::array<double, 16> kBounds = {0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025,
                                                     0.005,   0.01,     0.025,   0.05,   0.1,     0.25,   0.5,   1};
  struct Sums {
    std::array<uint64_t, kBounds.size() + 1> buckets{};
    uint64_t nanos = 0;

    prometheus::ClientMetric::Histogram ToHistogram() const;
  };

  void Add(std::chrono::nanoseconds duration);
  void AddTo(Sums& sums) const;

 private:
  std::array<std::atomic<uint64_t>, kBounds.size() + 1> buckets_{};
  std::atomic<uint64_t> nanos_ = 0;
};

}  // namespace ringd::server
