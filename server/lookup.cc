#include "server/lookup.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "fmt/format.h"
#include "proto/codec.h"
#include "ring/error.h"
#include "ring/owners_of_keys.h"

namespace ringd::server {
namespace {

using ringd::ToProto;

// Below a stock client's 4 MiB.
constexpr size_t kMaxAnswerBytes = (4 << 20) - (64 << 10);
// How many keys of a batch are answered, which takes 2 ms at most, before it is asked again whether anybody waits. The
// walk to several owners can be long (see owner_walk.h), so that it is asked before each.
constexpr size_t kKeysBetweenLooks = 256;

absl::Status CheckHasOwners(const RingState& state) {
  if (state.ring.HasOwners()) return absl::OkStatus();
  const bool weighted = state.ring.total_weight() > 0;
  return ring::Error(absl::StatusCode::kFailedPrecondition, ring::kRingEmpty,
                     fmt::format("ring {}: no node {}", ring::Quote(state.head.name),
                                 weighted ? "with a weight above 0 has a point" : "has a weight above 0"));
}

// Why a key has no place on the ring's circle. REQUIRES that it has none.
absl::Status NoPlace(const RingState& state, std::string_view key) {
  if (!state.ring.keys().has_hash()) {
    return ring::InvalidField(fmt::format(
        "ring {}: key {} cannot be looked up, since the hash of a ring of points is not known here; ask for a position",
        ring::Quote(state.head.name), ring::Quote(key)));
  }
  return ring::InvalidField(fmt::format("ring {}: key {} is no UTF-8, which the ring's hash reads",
                                        ring::Quote(state.head.name), ring::Quote(key)));
}

// The position that a request asks for.
absl::StatusOr<uint64_t> PositionOf(const RingState& state, const v1::LookupRequest& request) {
  const ring::KeyPlace& keys = state.ring.keys();
  if (request.has_key()) {
    if (!keys.CanPlace(request.key())) return NoPlace(state, request.key());
    return keys(request.key());
  }
  if (request.position() > keys.circle().last_value()) {
    return ring::InvalidField(fmt::format("ring {}: position {} is beyond the circle's last, {}",
                                          ring::Quote(state.head.name), request.position(),
                                          keys.circle().last_value()));
  }
  return keys.circle().First(request.position());
}

size_t WantedOwners(const auto& request) { return request.has_owners() ? request.owners() : 1; }

// Gives each node that occurs in a batch its place in the answer's node table.
class NodeTableBuilder {
 public:
  NodeTableBuilder(const ring::Ring& ring, v1::BatchLookupResponse* response) : ring_(ring), response_(response) {
    if (places_.size() < ring.node_count()) places_.resize(ring.node_count());
  }
  ~NodeTableBuilder() {
    for (const uint32_t node : seen_) places_[node] = Place();
    seen_.clear();
  }
  NodeTableBuilder(const NodeTableBuilder&) = delete;

  uint32_t PlaceOf(uint32_t node) { return Take(node).index; }
  uint32_t PlaceOfFirst(uint32_t node) {
    Place& place = Take(node);
    place.firsts++;
    return place.index;
  }

  // Counts the nodes that were asked for by PlaceOfFirst.
  void Count(const LookupCounts& lookups) const {
    for (const uint32_t node : seen_) {
      if (places_[node].firsts != 0) lookups.Add(node, places_[node].firsts);
    }
  }

  // About what the nodes take in the answer, and what an index takes at most.
  size_t bytes() const { return bytes_ + seen_.size() * kFieldBytes; }
  size_t index_bytes() const { return seen_.size() <= 1 << 7 ? 1 : seen_.size() <= 1 << 14 ? 2 : 3; }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr size_t kFieldBytes = 3;  // tag and length of a node
  struct Place {
    uint32_t index = kNone;  // in the answer's node table
    uint32_t firsts = 0;     // keys whose first owner the node is
  };

  Place& Take(uint32_t node) {
    Place& place = places_[node];
    if (place.index == kNone) [[unlikely]] {
      place.index = static_cast<uint32_t>(seen_.size());
      seen_.push_back(node);
      ToProto(ring_.node(node), response_->add_nodes());
      bytes_ += response_->nodes(static_cast<int>(place.index)).ByteSizeLong();
    }
    return place;
  }

