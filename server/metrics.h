// Metrics: all that ringd exports, as one page in Prometheus' text format 0.0.4.
//
// Nothing is counted here: at each scrape, those who count are asked. Names: `ringd_`, base units, `_total`,
// `_seconds`,
// `_ratio`; grpc_server_* and process_* as everybody has them. Labels come from bounded sets alone: rings, nodes, RPCs
// and status codes, never a key, a caller, or a name that a caller made up.
//
// Threads: Add and AddValue before the first Page; Page from any thread, one at a time does the work.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "prometheus/collectable.h"
#include "ring/mutex.h"
#include "server/metric_families.h"
#include "server/ring_metrics.h"

namespace ringd::server {

class Metrics {
 public:
  struct Limits {
    size_t max_nodes = 100;      // with series of their own, in a ring
    size_t max_series = 10'000;  // in all
  };

  // The directory, and all that is added, must outlive it. Limits bound the series of rings and nodes; all others are
  // few, and are there whatever the limit.
  Metrics(const Directory& directory, const Limits& limits)
      : rings_(directory, limits.max_nodes), max_series_(limits.max_series) {}

  void Add(const prometheus::Collectable& source) { sources_.push_back(&source); }
  // One series of `family`, which has none yet; `read` is called at each scrape.
  void AddValue(prometheus::MetricFamily family, std::function<double()> read, Labels labels = {});

  std::string Page() const;

 private:
  struct Value {
    prometheus::MetricFamily family;
    std::function<double()> read;
    Labels labels;
  };

  const RingMetrics rings_;
  const size_t max_series_;
  std::vector<const prometheus::Collectable*> sources_;
  std::vector<Value> values_;
  mutable Mutex one_at_a_time_;
};

}  // namespace ringd::server
