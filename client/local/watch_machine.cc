#include "client/local/watch_machine.h"

#include <algorithm>
#include <string>
#include <utility>

#include "proto/retry_after.h"

namespace ringd {

const HeldRingPtr WatchMachine::kNothing;

WatchMachine::WatchMachine(const Policy& policy, std::function<double()> random, Clock::time_point now)
    : policy_(policy),
      random_(random),
      problem_(absl::UnavailableError("not connected yet")),
      backoff_(policy.pauses, std::move(random)),
      now_(now),
      open_at_(now) {}

WatchMachine::Clock::time_point WatchMachine::wake_at() const { return open_ ? heard_at_ + policy_.silence : open_at_; }

WatchMachine::Actions WatchMachine::Woken(Clock::time_point now) {
  now_ = now;
  if (now < wake_at()) return {};
  if (!open_) return OpenNow();
  Lost(absl::UnavailableError("the directory has been silent for too long"));
  return {.close = true};
}

void WatchMachine::Ended(const absl::Status& status, Clock::time_point now) {
  now_ = now;
  Lost(status.ok() ? absl::UnavailableError("the directory ended the stream") : status);
}

WatchMachine::Actions WatchMachine::OpenNow() {
  open_ = true;
  alive_ = false;
  heard_at_ = now_;
  counts_.streams++;
  return {.open = true};
}

void WatchMachine::Lost(const absl::Status& status) {
  open_ = false;
  assembly_.reset();
  problem_ = status;
  if (state_ == State::kInSync && now_ - synced_at_ >= policy_.stable_after) backoff_.Reset();
  // All copies lose their streams together when a server stops, so they come back spread: as it says, or else as we do.
  const std::chrono::duration<double, std::milli> spread = policy_.spread * random_();
  Clock::duration pause = alive_ ? std::chrono::duration_cast<Clock::duration>(spread) : backoff_.Next();
  if (const auto after = RetryAfter(status); after.has_value()) {
    const Clock::duration told = std::min(*after, policy_.pauses.longest);
    pause = alive_ ? told : std::max(told, pause);
  }
  open_at_ = now_ + pause;
  if (state_ == State::kInSync || state_ == State::kResyncing) state_ = State::kConnecting;
}

WatchMachine::Actions WatchMachine::BreakOff(const std::string& why) {
  counts_.broken_order++;
  Lost(absl::InternalError(why));
  return {.close = true};
}

WatchMachine::Actions WatchMachine::Received(StreamEvent event, Clock::time_point now) {
  now_ = now;
  heard_at_ = now;
  alive_ = true;
  if (state_ == State::kConnecting) state_ = State::kResyncing;
  const Actions actions = std::visit([this](auto& what) { return On(std::move(what)); }, event);
  if (state_ == State::kInSync) current_at_ = now;
  return actions;
}

WatchMachine::Actions WatchMachine::On(SnapshotChunk chunk) {
  std::vector<ring::Node> nodes = std::exchange(chunk.nodes, {});
  const std::vector<uint32_t> slot_places = std::exchange(chunk.slot_places, {});
  const bool last = chunk.last;
  if (chunk.number == 0) {
    assembly_ = Assembly{.first = std::move(chunk)};
  } else if (!assembly_.has_value() || chunk.number != assembly_->next || chunk.version != assembly_->first.version) {
    return BreakOff("a chunk of a snapshot is out of place");
  }
  assembly_->next++;
  Add(std::move(nodes), slot_places, *assembly_);
  if (!last) return {};
  return Complete(*std::exchange(assembly_, std::nullopt));
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

WatchMachine::Actions WatchMachine::Complete(Assembly assembly) {
  const SnapshotChunk& told = assembly.first;
  if (held_ != nullptr && told.version < held_->version && !told.rewound) return {};  // of a replica that is behind
  if (!told.settings.ok()) return Distrust(told.settings.status());
  const HeldRingPtr before = held_;
  Actions actions = Install(told.version, told.checksum,
                            ring::Ring::Create(*told.settings, std::move(assembly.nodes), /*next_join_number=*/1,
                                               policy_.limits, std::move(assembly.slot_places)));
  if (held_ != nullptr && held_ != before) {
    counts_.snapshots++;
    if (told.rewound) counts_.rewound++;
    // in_sync follows every snapshot.
    if (state_ != State::kDistrusted) state_ = State::kResyncing;
  }
  return actions;
}

WatchMachine::Actions WatchMachine::On(const RingChange& change) {
  if (state_ == State::kDistrusted) return {};
  if (held_ == nullptr) return BreakOff("a change came before any snapshot");
  if (change.version <= held_->version) return {};  // held already
  const bool next = change.version.epoch == held_->version.epoch && change.from_revision == held_->version.revision &&
                    change.version.revision == change.from_revision + 1;
  if (!next) return BreakOff("a change does not lead from the revision that is held to the next one");
  if (!change.operations.ok()) return Distrust(change.operations.status());
  absl::StatusOr<ring::Applied> applied = held_->ring.Apply(*change.operations, change.slot_moves, policy_.limits);
  if (!applied.ok()) return Install(change.version, change.checksum, applied.status());
  ring::Ring ring = change.default_weight.has_value() ? applied->ring.WithDefaultWeight(*change.default_weight)
                                                      : std::move(applied->ring);
  const Actions actions = Install(change.version, change.checksum, std::move(ring));
  if (held_ != nullptr && held_->version == change.version) counts_.changes++;
  return actions;
}

WatchMachine::Actions WatchMachine::Install(ring::Version version, std::optional<uint64_t> checksum,
                                            absl::StatusOr<ring::Ring> ring) {
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
  return {};
}

WatchMachine::Actions WatchMachine::Distrust(const absl::Status& why) {
  problem_ = why;
  ask_anew_ = true;
  if (mistaken_) {
    // What is held is older than what the directory tells, and will not follow it any more.
    held_ = nullptr;
    state_ = State::kDistrusted;
    return {};
  }
  mistaken_ = true;
  assembly_.reset();
  Actions actions = OpenNow();
  actions.close = true;
  return actions;
}

WatchMachine::Actions WatchMachine::On(const RingInSync&) {
  if (state_ != State::kResyncing || held_ == nullptr) return {};
  state_ = State::kInSync;
  synced_at_ = now_;
  problem_ = absl::OkStatus();
  return {};
}

WatchMachine::Actions WatchMachine::On(const RingGone&) {
  held_ = nullptr;
  ask_anew_ = false;
  mistaken_ = false;
  state_ = State::kAbsent;
  return {};
}

}  // namespace ringd
