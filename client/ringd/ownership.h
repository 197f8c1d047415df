// Owns: whether a node may take a request for a key, so that an owner can refuse a caller whose ring is older. Pure
// functions, for any thread; nanoseconds, no call to the directory.
//
// The caller picks the node by its own copy and sends that copy's version along (RingCopy::version). The node compares:
//
//   caller's version | the node owns the key in its copy | another node does, or none
//   -----------------+-----------------------------------+---------------------------
//   the copy's       | kOwned                            | kNotOwned
//   older, or none   | kOwned, caller_behind             | kNotOwned, caller_behind
//   newer            | kBehind                           | kBehind
//
// kOwned: take it. kNotOwned: refuse it, and tell the caller `owner` and `version`; one that is behind should wait for
// that version of its copy first. kBehind: the node cannot tell, since the caller knows a change that it does not know
// yet; it must not take the request, whatever its copy says. It waits a moment for its copy, or has the caller try
// again.
//
// What holds: among all nodes that answer at one version, kOwned comes from one at most for a key, since a version is
// one content of the ring. So a store that notes with each write the `version` of the answer, and refuses one that is
// lower than what it has noted, has one writer a key and version, in the order of versions. What does not: that two
// nodes never write a key at one time. A node that has not heard of a change still answers kOwned, at its older
// version, to callers that have not heard of it either. Who cannot bear that needs a lease, or the store above;
// LocalRing::status().age tells how old a copy may be. A data directory that was rolled back outside of ringd makes
// versions a second time, with another content. Copies follow (LocalRingStatus::rewound), but what was written
// meanwhile has to be judged by people.
//
// Example, in the node "n1":
//   const std::shared_ptr<const ringd::RingCopy> copy = ring->Copy();
//   if (copy == nullptr) return TryAgainLater();
//   const ringd::OwnsAnswer answer = ringd::Owns(*copy, "n1", request.key(), caller_version);
//   if (answer.ownership == ringd::Ownership::kBehind) return TryAgainLater();
//   if (answer.ownership == ringd::Ownership::kNotOwned) return Redirect(answer.owner, answer.version);
#pragma once

#include <cstdint>
#include <string_view>

#include "ringd/local_ring.h"
#include "ringd/types.h"

namespace ringd {

enum class Ownership {
  kOwned,     // the node owns the key
  kNotOwned,  // it does not
  kBehind,    // it cannot tell: its copy is older than the caller's
};

struct OwnsAnswer {
  Ownership ownership = Ownership::kBehind;
  Version version;             // of the node's copy, which the answer is of
  bool caller_behind = false;  // the caller's version is older than that, or it named none
  // Who owns the key at `version`: the node itself with kOwned; with kNotOwned null where nobody does (see
  // RingCopy::Owner); with kBehind always null. Lives as long as the copy.
  const Node* owner = nullptr;
};

// `copy` is the node's own. An empty `caller_version` is that of a caller that knows none.
OwnsAnswer Owns(const RingCopy& copy, std::string_view node_id, std::string_view key, const Version& caller_version);
// The same of a position on the circle, for rings of PointsPlacement; see RingCopy::OwnersAt.
OwnsAnswer OwnsAt(const RingCopy& copy, std::string_view node_id, uint64_t position, const Version& caller_version);

}  // namespace ringd
