#include "server/ring_metrics.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace ringd::server {
namespace {

constexpr size_t kPage = 1'000;
// About the directory as a whole.
constexpr size_t kFixedSeries = 2;
constexpr size_t kSeriesOfNode = 3;
// Upper bounds of share / expected share; 1 is a node that owns just what it shall.
constexpr std::array<double, 11> kImbalanceBounds = {0.5, 0.8, 0.9, 0.95, 0.98, 1.02, 1.05, 1.1, 1.25, 1.5, 2};
constexpr size_t kSeriesOfHistogram = kImbalanceBounds.size() + 1 + 2;

std::vector<RingStatePtr> AllRings(const Directory& directory) {
  std::vector<RingStatePtr> rings;
  while (true) {
    const std::string last = rings.empty() ? "" : rings.back()->head.name;
    std::vector<RingStatePtr> page = directory.List("", last, kPage);
    rings.insert(rings.end(), page.begin(), page.end());
    if (page.size() < kPage) return rings;
  }
}

// The families that have a series for each ring.
struct RingFamilies {
  prometheus::MetricFamily revision = Gauges("ringd_ring_revision", "Revision of the ring.");
  prometheus::MetricFamily nodes = Gauges("ringd_ring_nodes", "Nodes of the ring, of any weight.");
  prometheus::MetricFamily points = Gauges("ringd_ring_points", "Points of the ring.");
  prometheus::MetricFamily most =
      Gauges("ringd_ring_imbalance_ratio",
             "Largest share / expected share of the ring's weighted nodes; 0 when there is none.");
  prometheus::MetricFamily least =
      Gauges("ringd_ring_imbalance_min_ratio",
             "Smallest share / expected share of the ring's weighted nodes; 0 when there is none.");
  prometheus::MetricFamily changed =
      Gauges("ringd_last_change_timestamp_seconds", "When the ring was changed last, in seconds since 1970.");
  prometheus::MetricFamily lookups =
      Counters("ringd_rpc_ring_lookups_total", "Keys of the ring that Lookup and BatchLookup answered.");

  static constexpr size_t kSeries = 7;

  void Add(const RingState& state) {
    const ring::NodeTable& table = *state.ring.table();
    const Labels ring = {{"ring", state.head.name}};
    AddSeries(revision, ring, static_cast<double>(state.head.version.revision));
    AddSeries(nodes, ring, static_cast<double>(state.ring.node_count()));
    AddSeries(points, ring, static_cast<double>(state.ring.point_count()));
    const ring::Balance balance = table.BalanceOfNodes();
    AddSeries(most, ring, balance.max_ratio);
    AddSeries(least, ring, balance.min_ratio);
    AddSeries(changed, ring, absl::ToDoubleSeconds(state.head.update_time - absl::UnixEpoch()));
    AddSeries(lookups, ring, static_cast<double>(state.lookups.OfRing()));
  }
};

// The families that say how a ring's nodes fare: a series for each node, or a histogram of the ring.
struct NodeFamilies {
  prometheus::MetricFamily share = Gauges("ringd_node_key_share_ratio",
                                          "Part of the circle that the node owns, 0 to 1: of all keys, about as many.");
  prometheus::MetricFamily expected =
      Gauges("ringd_node_expected_share_ratio", "The node's weight as part of the ring's, 0 to 1.");
  prometheus::MetricFamily lookups =
      Counters("ringd_rpc_lookups_total", "Keys for which Lookup and BatchLookup answered the node as first owner.");
  prometheus::MetricFamily histogram = Histograms(
      "ringd_node_imbalance_ratio",
      "Weighted nodes by share / expected share as they are now, of rings with too many nodes for a series each.");

  void AddEachNode(const RingState& state) {
    const ring::NodeTable& table = *state.ring.table();
    for (size_t i = 0; i < table.nodes.size(); i++) {
      const Labels node = {{"ring", state.head.name}, {"node", table.nodes[i]->id}};
      AddSeries(share, node, table.ShareOf(i));
      AddSeries(expected, node, table.ExpectedShareOf(i));
      AddSeries(lookups, node, static_cast<double>(state.lookups.OfNode(i)));
    }
  }

  void AddHistogram(const RingState& state) {
    const ring::NodeTable& table = *state.ring.table();
    std::array<uint64_t, kImbalanceBounds.size() + 1> counts{};
    double sum = 0;
    for (size_t i = 0; i < table.nodes.size(); i++) {
      if (table.nodes[i]->weight == 0) continue;
      const double imbalance = table.ShareOf(i) / table.ExpectedShareOf(i);
      const auto* bound = std::lower_bound(kImbalanceBounds.begin(), kImbalanceBounds.end(), imbalance);
      counts[bound - kImbalanceBounds.begin()]++;
      sum += imbalance;
    }
    AddSeries(histogram, {{"ring", state.head.name}}, HistogramOf(kImbalanceBounds, counts, sum));
  }
};

// How much of a budget of series is left; nothing, once something did not fit.
class Budget {
 public:
  explicit Budget(size_t series) : left_(series) {}

  bool Take(size_t series) {
    if (series > left_) {
      left_ = 0;
      left_out_ += series;
      return false;
    }
    left_ -= series;
    return true;
  }
  size_t left_out() const { return left_out_; }

 private:
  size_t left_;
  size_t left_out_ = 0;
};

void Move(prometheus::MetricFamily& family, MetricFamilies& families) {
  if (!family.metric.empty()) families.push_back(std::move(family));
}

}  // namespace

MetricFamilies RingMetrics::Collect(size_t max_series) const {
  const std::vector<RingStatePtr> rings = AllRings(directory_);
  Budget budget(max_series - std::min(max_series, kFixedSeries));
  RingFamilies of_rings;
  for (const RingStatePtr& state : rings) {
    if (budget.Take(RingFamilies::kSeries)) of_rings.Add(*state);
  }
  NodeFamilies of_nodes;
  for (const RingStatePtr& state : rings) {
    const size_t nodes = state->ring.node_count();
    if (nodes > max_nodes_) {
      if (budget.Take(kSeriesOfHistogram)) of_nodes.AddHistogram(*state);
    } else if (budget.Take(nodes * kSeriesOfNode)) {
      of_nodes.AddEachNode(*state);
    }
  }

  MetricFamilies families;
  families.push_back(Gauges("ringd_rings", "Rings of the directory."));
  AddSeries(families.back(), {}, static_cast<double>(rings.size()));
  families.push_back(Gauges("ringd_metrics_series_left_out",
                            "Series of rings and nodes that are not on this page, which has as many as it may."));
  AddSeries(families.back(), {}, static_cast<double>(budget.left_out()));
  for (auto* family :
       {&of_rings.revision, &of_rings.nodes, &of_rings.points, &of_rings.most, &of_rings.least, &of_rings.changed,
        &of_rings.lookups, &of_nodes.share, &of_nodes.expected, &of_nodes.lookups, &of_nodes.histogram}) {
    Move(*family, families);
  }
  return families;
}

}  // namespace ringd::server
