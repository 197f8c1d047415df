#include "client/local/watch_machine.h"

#include <algorithm>
#include <string>
#include <utility>

#include "proto/retry_after.h"

namespace ringd {
namespace {

constexpr auto kNever = WatchMachine::Clock::time_point::max();

}  // namespace

const HeldRingPtr WatchMachine::kNothing;

WatchMachine::WatchMachine(const Policy& policy, std::function<double()> random, Clock::time_point now)
    : policy_(policy),
      random_(random),
      problem_(absl::UnavailableError("not connected yet")),
      backoff_(policy.pauses, std::move(random)),
      now_(now),
      open_at_(now) {}

void WatchMachine::Restore(HeldRingPtr held, Clock::time_point current_at) {
  held_ = std::move(held);
  current_at_ = current_at;
}

bool WatchMachine::Wants(StreamId id) const {
  return std::any_of(streams_.begin(), streams_.end(), [id](const Stream& stream) { return stream.id == id; });
}

std::vector<WatchMachine::StreamId> WatchMachine::wanted() const {
  std::vector<StreamId> ids;
  for (const Stream& stream : streams_) ids.push_back(stream.id);
  return ids;
}

WatchMachine::Clock::time_point WatchMachine::wake_at() const {
  Clock::time_point at = open_at_;
  for (const Stream& stream : streams_) at = std::min(at, stream.heard_at + policy_.silence);
  return at;
}

void WatchMachine::Woken(Clock::time_point now) {
  now_ = now;
  const auto silent = std::find_if(streams_.begin(), streams_.end(),
                                   [&](const Stream& stream) { return now >= stream.heard_at + policy_.silence; });
  if (silent != streams_.end()) {
    Lost(silent->id, absl::UnavailableError("the directory has been silent for too long"));
  } else if (now >= open_at_) {
    OpenNow();
  }
}

void WatchMachine::Ended(StreamId id, const absl::Status& status, Clock::time_point now) {
  if (!Wants(id)) return;
  now_ = now;
  Lost(id, status.ok() ? absl::UnavailableError("the directory ended the stream") : status);
}

void WatchMachine::OpenNow() {
  streams_.push_back({.id = ++counts_.streams, .heard_at = now_});
  open_at_ = streams_.size() == 1 ? SecondAt() : kNever;
}

void WatchMachine::TakeOver() {
  streams_.pop_front();
  open_at_ = SecondAt();
}

void WatchMachine::Lost(StreamId id, const absl::Status& status) {
  const bool followed = IsFollowed(id);
  const auto lost = std::find_if(streams_.begin(), streams_.end(), [id](const Stream& s) { return s.id == id; });
  const bool alive = lost->alive;
  streams_.erase(lost);
  if (followed) problem_ = status;
  if (followed && !streams_.empty()) {
    open_at_ = SecondAt();
    if (state_ == State::kInSync) state_ = State::kResyncing;
    return;
  }
  if (followed) {
    if (state_ == State::kInSync && now_ - synced_at_ >= policy_.stable_after) backoff_.Reset();
    if (state_ == State::kInSync || state_ == State::kResyncing) state_ = State::kConnecting;
  }
  open_at_ = now_ + PauseAfter(status, alive);
}

WatchMachine::Clock::duration WatchMachine::PauseAfter(const absl::Status& status, bool alive) {
  // All copies lose their streams together when a server stops, so they come back spread: as it says, or else as we do.
  const std::chrono::duration<double, std::milli> spread = policy_.spread * random_();
  Clock::duration pause = alive ? std::chrono::duration_cast<Clock::duration>(spread) : backoff_.Next();
  if (const auto after = RetryAfter(status); after.has_value()) {
    const Clock::duration told = std::min(*after, policy_.pauses.longest);
    pause = alive ? told : std::max(told, pause);
  }
  return pause;
}

WatchMachine::Clock::time_point WatchMachine::SecondAt() const {
  const Stream& followed = streams_.front();
  if (followed.leaving) return now_;
  return policy_.hedge_after.has_value() && !followed.alive ? now_ + *policy_.hedge_after : kNever;
}

void WatchMachine::BreakOff(StreamId id, const std::string& why) {
  counts_.broken_order++;
  Lost(id, absl::InternalError(why));
}

void WatchMachine::Received(StreamId id, StreamEvent event, Clock::time_point now) {
  if (!Wants(id)) return;
  now_ = now;
  Stream& stream = IsFollowed(id) ? streams_.front() : streams_.back();
  stream.heard_at = now;
  if (!std::exchange(stream.alive, true)) {
    if (!streams_.front().alive) TakeOver();
    while (IsFollowed(id) && streams_.size() > 1) streams_.pop_back();
    if (IsFollowed(id)) open_at_ = kNever;
  }
  if (state_ == State::kConnecting) state_ = State::kResyncing;
  std::visit([&](auto& what) { On(stream, std::move(what)); }, event);
  if (state_ == State::kInSync && IsFollowed(id)) current_at_ = now;
}

void WatchMachine::On(Stream& stream, SnapshotChunk chunk) {
  std::optional<Assembly>& assembly = stream.assembly;
  std::vector<ring::Node> nodes = std::exchange(chunk.nodes, {});
  const std::vector<uint32_t> slot_places = std::exchange(chunk.slot_places, {});
  const bool last = chunk.last;
  if (chunk.number == 0) {
    assembly = Assembly{.first = std::move(chunk)};
  } else if (!assembly.has_value() || chunk.number != assembly->next || chunk.version != assembly->first.version) {
    return BreakOff(stream.id, "a chunk of a snapshot is out of place");
  }
  assembly->next++;
  Add(std::move(nodes), slot_places, *assembly);
  if (last) Complete(*std::exchange(assembly, std::nullopt));
}

void WatchMachine::Add(std::vector<ring::Node> nodes, const std::vector<uint32_t>& slot_places,
                       Assembly& assembly) const {
  if (!assembly.first.settings.ok()) return;
  if (assembly.nodes.size() + nodes.size() > policy_.limits.max_nodes) {
    assembly.first.settings =
        absl::ResourceExhaustedError("the ring has more than " + std::to_string(policy_.limits.max_nodes) +
                                     " nodes, which is more than a copy holds");
    assembly.nodes.clear();
    return;
  }
  constexpr size_t kMostPlaces = (size_t{1} << ring::kMaxSlotBits) * ring::kMaxSlotOwners;
  if (assembly.slot_places.size() + slot_places.size() > kMostPlaces) {
    assembly.first.settings = absl::ResourceExhaustedError("the ring has more slots than any may have");
    assembly.nodes.clear();
    return;
  }
  assembly.slot_places.insert(assembly.slot_places.end(), slot_places.begin(), slot_places.end());
  std::move(nodes.begin(), nodes.end(), std::back_inserter(assembly.nodes));
}

void WatchMachine::Complete(Assembly assembly) {
  const SnapshotChunk& told = assembly.first;
  if (held_ != nullptr && told.version < held_->version && !told.rewound) return;  // of a replica that is behind
  if (!told.settings.ok()) return Distrust(told.settings.status());
  const HeldRingPtr before = held_;
  Install(told.version, told.checksum,
          ring::Ring::Create(*told.settings, std::move(assembly.nodes), /*next_join_number=*/1, policy_.limits,
                             std::move(assembly.slot_places)));
  if (held_ == nullptr || held_ == before) return;
  counts_.snapshots++;
  if (told.rewound) counts_.rewound++;
  // in_sync follows every snapshot.
  if (state_ != State::kDistrusted) state_ = State::kResyncing;
}

void WatchMachine::On(Stream& stream, const RingChange& change) {
  if (state_ == State::kDistrusted) return;
  if (held_ == nullptr) return BreakOff(stream.id, "a change came before any snapshot");
  if (change.version <= held_->version) return;  // held already
  const bool next = change.version.epoch == held_->version.epoch && change.from_revision == held_->version.revision &&
                    change.version.revision == change.from_revision + 1;
  if (!next) return BreakOff(stream.id, "a change does not lead from the revision that is held to the next one");
  if (!change.operations.ok()) return Distrust(change.operations.status());
  absl::StatusOr<ring::Applied> applied = held_->ring.Apply(*change.operations, change.slot_moves, policy_.limits);
  if (!applied.ok()) return Install(change.version, change.checksum, applied.status());
  ring::Ring ring = change.default_weight.has_value() ? applied->ring.WithDefaultWeight(*change.default_weight)
                                                      : std::move(applied->ring);
  Install(change.version, change.checksum, std::move(ring));
  if (held_ != nullptr && held_->version == change.version) counts_.changes++;
}

void WatchMachine::Install(ring::Version version, std::optional<uint64_t> checksum, absl::StatusOr<ring::Ring> ring) {
  if (!ring.ok()) return Distrust(ring.status());
  if (checksum.has_value() && *checksum != ring->checksum()) {
    counts_.checksum_mismatches++;
    return Distrust(
        absl::DataLossError("the copy of version " + ToString(version) + " has another checksum than the directory's"));
  }
  held_ = std::make_shared<const HeldRing>(HeldRing{.version = version, .ring = *std::move(ring)});
  ask_anew_ = false;
  mistaken_ = false;
  if (state_ == State::kDistrusted || state_ == State::kAbsent) state_ = State::kResyncing;
}

void WatchMachine::Distrust(const absl::Status& why) {
  problem_ = why;
  ask_anew_ = true;
  if (mistaken_) {
    // What is held is older than what the directory tells, and will not follow it any more.
    held_ = nullptr;
    state_ = State::kDistrusted;
    return;
  }
  mistaken_ = true;
  streams_.clear();
  OpenNow();
}

void WatchMachine::On(Stream& stream, const RingInSync&) {
  if (!IsFollowed(stream.id)) TakeOver();
  if (state_ != State::kResyncing || held_ == nullptr) return;
  state_ = State::kInSync;
  synced_at_ = now_;
  problem_ = absl::OkStatus();
}

void WatchMachine::On(Stream& stream, const RingGone&) {
  if (!IsFollowed(stream.id)) TakeOver();
  held_ = nullptr;
  ask_anew_ = false;
  mistaken_ = false;
  state_ = State::kAbsent;
}

void WatchMachine::On(Stream& stream, const Reconnect&) {
  // Of one that is not followed yet, it is remembered until it is.
  if (!std::exchange(stream.leaving, true) && IsFollowed(stream.id)) open_at_ = now_;
}

}  // namespace ringd
