// WatchMetrics: how far watchers are behind, and how long they take from publish to applied, as those who have a name
// report it.
//
// Threads: Applied and Collect from any thread; Attach before the first Collect.
// Cost: Collect looks at every version that is reported, a few hundred names at a time under the lock of the watchers.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "prometheus/collectable.h"
#include "ring/mutex.h"
#include "server/metric_families.h"
#include "server/watchers.h"

namespace ringd::server {

class WatchMetrics final : public prometheus::Collectable {
 public:
  // Upper bounds, as the page shows them: in seconds from publish to applied, and in revisions behind.
  static constexpr std::array<double, 15> kSeconds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                      0.5,   1,      2.5,   5,    10,    30,   60};
  static constexpr std::array<double, 13> kRevisions = {0, 1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1'000, 10'000};

  // The watchers to ask, who must outlive this.
  void Attach(const Watchers& watchers) { watchers_ = &watchers; }

  // A watcher applied a change so long after it was published.
  void Applied(std::chrono::nanoseconds duration);

  MetricFamilies Collect() const override;

 private:
  const Watchers* watchers_ = nullptr;
  mutable Mutex mutex_;
  std::array<uint64_t, kSeconds.size() + 1> applied_ ABSL_GUARDED_BY(mutex_){};
  double applied_seconds_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace ringd::server
