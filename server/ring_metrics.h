// RingMetrics: the metrics of rings and of their nodes, read from the directory's current states. Nothing is kept
// between two scrapes, so the series of a node or ring that is gone are gone with it.
//
// What is bounded: a ring of more than `max_nodes` nodes has no series for each node, but a histogram of how far they
// are from their expected share; and no more than `max_series` are made. Series of rings come before those of nodes,
// each in order of the rings' names, and from the first ring on whose series do not fit, none: so what is left out
// stays left out and no series comes and goes with the traffic. How many are left out is a metric itself.
//
// Threads: any. It holds the directory's lock only to copy pointers, a thousand at a time.
// Cost: linear in rings and in the nodes of those rings that have series.
#pragma once

#include <cstddef>

#include "server/directory.h"
#include "server/metric_families.h"

namespace ringd::server {

class RingMetrics {
 public:
  // The directory must outlive it.
  RingMetrics(const Directory& directory, size_t max_nodes) : directory_(directory), max_nodes_(max_nodes) {}

  MetricFamilies Collect(size_t max_series) const;

 private:
  const Directory& directory_;
  const size_t max_nodes_;
};

}  // namespace ringd::server
