#include "server/watch_session.h"

#include <algorithm>
#include <limits>

namespace ringd::server {
namespace {

// An upper bound of a node's size in a message, good enough to cut chunks by.
size_t MessageBytes(const ring::Node& node) {
  constexpr size_t kFixed = 64;
  constexpr size_t kPerEntry = 16;
  size_t bytes = kFixed + node.id.size() + node.address.size() + node.zone.size() + node.hash_key.size();
  for (const auto& [key, value] : node.metadata) bytes += kPerEntry + key.size() + value.size();
  bytes += node.points.size() * sizeof(node.points.front());
  return bytes;
}

// Of a place of a slot in a snapshot, for all rings but the largest.
constexpr size_t kPlaceBytes = 2;

size_t MessageBytes(const ring::SlotMoves& moves) {
  constexpr size_t kRun = 12;
  constexpr size_t kPerNode = 2;
  size_t bytes = moves.runs.size() * kRun;
  for (const uint32_t node : moves.after) {
    if (node != ring::SlotTable::kNobody) bytes += kPerNode + moves.nodes[node].size();
  }
  return bytes;
}

size_t MessageBytes(const ChangeRecord& change) {
  size_t bytes = MessageBytes(change.slot_moves);
  for (const ring::NodeDelta& delta : change.nodes) {
    bytes += MessageBytes(delta.after != nullptr ? *delta.after : *delta.before);
  }
  return bytes;
}

}  // namespace

WatchSession::WatchSession(const Directory& directory, RingSelector selector,
                           const std::map<std::string, WatchPosition>& held)
    : directory_(directory), selector_(std::move(selector)) {
  for (const std::string& name : selector_.names) AddTrack(name);
  if (selector_.prefix.has_value()) {
    for (const auto& state : directory_.List(*selector_.prefix, "", std::numeric_limits<size_t>::max())) {
      AddTrack(state->head.name);
    }
  }
  for (const auto& [ring, position] : held) {
    Track& track = AddTrack(ring);
    track.phase = Track::Phase::kClaimed;
    track.position = position;
  }
  uncounted_ = tracks_.size();
}

bool WatchSession::Touch(const std::string& ring) {
  const auto it = tracks_.find(ring);
  if (it != tracks_.end()) {
    Queue(ring, it->second);
    return true;
  }
  if (!selector_.MatchesPattern(ring)) return false;
  AddTrack(ring).counted = true;
  return true;
}

Next WatchSession::Advance() {
  if (sending_.has_value()) return SendChunk();
  if (const auto within = std::exchange(reconnect_within_, std::nullopt); within.has_value()) {
    return WatchEvent(Reconnect{*within});
  }
  do {
    if (auto next = NextOfQueue(); next.has_value()) return *std::move(next);
    if (!stream_in_sync_ && uncounted_ == 0) {
      stream_in_sync_ = true;
      return WatchEvent(StreamInSync{});
    }
    if (!heartbeat_due_) return Idle{};
    // What is published already, and not yet told by Touch, comes before the heartbeat.
  } while (QueueWhatMoved());
  heartbeat_due_ = false;
  Heartbeat heartbeat;
  for (auto& [ring, track] : tracks_) {
    if (track.moved) heartbeat.moved.emplace_back(ring, track.position.version);
    track.moved = false;
  }
  return WatchEvent(std::move(heartbeat));
}

std::optional<Next> WatchSession::NextOfQueue() {
  while (!queue_.empty()) {
    const std::string ring = std::move(queue_.front());
    queue_.pop_front();
    const auto it = tracks_.find(ring);
    Track& track = it->second;
    track.queued = false;
    if (auto next = Step(ring, track); next.has_value()) {
      // At the end, so that a busy ring does not starve the others; but what was read from the history is said first,
      // so that a stream holds no more of it than one batch, however many rings catch up.
      const bool holds_history = std::holds_alternative<HistoryNeeded>(*next) || !track.history.empty();
      Queue(ring, track, holds_history ? Place::kFront : Place::kBack);
      return next;
    }
    const bool forget = track.phase == Track::Phase::kAbsent || track.phase == Track::Phase::kUnknown;
    if (forget && selector_.MatchesPattern(ring)) tracks_.erase(it);
  }
  return std::nullopt;
}

bool WatchSession::QueueWhatMoved() {
  const uint64_t publications = directory_.publications();
  if (publications == checked_publications_) return false;
  checked_publications_ = publications;
  if (selector_.prefix.has_value()) {
    for (const auto& state : directory_.List(*selector_.prefix, "", std::numeric_limits<size_t>::max())) {
      if (!tracks_.contains(state->head.name)) AddTrack(state->head.name).counted = true;
    }
  }
  for (auto& [ring, track] : tracks_) {
    const auto state = directory_.Find(ring);
    const bool there = track.phase == Track::Phase::kFollowing;
    if (state.ok() != there || (there && (*state)->head.version != track.position.version)) Queue(ring, track);
  }
  return !queue_.empty();
}

std::optional<Next> WatchSession::Step(const std::string& ring, Track& track) {
  const auto state = directory_.Find(ring);
  if (!state.ok()) return StepAbsent(ring, track);
  switch (track.phase) {
    case Track::Phase::kUnknown:
    case Track::Phase::kAbsent:
      return StartSnapshot(track, *state, /*rewound=*/false);
    case Track::Phase::kClaimed:
      return StepClaimed(ring, track, *state);
    case Track::Phase::kFollowing:
      return StepFollowing(ring, track, *state);
  }
  return std::nullopt;
}

std::optional<Next> WatchSession::StepAbsent(const std::string& ring, Track& track) {
  Count(track);
  const Track::Phase phase = track.phase;
  const ring::Version held = track.position.version;
  track.history.clear();
  switch (phase) {
    case Track::Phase::kAbsent:
      return std::nullopt;
    case Track::Phase::kFollowing:
      track = {.phase = Track::Phase::kAbsent, .counted = true};
      return WatchEvent(Deleted{ring, held});
    case Track::Phase::kUnknown:
      // A ring of a pattern that came and went before anything was said of it.
      if (selector_.MatchesPattern(ring)) return std::nullopt;
      break;
    case Track::Phase::kClaimed:
      break;
  }
  track = {.phase = Track::Phase::kAbsent, .counted = true};
  return WatchEvent(Absent{ring});
}

std::optional<Next> WatchSession::StepClaimed(const std::string& ring, Track& track, const RingStatePtr& state) {
  const ring::Version head = state->head.version;
  const ring::Version held = track.position.version;
  const auto agrees = [&track](uint64_t checksum) { return track.position.checksum.value_or(checksum) == checksum; };
  // Revision 0 is no state that anybody can hold: the first change is told by a snapshot alone.
  const bool unservable = held.epoch != head.epoch || held.revision == 0 || track.history_gone;
  if (unservable) return StartSnapshot(track, state, /*rewound=*/false);
  if (held.revision > head.revision) {
    rewound_++;
    return StartSnapshot(track, state, /*rewound=*/true);
  }
  if (held.revision == head.revision) {
    if (!agrees(state->head.checksum)) return StartSnapshot(track, state, /*rewound=*/false);
  } else {
    const ChangeEvent change = ChangeAfter(track, *state);
    if (change == nullptr) return HistoryNeeded{ring, held.epoch, held.revision + 1};
    if (!agrees(change->record.from_checksum)) return StartSnapshot(track, state, /*rewound=*/false);
  }
  track.phase = Track::Phase::kFollowing;
  return StepFollowing(ring, track, state);
}

std::optional<Next> WatchSession::StepFollowing(const std::string& ring, Track& track, const RingStatePtr& state) {
  const ring::Version head = state->head.version;
  const ring::Version held = track.position.version;
  if (held.epoch != head.epoch) {  // deleted, and made anew since
    track = {.phase = Track::Phase::kAbsent, .counted = track.counted};
    return WatchEvent(Deleted{ring, held});
  }
  if (held.revision == head.revision) {
    track.history.clear();
    if (track.caught_up) return std::nullopt;
    track.caught_up = true;
    Count(track);
    return WatchEvent(RingInSync{ring, head});
  }
  ChangeEvent change = ChangeAfter(track, *state);
  if (change == nullptr && !track.counted && !track.history_gone) {
    return HistoryNeeded{ring, held.epoch, held.revision + 1};
  }
  if (change == nullptr || MessageBytes(change->record) > kMaxChangeBytes) {
    return StartSnapshot(track, state, /*rewound=*/false);
  }
  if (!track.history.empty() && track.history.front() == change) track.history.pop_front();
  track.position.version = change->record.version;
  track.moved = true;
  return WatchEvent(std::move(change));
}

ChangeEvent WatchSession::ChangeAfter(Track& track, const RingState& state) const {
  const uint64_t wanted = track.position.version.revision + 1;
  while (!track.history.empty() && track.history.front()->record.version.revision < wanted) track.history.pop_front();
  if (!track.history.empty()) return track.history.front();
  return state.log->Get(wanted);
}

void WatchSession::ProvideHistory(const std::string& ring, std::vector<ChangeRecord> changes) {
  const auto it = tracks_.find(ring);
  if (it == tracks_.end()) return;
  Track& track = it->second;
  const ring::Version held = track.position.version;
  // Whatever is not exactly what comes next is of no use: a snapshot takes its place.
  track.history_gone = changes.empty() || changes.front().version.epoch != held.epoch ||
                       changes.front().version.revision != held.revision + 1;
  if (track.history_gone) return;
  for (ChangeRecord& change : changes) {
    track.history.push_back(std::make_shared<const PublishedChange>(PublishedChange{ring, std::move(change)}));
  }
}

void WatchSession::EachRing(const std::string& from, const VisitRing& visit) const {
  for (auto it = tracks_.lower_bound(from); it != tracks_.end(); ++it) {
    const auto& [ring, track] = *it;
    const bool said = track.phase == Track::Phase::kFollowing && !(sending_.has_value() && sending_->head.name == ring);
    if (!visit(ring, said ? std::optional(track.position.version) : std::nullopt)) return;
  }
}

WatchEvent WatchSession::StartSnapshot(Track& track, const RingStatePtr& state, bool rewound) {
  track.phase = Track::Phase::kFollowing;
  track.position = {.version = state->head.version, .checksum = state->head.checksum};
  track.caught_up = false;
  track.moved = true;
  track.history_gone = false;
  track.history.clear();
  sending_ = SnapshotChunk{.head = state->head,
                           .table = state->ring.table(),
                           .points = state->ring.point_count(),
                           .slots = state->ring.slots(),
                           .rewound = rewound};
  return SendChunk();
}

WatchEvent WatchSession::SendChunk() {
  SnapshotChunk chunk = *sending_;
  const auto& nodes = chunk.table->nodes;
  size_t bytes = 0;
  while (chunk.last < nodes.size() && bytes < kChunkBytes) bytes += MessageBytes(*nodes[chunk.last++]);
  const size_t places = chunk.slots == nullptr ? 0 : chunk.slots->places().size();
  if (chunk.last == nodes.size() && bytes < kChunkBytes) {
    chunk.last_place = std::min(places, chunk.first_place + (kChunkBytes - bytes) / kPlaceBytes);
  }
  chunk.complete = chunk.last == nodes.size() && chunk.last_place == places;
  if (chunk.complete) {
    sending_.reset();
  } else {
    sending_->first = sending_->last = chunk.last;
    sending_->first_place = sending_->last_place = chunk.last_place;
    sending_->number++;
  }
  return chunk;
}

WatchSession::Track& WatchSession::AddTrack(const std::string& ring) {
  const auto [it, added] = tracks_.try_emplace(ring);
  if (added) Queue(ring, it->second);
  return it->second;
}

void WatchSession::Queue(const std::string& ring, Track& track, Place place) {
  if (track.queued) return;
  track.queued = true;
  queue_.insert(place == Place::kFront ? queue_.begin() : queue_.end(), ring);
}

void WatchSession::Count(Track& track) {
  if (!track.counted) uncounted_--;
  track.counted = true;
}

}  // namespace ringd::server
