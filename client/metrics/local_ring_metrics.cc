#include "ringd/local_ring_metrics.h"

#include <chrono>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "ring/mutex.h"

namespace ringd {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

double AgeSeconds(const LocalRingStatus& status) {
  if (status.age == std::chrono::milliseconds::max()) return std::numeric_limits<double>::infinity();
  return std::chrono::duration<double>(status.age).count();
}

// What is told of each copy.
struct Reading {
  LocalRingStatus status;
  LocalRingLookups lookups;
};
struct OfRing {
  MetricType type;
  const char* name;
  const char* help;
  double (*value)(const Reading&);
};
constexpr OfRing kOfRing[] = {
    {MetricType::Gauge, "ringd_local_ring_in_sync",
     "1 while the copy of the ring is current, 0 while it may be behind, or there is none.",
     [](const Reading& r) { return r.status.state == LocalRingState::kInSync ? 1.0 : 0.0; }},
    {MetricType::Gauge, "ringd_local_ring_age_seconds",
     "Time since the copy of the ring was last known to be current; +Inf when it never was.",
     [](const Reading& r) { return AgeSeconds(r.status); }},
    {MetricType::Gauge, "ringd_local_ring_revision", "Revision of the copy of the ring; 0 while there is none.",
     [](const Reading& r) { return static_cast<double>(r.status.version.revision); }},
    {MetricType::Gauge, "ringd_local_ring_nodes", "Nodes in the copy of the ring, of any weight.",
     [](const Reading& r) { return static_cast<double>(r.lookups.nodes.size()); }},
    {MetricType::Gauge, "ringd_local_ring_tls_refused",
     "1 while the TLS files of the copy of the ring are not good, so that those from before are used; else 0.",
     [](const Reading& r) { return r.status.tls_problem.ok() ? 0.0 : 1.0; }},
    {MetricType::Counter, "ringd_local_ring_lookups_total", "Lookups that the copy of the ring answered.",
     [](const Reading& r) { return static_cast<double>(r.lookups.ring); }},
    {MetricType::Counter, "ringd_local_ring_called_lookups_total",
     "Lookups that were calls to the directory, since no copy that agrees with it could be made.",
     [](const Reading& r) { return static_cast<double>(r.status.called_lookups); }},
    {MetricType::Counter, "ringd_local_ring_streams_total", "Streams of the ring that were opened.",
     [](const Reading& r) { return static_cast<double>(r.status.streams); }},
    {MetricType::Counter, "ringd_local_ring_snapshots_total", "Snapshots of the ring that were installed.",
     [](const Reading& r) { return static_cast<double>(r.status.snapshots); }},
    {MetricType::Counter, "ringd_local_ring_changes_total", "Changes of the ring that were applied.",
     [](const Reading& r) { return static_cast<double>(r.status.changes); }},
    {MetricType::Counter, "ringd_local_ring_rewound_total",
     "Times that the copy of the ring went back, since the directory had.",
     [](const Reading& r) { return static_cast<double>(r.status.rewound); }},
    {MetricType::Counter, "ringd_local_ring_checksum_mismatches_total",
     "Copies of the ring that were not installed, since their checksum was another than the directory's.",
     [](const Reading& r) { return static_cast<double>(r.status.checksum_mismatches); }},
    {MetricType::Counter, "ringd_local_ring_broken_order_total",
     "Streams of the ring that were ended for what they said.",
     [](const Reading& r) { return static_cast<double>(r.status.broken_order); }},
};

void AddSeries(MetricFamily& family, std::vector<ClientMetric::Label> labels, double value) {
  ClientMetric metric;
  metric.label = std::move(labels);
  (family.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  family.metric.push_back(std::move(metric));
}

}  // namespace

struct LocalRingMetrics::Parts {
  const size_t max_nodes;
  Mutex mutex;
  std::vector<std::weak_ptr<const LocalRing>> rings ABSL_GUARDED_BY(mutex);

  // Those that are still there, one of each name.
  std::vector<std::shared_ptr<const LocalRing>> Rings() {
    const MutexLock lock(mutex);
    std::erase_if(rings, [](const auto& ring) { return ring.expired(); });
    std::vector<std::shared_ptr<const LocalRing>> alive;
    std::set<std::string> names;
    for (const auto& ring : rings) {
      std::shared_ptr<const LocalRing> held = ring.lock();
      if (held != nullptr && names.insert(held->ring()).second) alive.push_back(std::move(held));
    }
    return alive;
  }
};

LocalRingMetrics::LocalRingMetrics(size_t max_nodes) : parts_(new Parts{.max_nodes = max_nodes}) {}
LocalRingMetrics::~LocalRingMetrics() = default;

void LocalRingMetrics::Add(std::weak_ptr<const LocalRing> ring) {
  const MutexLock lock(parts_->mutex);
  parts_->rings.push_back(std::move(ring));
}

std::vector<MetricFamily> LocalRingMetrics::Collect() const {
  std::vector<MetricFamily> families;
  for (const OfRing& metric : kOfRing) families.push_back({metric.name, metric.help, metric.type, {}});
  MetricFamily nodes{"ringd_local_lookups_total",
                     "Lookups for which the copy of the ring answered the node as first owner.",
                     MetricType::Counter,
                     {}};
  for (const std::shared_ptr<const LocalRing>& ring : parts_->Rings()) {
    const Reading reading{.status = ring->status(), .lookups = ring->lookups()};
    for (size_t i = 0; i < families.size(); ++i) {
      AddSeries(families[i], {{"ring", ring->ring()}}, kOfRing[i].value(reading));
    }
    const std::vector<uint64_t>& counts = reading.lookups.nodes;
    if (counts.size() > parts_->max_nodes) continue;
    for (size_t i = 0; i < counts.size(); ++i) {
      AddSeries(nodes, {{"ring", ring->ring()}, {"node", reading.lookups.copy->node(i).id}},
                static_cast<double>(counts[i]));
    }
  }
  families.push_back(std::move(nodes));
  std::erase_if(families, [](const MetricFamily& family) { return family.metric.empty(); });
  return families;
}

}  // namespace ringd
