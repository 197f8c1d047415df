#include "tests/guarantees/watch_judge.h"

#include <algorithm>
#include <iterator>
#include <variant>

#include "client/local/watch_decoder.h"
#include "proto/codec.h"

namespace ringd {

void WatchJudge::Counts::operator+=(const Counts& other) {
  streams += other.streams;
  changes += other.changes;
  snapshots += other.snapshots;
  half_snapshots += other.half_snapshots;
  in_syncs += other.in_syncs;
  heartbeats += other.heartbeats;
  gaps += other.gaps;
  repeats += other.repeats;
}

v1::WatchRequest WatchJudge::Begin(Versions published) {
  if (snapshot_.has_value()) counts_.half_snapshots++;
  counts_.streams++;
  published_ = std::move(published);
  said_.clear();
  snapshot_.reset();
  in_sync_ = complained_ = false;

  v1::WatchRequest request;
  for (const auto& [ring, kept] : kept_) request.mutable_selector()->mutable_names()->add_rings(ring);
  for (const auto& [ring, copy] : copies_) {
    v1::HeldRing& held = *request.add_held();
    held.set_ring(ring);
    ToProto(copy.version, held.mutable_position()->mutable_version());
    ToProto(copy.checksum, held.mutable_position()->mutable_checksum());
  }
  return request;
}

void WatchJudge::Read(const v1::WatchResponse& message) {
  if (complained_) return;
  if (snapshot_.has_value() && !message.has_snapshot()) return Complain("", "something else within a snapshot");
  switch (message.event_case()) {
    case v1::WatchResponse::kSnapshot:
      return OnSnapshot(message);
    case v1::WatchResponse::kChange:
      return OnChange(message);
    case v1::WatchResponse::kInSync:
      return OnInSync(message.in_sync());
    case v1::WatchResponse::kHeartbeat:
      return OnHeartbeat(message.heartbeat());
    case v1::WatchResponse::kAbsent:
      return Complain(message.absent().ring(), "absent, and it is there");
    case v1::WatchResponse::kDeleted:
      return Complain(message.deleted().ring(), "deleted, and it is there");
    case v1::WatchResponse::kReconnect:
    case v1::WatchResponse::EVENT_NOT_SET:
      return;
  }
}

WatchJudge::Versions WatchJudge::held() const {
  Versions held;
  for (const auto& [ring, copy] : copies_) held[ring] = copy.version;
  return held;
}

WatchJudge::Story WatchJudge::StoryOf(const std::string& ring) const {
  const auto told = told_.find(ring);
  return told == told_.end() ? Story{} : told->second;
}

void WatchJudge::OnSnapshot(const v1::WatchResponse& message) {
  const std::string& ring = message.snapshot().ring().name();
  auto chunk = std::get<SnapshotChunk>(Decode(message));
  if (!kept_.contains(ring)) return Complain(ring, "a snapshot of what was not asked for");
  if (chunk.rewound) return Complain(ring, "the directory went back");
  if (!snapshot_.has_value()) {
    if (chunk.number != 0) return Complain(ring, "a snapshot does not begin at its beginning");
    snapshot_ = std::move(chunk);
  } else {
    if (chunk.number != snapshot_->number + 1) return Complain(ring, "a chunk is missing, or comes twice");
    if (chunk.version != snapshot_->version) return Complain(ring, "chunks of two snapshots are mixed");
    std::move(chunk.nodes.begin(), chunk.nodes.end(), std::back_inserter(snapshot_->nodes));
    snapshot_->slot_places.insert(snapshot_->slot_places.end(), chunk.slot_places.begin(), chunk.slot_places.end());
    snapshot_->number = chunk.number;
  }
  if (message.snapshot().last()) Complete(ring, *std::exchange(snapshot_, std::nullopt));
}

void WatchJudge::Complete(const std::string& ring, SnapshotChunk snapshot) {
  if (const auto held = copies_.find(ring); held != copies_.end()) {
    const ring::Version before = held->second.version;
    if (snapshot.version.epoch != before.epoch) return Complain(ring, "another epoch");
    // The history keeps the newest changes. It is one ahead where a change is durable that is not published yet.
    if (before.revision + kept_.at(ring) > snapshot.version.revision) {
      return Complain(ring, "a snapshot of " + ToString(snapshot.version) + " where " + ToString(before) +
                                " is still in the history");
    }
  }
  if (!snapshot.settings.ok() || !snapshot.checksum.has_value()) return Complain(ring, "a snapshot of an unknown kind");
  auto made = ring::Ring::Create(*snapshot.settings, std::move(snapshot.nodes), /*next_join_number=*/1,
                                 ring::kUnlimited, std::move(snapshot.slot_places));
  if (!made.ok()) return Complain(ring, "a snapshot that is no ring: " + std::string(made.status().message()));
  counts_.snapshots++;
  said_[ring].in_sync = false;
  Install(ring, {snapshot.version, *snapshot.checksum, *std::move(made)});
}

void WatchJudge::OnChange(const v1::WatchResponse& message) {
  const auto change = std::get<RingChange>(Decode(message));
  const std::string& ring = message.change().ring();
  const auto held = copies_.find(ring);
  if (held == copies_.end()) return Complain(ring, "a change before any snapshot");
  const ring::Version before = held->second.version;
  const ring::Version after = change.version;
  if (after.epoch != before.epoch) return Complain(ring, "a change of another epoch");
  if (after.revision <= before.revision) {
    counts_.repeats++;
    return Complain(ring, "the change to " + ToString(after) + " again, on " + ToString(before));
  }
  if (after.revision != before.revision + 1 || change.from_revision != before.revision) {
    counts_.gaps++;
    return Complain(ring, "a gap: the change to " + ToString(after) + " on " + ToString(before));
  }
  if (!change.operations.ok() || !change.checksum.has_value()) return Complain(ring, "a change of an unknown kind");
  const auto applied = held->second.ring.Apply(*change.operations, change.slot_moves, ring::kUnlimited);
  if (!applied.ok()) return Complain(ring, "a change that fails: " + std::string(applied.status().message()));
  counts_.changes++;
  const uint32_t default_weight = change.default_weight.value_or(applied->ring.settings().default_weight);
  Install(ring, {after, *change.checksum, applied->ring.WithDefaultWeight(default_weight)});
}

void WatchJudge::OnInSync(const v1::InSync& message) {
  if (!message.has_ring()) {
    if (in_sync_) return Complain("", "in sync twice");
    for (const auto& [ring, kept] : kept_) {
      if (!said_[ring].in_sync) return Complain(ring, "the stream is in sync before its ring");
    }
    in_sync_ = true;
    return;
  }
  const std::string& ring = message.ring();
  const auto held = copies_.find(ring);
  if (held == copies_.end() || held->second.version != FromProto(message.version())) {
    return Complain(ring, "in sync at another version than was told");
  }
  if (!IsCurrent(ring)) return Complain(ring, "in sync without what was published before");
  if (std::exchange(said_[ring].in_sync, true)) return Complain(ring, "in sync twice");
  counts_.in_syncs++;
}

void WatchJudge::OnHeartbeat(const v1::Heartbeat& message) {
  std::set<std::string> named;
  for (const v1::RingVersion& moved : message.moved()) {
    const auto held = copies_.find(moved.ring());
    if (held == copies_.end() || held->second.version != FromProto(moved.version())) {
      return Complain(moved.ring(), "a heartbeat tells another version");
    }
    named.insert(moved.ring());
  }
  for (const auto& [ring, kept] : kept_) {
    if (std::exchange(said_[ring].moved, false) != named.contains(ring)) {
      return Complain(ring, "a heartbeat does not name just what moved");
    }
    if (!IsCurrent(ring)) return Complain(ring, "a heartbeat before what was published before it");
  }
  counts_.heartbeats++;
}

bool WatchJudge::IsCurrent(const std::string& ring) const {
  const auto published = published_.find(ring);
  const auto held = copies_.find(ring);
  return published == published_.end() || (held != copies_.end() && held->second.version >= published->second);
}

void WatchJudge::Install(const std::string& ring, Copy copy) {
  if (copy.ring.checksum() != copy.checksum) {
    return Complain(ring, ToString(copy.version) + " has another checksum than was told");
  }
  said_[ring].moved = true;
  told_[ring].emplace_back(copy.version, copy.checksum);
  copies_.insert_or_assign(ring, std::move(copy));
}

void WatchJudge::Complain(const std::string& ring, const std::string& what) {
  constexpr size_t kFew = 3;
  complained_ = true;
  if (complaints_.size() < kFew) complaints_.push_back(ring.empty() ? what : ring + ": " + what);
}

}  // namespace ringd
