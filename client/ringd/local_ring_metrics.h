// LocalRingMetrics: how the local copies of a process fare, and which nodes they answer, for the Prometheus page of the
// service that has them. client/README.md lists the metrics.
//
// This header needs prometheus-cpp's core, which the others do not: link ringd::metrics
// (find_package(ringd COMPONENTS metrics), or pkg-config ringd-metrics).
//
// Performance: a scrape is linear in the nodes of the copies and the threads that look up; while it adds up, a thread's
// first lookup after a change waits. Lookups are counted whether anybody asks or not.
//
// Thread safety: all members may be called from any number of threads at once.
//
// Error handling: nothing fails; a copy that has no ring yet has its series without nodes.
//
// Idempotency: a scrape changes nothing.
//
// Example:
//   std::shared_ptr<ringd::LocalRing> ring = *ringd::LocalRing::Start(...);
//   auto metrics = std::make_shared<ringd::LocalRingMetrics>();
//   metrics->Add(ring);
//   exposer.RegisterCollectable(metrics);
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "ringd/local_ring.h"

namespace ringd {

class LocalRingMetrics final : public prometheus::Collectable {
 public:
  // A ring of more than `max_nodes` nodes has no series for each of them. The largest ones alone would change, which
  // breaks rate().
  explicit LocalRingMetrics(size_t max_nodes = 100);
  ~LocalRingMetrics() override;

  // Shows a copy from now on, for as long as it lives. One object for all copies of a process: a page has each metric
  // once. Of two copies of rings of the same name the first is shown.
  void Add(std::weak_ptr<const LocalRing> ring);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace ringd
