// ProcessMetrics: the process_* metrics that Prometheus' own client libraries export, read from /proc/self. What cannot
// be read is left out.
//
// Threads: any.
#pragma once

#include "absl/time/time.h"
#include "prometheus/collectable.h"
#include "server/metric_families.h"

namespace ringd::server {

class ProcessMetrics final : public prometheus::Collectable {
 public:
  ProcessMetrics();

  MetricFamilies Collect() const override;

 private:
  const absl::Time start_time_;
};

}  // namespace ringd::server
