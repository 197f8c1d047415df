#include "server/metrics.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "prometheus/text_serializer.h"

namespace ringd::server {

void Metrics::AddValue(prometheus::MetricFamily family, std::function<double()> read, Labels labels) {
  values_.push_back({std::move(family), std::move(read), std::move(labels)});
}

std::string Metrics::Page() const {
  MutexLock lock(one_at_a_time_);
  MetricFamilies families;
  for (const Value& value : values_) AddSeries(families.emplace_back(value.family), value.labels, value.read());
  for (const prometheus::Collectable* source : sources_) {
    MetricFamilies collected = source->Collect();
    std::move(collected.begin(), collected.end(), std::back_inserter(families));
  }
  size_t series = 0;
  for (const prometheus::MetricFamily& family : families) series += SeriesIn(family);
  MetricFamilies of_rings = rings_.Collect(max_series_ - std::min(max_series_, series));
  std::move(of_rings.begin(), of_rings.end(), std::back_inserter(families));
  return prometheus::TextSerializer().Serialize(families);
}

}  // namespace ringd::server
