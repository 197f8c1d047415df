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
          .metadata = node.metadata};
}

}  // namespace

std::shared_ptr<const RingCopy> MakeCopy(HeldRingPtr held, const RingCopy* before) {
  auto parts = std::make_unique<RingCopy::Parts>();
  const std::vector<ring::NodePtr>& nodes = held->ring.table()->nodes;
  parts->nodes.reserve(nodes.size());
  size_t old = 0;  // both are in order of id
  for (const ring::NodePtr& node : nodes) {
    while (before != nullptr && old < before->node_count() && before->node(old).id < node->id) ++old;
    const bool same =
        before != nullptr && old < before->node_count() && before->parts().held->ring.table()->nodes[old] == node;
    parts->nodes.push_back(same ? before->parts().nodes[old] : std::make_shared<const Node>(ToValue(*node)));
  }
  parts->held = std::move(held);
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
  return ring.HasOwners() ? parts_->nodes[ring.Owner(ring.Hash(key))].get() : nullptr;
}

size_t RingCopy::Owners(std::string_view key, std::span<const Node*> out) const {
  const ring::Ring& ring = parts_->held->ring;
  if (!ring.HasOwners()) return 0;
  std::array<uint32_t, ring::Ring::kMaxOwners> indices{};
  const size_t wanted = std::min(out.size(), indices.size());
  const size_t found = ring.Owners(ring.Hash(key), std::span(indices).first(wanted));
  for (size_t i = 0; i < found; ++i) out[i] = parts_->nodes[indices[i]].get();
  return found;
}

size_t RingCopy::node_count() const { return parts_->nodes.size(); }
const Node& RingCopy::node(size_t index) const { return *parts_->nodes[index]; }
double RingCopy::share(size_t index) const { return parts_->held->ring.table()->ShareOf(index); }

}  // namespace ringd
