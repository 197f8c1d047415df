#include "server/lookup_counts.h"

namespace ringd::server {

LookupCounts::LookupCounts(const ring::NodeTable& nodes) : ring_(std::make_shared<std::atomic<uint64_t>>(0)) {
  nodes_.reserve(nodes.nodes.size());
  for (size_t i = 0; i < nodes.nodes.size(); i++) nodes_.push_back(std::make_shared<std::atomic<uint64_t>>(0));
}

LookupCounts::LookupCounts(const LookupCounts& before, const ring::NodeTable& old, const ring::NodeTable& nodes)
    : ring_(before.ring_) {
  nodes_.reserve(nodes.nodes.size());
  size_t at = 0;
  for (const ring::NodePtr& node : nodes.nodes) {
    // Most nodes are the very same object in both tables, which spares comparing their ids.
    while (at < old.nodes.size() && old.nodes[at] != node && old.nodes[at]->id < node->id) at++;
    const bool stays = at < old.nodes.size() && (old.nodes[at] == node || old.nodes[at]->id == node->id);
    nodes_.push_back(stays ? before.nodes_[at++] : std::make_shared<std::atomic<uint64_t>>(0));
  }
}

}  // namespace ringd::server
