#include "client/local/ring_copy.h"

#include <algorithm>
#include <array>
#include <utility>

namespace ringd {
namespace {

Node ToValue(const ring::Node& node) {
  return {.id = node.id,
          .address = node.address,
          .weight = node.weight,
          .zone = node.zone,
          .hash_key = node.hash_key,
          .metadata = node.metadata,
          .points = node.points};
}

}  // namespace

size_t RingCopy::Parts::Owners(std::string_view key, std::span<uint32_t> out) const {
  return HasOwner(key) ? held->ring.Owners(held->ring.Position(key), out) : 0;
}

size_t RingCopy::Parts::OwnersAt(uint64_t position, std::span<uint32_t> out) const {
  const ring::Ring& ring = held->ring;
  const ring::Circle& circle = ring.keys().circle();
  return ring.HasOwners() && position <= circle.last_value() ? ring.Owners(circle.First(position), out) : 0;
}

size_t RingCopy::Parts::NodesOf(std::span<const uint32_t> indices, std::span<const Node*> out) const {
  for (size_t i = 0; i < indices.size(); ++i) out[i] = nodes[indices[i]].get();
  return indices.size();
}

std::shared_ptr<const RingCopy> MakeCopy(HeldRingPtr held, const RingCopy* before) {
  static const RingCopy::Parts kNone{};
  const RingCopy::Parts& old = before == nullptr ? kNone : before->parts();
  auto parts = std::make_unique<RingCopy::Parts>();
  auto counts = std::make_shared<LookupCounts::OfNodes>();
  const std::vector<ring::NodePtr>& nodes = held->ring.table()->nodes;
  parts->nodes.reserve(nodes.size());
  counts->reserve(nodes.size());
  size_t at = 0;  // both are in order of id
  for (const ring::NodePtr& node : nodes) {
    while (at < old.nodes.size() && old.nodes[at]->id < node->id) ++at;
    const bool stays = at < old.nodes.size() && old.nodes[at]->id == node->id;
    const bool same = stays && old.held->ring.table()->nodes[at] == node;
    parts->nodes.push_back(same ? old.nodes[at] : std::make_shared<const Node>(ToValue(*node)));
    counts->push_back(stays ? (*old.counts)[at] : std::make_shared<LookupCounts::OfNode>());
  }
  parts->held = std::move(held);
  parts->counts = std::move(counts);
  return std::make_shared<const RingCopy>(std::move(parts));
}

RingCopy::RingCopy(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}
RingCopy::~RingCopy() = default;

Version RingCopy::version() const {
  const ring::Version& version = parts_->held->version;
  return {.epoch = version.epoch, .revision = version.revision};
}
uint64_t RingCopy::checksum() const { return parts_->held->ring.checksum(); }

const Node* RingCopy::Owner(std::string_view key) const {
  const ring::Ring& ring = parts_->held->ring;
  return parts_->HasOwner(key) ? parts_->nodes[ring.Owner(ring.Position(key))].get() : nullptr;
}

void RingCopy::OwnersOf(std::span<const std::string_view> keys, std::span<const Node*> out) const {
  if (!std::all_of(keys.begin(), keys.end(), [this](std::string_view key) { return parts_->HasOwner(key); })) {
    for (size_t i = 0; i < keys.size(); ++i) out[i] = Owner(keys[i]);
    return;
  }
  parts_->OwnersOf(keys, [this, out](size_t i, uint32_t owner) { out[i] = parts_->nodes[owner].get(); });
}

size_t RingCopy::Owners(std::string_view key, std::span<const Node*> out) const {
  std::array<uint32_t, ring::Ring::kMaxOwners> indices{};
  const size_t found = parts_->Owners(key, std::span(indices).first(std::min(out.size(), indices.size())));
  return parts_->NodesOf(std::span(indices).first(found), out);
}

size_t RingCopy::OwnersAt(uint64_t position, std::span<const Node*> out) const {
  std::array<uint32_t, ring::Ring::kMaxOwners> indices{};
  const size_t found = parts_->OwnersAt(position, std::span(indices).first(std::min(out.size(), indices.size())));
  return parts_->NodesOf(std::span(indices).first(found), out);
}

size_t RingCopy::node_count() const { return parts_->nodes.size(); }
const Node& RingCopy::node(size_t index) const { return *parts_->nodes[index]; }
double RingCopy::share(size_t index) const { return parts_->held->ring.table()->ShareOf(index); }

}  // namespace ringd