  // Of the thread, and kept between batches, so that one of few keys does not pay for a ring of many nodes.
  static inline thread_local std::vector<Place> places;
  static inline thread_local std::vector<uint32_t> seen;

  // Found once: each look at what is a thread's costs a call.
  std::vector<Place>& places_ = places;
  std::vector<uint32_t>& seen_ = seen;

  const ring::Ring& ring_;
  v1::BatchLookupResponse* response_;
  size_t bytes_ = 0;
};

}  // namespace

absl::Status AnswerLookup(const RingState& state, const v1::LookupRequest& request, v1::LookupResponse* response) {
  const ring::Ring& ring = state.ring;
  const absl::StatusOr<uint64_t> position = PositionOf(state, request);
  if (!position.ok()) return position.status();
  if (absl::Status status = CheckHasOwners(state); !status.ok()) return status;
  const size_t wanted = WantedOwners(request);
  std::array<uint32_t, ring::Ring::kMaxOwners> nodes;
  const size_t found = ring.Owners(*position, std::span(nodes).first(wanted));
  for (size_t i = 0; i < found; i++) ToProto(ring.node(nodes[i]), response->add_owners());
  response->set_hash(ring.keys().circle().Value(*position));
  response->set_owners_short(found < wanted);
  ToProto(state.head.version, response->mutable_version());
  state.lookups.Add(nodes[0], 1);
  return absl::OkStatus();
}

absl::Status AnswerBatchLookup(const RingState& state, const v1::BatchLookupRequest& request,
                               const StillWanted& still_wanted, v1::BatchLookupResponse* response) {
  // No keys are answered with none, whatever the ring.
  if (absl::Status status = CheckHasOwners(state); !status.ok() && !request.keys().empty()) {
    return state.ring.keys().CanPlace(request.keys(0)) ? status : NoPlace(state, request.keys(0));
  }
  const ring::Ring& ring = state.ring;
  const size_t wanted = WantedOwners(request);
  const size_t per_key = std::min(wanted, ring.owner_count());
  NodeTableBuilder table(ring, response);
  auto* indices = response->mutable_owner_indices();
  indices->Reserve(static_cast<int>(request.keys_size() * per_key));
  const std::span keys(request.keys().data(), request.keys().size());
  const size_t step = per_key == 1 ? kKeysBetweenLooks : 1;
  std::array<uint32_t, ring::Ring::kMaxOwners> nodes;
  for (size_t first = 0; first < keys.size(); first += step) {
    if (absl::Status status = still_wanted(); !status.ok()) return status;
    const auto some = keys.subspan(first, std::min(step, keys.size() - first));
    for (const std::string* key : some) {
      if (!ring.keys().CanPlace(*key)) return NoPlace(state, *key);
    }
    if (per_key == 1) {
      ring::OwnersOfKeys(
          ring, some.size(), [some](size_t i) -> std::string_view { return *some[i]; },
          [&](size_t, uint32_t owner) { indices->AddAlreadyReserved(table.PlaceOfFirst(owner)); });
      continue;
    }
    ring.Owners(ring.Position(*some[0]), std::span(nodes).first(per_key));
    indices->AddAlreadyReserved(table.PlaceOfFirst(nodes[0]));
    for (size_t rank = 1; rank < per_key; rank++) indices->AddAlreadyReserved(table.PlaceOf(nodes[rank]));
  }
  if (const size_t bytes = table.bytes() + indices->size() * table.index_bytes(); bytes > kMaxAnswerBytes) {
    return ring::Error(absl::StatusCode::kResourceExhausted, ring::kLimitExceeded,
                       fmt::format("ring {}: the answer would have about {} bytes, the limit is {}; ask for fewer keys",
                                   ring::Quote(state.head.name), bytes, kMaxAnswerBytes));
  }
  response->set_owners_per_key(static_cast<uint32_t>(per_key));
  response->set_owners_short(per_key < wanted);
  ToProto(state.head.version, response->mutable_version());
  table.Count(state.lookups);
  return absl::OkStatus();
}

}  // namespace ringd::server
