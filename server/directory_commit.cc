// Directory::Commit: how mutations are prepared, made durable and published.
#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "fmt/format.h"
#include "ring/balance_warning.h"
#include "ring/error.h"
#include "server/directory.h"
#include "server/import_slots.h"
#include "server/restore.h"
#include "server/store_rules.h"

namespace ringd::server {
namespace {

std::string RingPrefix(std::string_view ring) { return fmt::format("ring {}: ", ring::Quote(ring)); }

absl::Status ForceRequired(const std::string& why) {
  return ring::Error(absl::StatusCode::kFailedPrecondition, kForceRequired, why + "; it needs force");
}

// What an answer tells of a change beside its version.
struct Outcome {
  ring::Movement movement;
  std::vector<std::string> warnings;
};

// Why a change of nodes needs `force`, or "" when it does not.
std::string WhyForce(const ring::Ring& before, const ring::Applied& applied) {
  const uint64_t total = before.total_weight();
  const uint64_t taken = ring::WeightTaken(applied.deltas);
  if (total != 0 && applied.ring.total_weight() == 0) {
    return fmt::format("the change takes away the last weighted node (weight {} of {})", taken, total);
  }
  if (taken > total / 2) {
    return fmt::format("the change takes away weight {} of {}, which is more than half", taken, total);
  }
  if (before.HasOwners() && !applied.ring.HasOwners()) {
    return "the change takes away the last point of a weighted node";
  }
  return "";
}

// Why deleting a ring needs `force`, or "" when it does not.
std::string WhyForce(const RingState& state) {
  if (state.ring.node_count() == 0) return "";
  return fmt::format("the ring is not empty, nodes: {}", state.ring.node_count());
}

// The settings of a ring after an update.
RingUpdate Updated(RingUpdate settings, const UpdateRing& update) {
  if (update.default_weight) settings.default_weight = *update.default_weight;
  if (update.labels) settings.labels = *update.labels;
  if (update.max_age) settings.history_limits.max_age = *update.max_age;
  if (update.max_changes) settings.history_limits.max_changes = *update.max_changes;
  return settings;
}

MutationResult PlanOn(const ring::Version& version, RingStatePtr state, Outcome outcome,
                      const std::string& force_reason) {
  return {.version = version,
          .previous_version = version,
          .movement = std::move(outcome.movement),
          .warnings = std::move(outcome.warnings),
          .plan = Plan{.state = std::move(state), .force_needed = !force_reason.empty(), .force_reason = force_reason}};
}

}  // namespace

// The mutations of one Commit: first each is prepared on top of those before it, then all are written and published.
class Directory::Burst {
 public:
  explicit Burst(Directory& directory) : directory_(directory), now_(directory.options_.clock()) {}

  void Add(const Mutation& mutation) {
    Step step{.builds_on = BuildsOn(mutation.ring)};
    const size_t writes_before = writes_.size();
    step.result = Prepare(mutation);
    if (writes_.size() > writes_before) step.builds_on = writes_before;
    steps_.push_back(std::move(step));
  }

  std::vector<absl::StatusOr<MutationResult>> Finish() {
    std::vector<absl::Status> outcomes;
    if (!writes_.empty()) {
      outcomes = directory_.store_.Commit(writes_, now_ - directory_.options_.tombstone_age);
      for (absl::Status& outcome : outcomes) outcome = StatusForCallers(outcome);
      PublishAccepted(outcomes);
      ReportWritable(outcomes);
    }
    std::vector<absl::StatusOr<MutationResult>> results;
    for (Step& step : steps_) {
      const bool refused = step.builds_on.has_value() && !outcomes[*step.builds_on].ok();
      results.push_back(refused ? outcomes[*step.builds_on] : std::move(step.result));
    }
    return results;
  }

 private:
  struct Step {
    // The last write of this burst that the result rests on, the step's own included.
    std::optional<size_t> builds_on;
    absl::StatusOr<MutationResult> result = absl::InternalError("not prepared");
  };
  // A ring as the writes so far would leave it; a null state means that it is gone.
  struct Pending {
    RingStatePtr state;
    size_t write = 0;
  };

  std::optional<size_t> BuildsOn(const std::string& ring) const {
    const auto it = pending_.find(ring);
    return it == pending_.end() ? std::nullopt : std::optional<size_t>(it->second.write);
  }

  RingStatePtr Current(const std::string& ring) const {
    if (const auto it = pending_.find(ring); it != pending_.end()) return it->second.state;
    auto found = directory_.Find(ring);
    return found.ok() ? *found : nullptr;
  }

  absl::StatusOr<MutationResult> Prepare(const Mutation& mutation) {
    if (absl::Status wanted = mutation.still_wanted ? mutation.still_wanted() : absl::OkStatus(); !wanted.ok()) {
      return wanted;
    }
    const RingStatePtr current = Current(mutation.ring);
    const bool create = std::holds_alternative<CreateRing>(mutation.what);
    const bool drop = std::holds_alternative<DeleteRing>(mutation.what);
    if (!mutation.request_id.empty() && !mutation.validate_only) {
      if (drop) {
        auto answered = AnsweredDelete(mutation);
        if (!answered.ok()) return answered.status();
        if (answered->has_value()) return **answered;
      }
      // A DeleteRing under the id of a change is another request than that one.
      auto answered = AnsweredChange(mutation, current);
      if (!answered.ok()) return answered.status();
      if (answered->has_value()) return **answered;
    }
    if (create) return PrepareCreate(mutation, current);
    if (current == nullptr) return RingNotFound(mutation.ring);
    if (absl::Status status = CheckExpected(mutation, *current); !status.ok()) return status;
    if (drop) return PrepareDelete(mutation, current);
    if (const auto* update = std::get_if<UpdateRing>(&mutation.what)) return PrepareUpdate(mutation, *update, current);
    if (const auto* restore = std::get_if<RestoreVersion>(&mutation.what)) {
      return PrepareRestore(mutation, restore->version, current);
    }
    if (const auto* import = std::get_if<ImportSlots>(&mutation.what)) return PrepareImport(mutation, *import, current);
    return PrepareNodes(mutation, std::get<ChangeNodes>(mutation.what).operations, current);
  }

  absl::StatusOr<MutationResult> PrepareCreate(const Mutation& mutation, const RingStatePtr& current) {
    const auto& create = std::get<CreateRing>(mutation.what);
    if (current != nullptr) {
      return ring::Error(absl::StatusCode::kAlreadyExists, kRingExists,
                         fmt::format("ring {} already exists", ring::Quote(mutation.ring)));
    }
    if (const size_t rings = RingCount(); rings >= directory_.options_.max_rings) {
      return ring::Error(absl::StatusCode::kResourceExhausted, ring::kLimitExceeded,
                         fmt::format("ring {} would be over the limit of {} rings", ring::Quote(mutation.ring),
                                     directory_.options_.max_rings));
    }
    auto made = ring::Ring::Create(create.settings, {});
    if (!made.ok()) return ring::Prefixed(RingPrefix(mutation.ring), made.status());
    RingState state{.head = {.name = mutation.ring,
                             .version = {.epoch = 0, .revision = 1},
                             .settings = create.settings,
                             .labels = create.labels,
                             .history_limits = create.history_limits,
                             .create_time = now_,
                             .update_time = now_,
                             .next_join_number = made->next_join_number(),
                             .checksum = made->checksum()},
                    .ring = *std::move(made),
                    .log = std::make_shared<ChangeLog>()};
    Outcome outcome{.movement = {}, .warnings = ring::BalanceWarnings(create.settings)};
    if (mutation.validate_only) {
      const ring::Version version = state.head.version;
      return PlanOn(version, std::make_shared<RingState>(std::move(state)), std::move(outcome), "");
    }
    state.head.version.epoch = directory_.NextEpoch();
    directory_.highest_epoch_ = state.head.version.epoch;
    return Accept(mutation, std::make_shared<RingState>(std::move(state)), {.warnings = std::move(outcome.warnings)},
                  nullptr);
  }

  absl::StatusOr<MutationResult> PrepareDelete(const Mutation& mutation, const RingStatePtr& current) {
    const std::string why = WhyForce(*current);
    if (!why.empty() && !mutation.force && !mutation.validate_only) {
      return ring::Prefixed(RingPrefix(mutation.ring), ForceRequired(why));
    }
    const auto nothing = ring::Ring::Create(current->head.settings, {});
    if (!nothing.ok()) return nothing.status();
    ring::Movement movement = ring::Compare(current->ring, *nothing);
    if (mutation.validate_only)
      return PlanOn(current->head.version, nullptr, {.movement = std::move(movement), .warnings = {}}, why);
    Tombstone tombstone{.name = mutation.ring,
                        .version = current->head.version,
                        .request_id = mutation.request_id,
                        .request_fingerprint = mutation.request_fingerprint,
                        .time = now_,
                        .movement = movement};
    pending_[mutation.ring] = {.state = nullptr, .write = writes_.size()};
    writes_.push_back(DropRing{tombstone});
    after_.push_back(nullptr);
    return MutationResult{
        .version = tombstone.version, .previous_version = tombstone.version, .movement = std::move(movement)};
  }

  absl::StatusOr<MutationResult> PrepareNodes(const Mutation& mutation, std::span<const ring::Operation> operations,
                                              const RingStatePtr& current) {
    auto applied = current->ring.Apply(operations, directory_.options_.ring_limits);
    if (!applied.ok()) return ring::Prefixed(RingPrefix(mutation.ring), applied.status());
    return PrepareChange(mutation, current, *std::move(applied), std::nullopt, Guard::kHolds);
  }

  // The other authority has decided already, so there is nothing to guard.
  absl::StatusOr<MutationResult> PrepareImport(const Mutation& mutation, const ImportSlots& import,
                                               const RingStatePtr& current) {
    auto applied = ApplyImport(current->ring, import, directory_.options_.ring_limits);
    if (!applied.ok()) return ring::Prefixed(RingPrefix(mutation.ring), applied.status());
    return PrepareChange(mutation, current, *std::move(applied), std::nullopt, Guard::kDoesNotHold);
  }

  absl::StatusOr<MutationResult> PrepareUpdate(const Mutation& mutation, const UpdateRing& update,
                                               const RingStatePtr& current) {
    const RingHead& head = current->head;
    RingDelta delta{.before = {head.settings.default_weight, head.labels, head.history_limits}};
    delta.after = Updated(delta.before, update);
    if (delta.after.default_weight != delta.before.default_weight) {
      // All nodes have the default there, so that another one would be a weight that no node may have.
      const auto* preset = std::get_if<ring::PresetSettings>(&head.settings.placement);
      if (preset != nullptr && !ring::FindPreset(preset->preset)->weighted) {
        return ring::Prefixed(
            RingPrefix(mutation.ring),
            ring::InvalidField(fmt::format("default_weight of preset {}, which has no weights, stays {}",
                                           ring::FindPreset(preset->preset)->name, delta.before.default_weight)));
      }
    }
    if (delta.after == delta.before) {
      return PrepareChange(mutation, current, {.ring = current->ring}, std::nullopt, Guard::kHolds);
    }
    ring::Ring ring = current->ring.WithDefaultWeight(delta.after.default_weight);
    return PrepareChange(mutation, current, {.ring = std::move(ring)}, std::move(delta), Guard::kHolds);
  }

  absl::StatusOr<MutationResult> PrepareRestore(const Mutation& mutation, const ring::Version& version,
                                                const RingStatePtr& current) {
    // Going back would part from the other authority, which has not.
    if (ring::IsImported(current->head.settings.placement)) {
      return ring::Error(
          absl::StatusCode::kFailedPrecondition, ring::kRingImported,
          RingPrefix(mutation.ring) + "its versions are decided elsewhere; ImportSlots alone changes it");
    }
    const auto read = [&](const ring::Version& last) -> absl::StatusOr<std::vector<ChangeRecord>> {
      if (mutation.still_wanted) {
        if (absl::Status wanted = mutation.still_wanted(); !wanted.ok()) return wanted;
      }
      return ReadBack(mutation.ring, last);
    };
    auto applied = GoBack(*current, version, directory_.options_.ring_limits, read);
    if (!applied.ok()) return applied.status();
    return PrepareChange(mutation, current, *std::move(applied), std::nullopt, Guard::kHolds);
  }

  enum class Guard { kHolds, kDoesNotHold };

  // Takes a ring's next content into the burst, or plans it.
  absl::StatusOr<MutationResult> PrepareChange(const Mutation& mutation, const RingStatePtr& current,
                                               ring::Applied applied, std::optional<RingDelta> ring_update,
                                               Guard guard) {
    const std::string why = guard == Guard::kHolds ? WhyForce(current->ring, applied) : "";
    if (!why.empty() && !mutation.force && !mutation.validate_only) {
      return ring::Prefixed(RingPrefix(mutation.ring), ForceRequired(why));
    }
    Outcome outcome{.movement = ring::Compare(current->ring, applied.ring),
                    .warnings = ring::BalanceWarnings(applied.ring)};
    if (applied.deltas.empty() && applied.moves.runs.empty() && !ring_update.has_value()) {
      if (mutation.validate_only) return PlanOn(current->head.version, current, std::move(outcome), why);
      return MutationResult{.version = current->head.version,
                            .previous_version = current->head.version,
                            .movement = std::move(outcome.movement),
                            .warnings = std::move(outcome.warnings)};
    }
    LookupCounts lookups(current->lookups, *current->ring.table(), *applied.ring.table());
    RingState next{
        .head = current->head, .ring = std::move(applied.ring), .log = current->log, .lookups = std::move(lookups)};
    next.head.version.revision++;
    next.head.update_time = now_;
    next.head.next_join_number = next.ring.next_join_number();
    next.head.checksum = next.ring.checksum();
    if (ring_update.has_value()) {
      next.head.settings.default_weight = ring_update->after.default_weight;
      next.head.labels = ring_update->after.labels;
      next.head.history_limits = ring_update->after.history_limits;
    }
    auto state = std::make_shared<const RingState>(std::move(next));
    auto slots = state->ring.slots() != current->ring.slots() ? state->ring.slots() : nullptr;
    if (mutation.validate_only) return PlanOn(current->head.version, std::move(state), std::move(outcome), why);
    return Accept(mutation, std::move(state),
                  {.from_checksum = current->head.checksum,
                   .nodes = std::move(applied.deltas),
                   .slot_moves = std::move(applied.moves),
                   .movement = std::move(outcome.movement),
                   .warnings = std::move(outcome.warnings),
                   .ring_update = std::move(ring_update)},
                  std::move(slots));
  }

  // Takes the state that a mutation leads to into the burst. `change` says what was changed; the rest of it is filled
  // in. `slots` as in PutRing.
  MutationResult Accept(const Mutation& mutation, RingStatePtr state, ChangeRecord change,
                        std::shared_ptr<const ring::SlotTable> slots) {
    const RingHead& head = state->head;
    const uint64_t revision = head.version.revision;
    const uint64_t max_changes = head.history_limits.max_changes.value_or(directory_.options_.history_max);
    MutationResult result{.version = head.version,
                          .previous_version = {.epoch = head.version.epoch, .revision = revision - 1},
                          .movement = change.movement,
                          .warnings = change.warnings};
    change.version = head.version;
    change.checksum = head.checksum;
    change.time = now_;
    change.actor = mutation.actor;
    change.reason = mutation.reason;
    change.request_id = mutation.request_id;
    change.request_fingerprint = mutation.request_fingerprint;
    PutRing put{.head = head,
                .change = std::move(change),
                .slots = std::move(slots),
                .keep_from_revision = revision > max_changes ? revision - max_changes + 1 : 0,
                .keep_from_time = now_ - head.history_limits.max_age.value_or(directory_.options_.history_age)};
    pending_[mutation.ring] = {.state = state, .write = writes_.size()};
    writes_.push_back(std::move(put));
    after_.push_back(std::move(state));
    return result;
  }

  // The changes of a ring from the one that led to `last` on back, those of this burst first. Empty when that one is
  // not kept.
  absl::StatusOr<std::vector<ChangeRecord>> ReadBack(const std::string& ring, const ring::Version& last) const {
    for (const Write& write : writes_) {
      const auto* put = std::get_if<PutRing>(&write);
      if (put != nullptr && put->head.name == ring && put->change.version == last) return {{put->change}};
    }
    return directory_.ReadEarlierChanges(ring, last, SIZE_MAX);
  }

  absl::Status CheckExpected(const Mutation& mutation, const RingState& current) const {
    if (!mutation.expected_version.has_value() || *mutation.expected_version == current.head.version) {
      return absl::OkStatus();
    }
    std::string text = fmt::format("ring {} is at version {}, not at the expected {}", ring::Quote(mutation.ring),
                                   ToString(current.head.version), ToString(*mutation.expected_version));
    if (const auto last = current.log->Get(current.head.version.revision); last != nullptr) {
      text += fmt::format("; last changed by {}", ring::Quote(last->record.actor));
    }
    return ring::Error(absl::StatusCode::kAborted, kVersionMismatch, text);
  }

  // The answer that a change with this request_id was given before, if it was.
  absl::StatusOr<std::optional<MutationResult>> AnsweredChange(const Mutation& mutation,
                                                               const RingStatePtr& current) const {
    if (current == nullptr) return std::nullopt;
    for (const Write& write : writes_) {
      const auto* put = std::get_if<PutRing>(&write);
      if (put != nullptr && put->head.name == mutation.ring && put->change.request_id == mutation.request_id &&
          put->head.version.epoch == current->head.version.epoch) {
        return Again(mutation, put->change, put->change.warnings);
      }
    }
    auto found = directory_.store_.FindRequest(mutation.ring, mutation.request_id);
    if (!found.ok()) return StatusForCallers(found.status());
    // A ring that this burst deleted and made anew is not the one that the store still knows.
    if (!found->has_value() || (*found)->version.epoch != current->head.version.epoch) return std::nullopt;
    return Again(mutation, **found, (*found)->warnings);
  }

  absl::StatusOr<std::optional<MutationResult>> AnsweredDelete(const Mutation& mutation) const {
    const auto it = directory_.tombstones_.find({mutation.ring, mutation.request_id});
    if (it != directory_.tombstones_.end() && !Forgotten(it->second)) {
      auto again = Again(mutation, it->second, {});
      if (again.ok()) (*again)->previous_version = it->second.version;
      return again;
    }
    for (const Write& write : writes_) {
      const auto* drop = std::get_if<DropRing>(&write);
      if (drop != nullptr && drop->tombstone.name == mutation.ring &&
          drop->tombstone.request_id == mutation.request_id) {
        auto again = Again(mutation, drop->tombstone, {});
        if (again.ok()) (*again)->previous_version = drop->tombstone.version;
        return again;
      }
    }
    return std::nullopt;
  }

  bool Forgotten(const Tombstone& tombstone) const { return tombstone.time < now_ - directory_.options_.tombstone_age; }

  // The answer that `done`, a ChangeRecord or a Tombstone, was given.
  static absl::StatusOr<std::optional<MutationResult>> Again(const Mutation& mutation, const auto& done,
                                                             const std::vector<std::string>& warnings) {
    const ring::Version& version = done.version;
    if (done.request_fingerprint != mutation.request_fingerprint) {
      return ring::Error(absl::StatusCode::kInvalidArgument, kRequestIdReused,
                         fmt::format("ring {}: request_id {} was used for another request at version {}",
                                     ring::Quote(mutation.ring), ring::Quote(mutation.request_id), ToString(version)));
    }
    return MutationResult{.version = version,
                          .previous_version = {.epoch = version.epoch, .revision = version.revision - 1},
                          .movement = done.movement,
                          .warnings = warnings,
                          .repeated = true};
  }

  size_t RingCount() const {
    size_t count = 0;
    {
      ReaderMutexLock lock(directory_.mutex_);
      count = directory_.rings_.size();
    }
    for (const auto& [name, pending] : pending_) {
      const bool published = directory_.Find(name).ok();
      if (published && pending.state == nullptr) count--;
      if (!published && pending.state != nullptr) count++;
    }
    return count;
  }

  void PublishAccepted(const std::vector<absl::Status>& outcomes) {
    std::vector<std::pair<std::string, RingStatePtr>> changed;
    const std::chrono::steady_clock::time_point published = directory_.options_.steady_clock();
    for (size_t i = 0; i < writes_.size(); i++) {
      if (!outcomes[i].ok()) continue;
      if (auto* put = std::get_if<PutRing>(&writes_[i])) {
        const std::string& name = after_[i]->head.name;
        // Watchers are not told of these, and the log holds many changes.
        put->change.movement = {};
        put->change.warnings = {};
        after_[i]->log->Append(
            std::make_shared<const PublishedChange>(PublishedChange{name, std::move(put->change), published}));
        changed.emplace_back(name, after_[i]);
      } else {
        const Tombstone& tombstone = std::get<DropRing>(writes_[i]).tombstone;
        if (!tombstone.request_id.empty()) {
          directory_.tombstones_[{tombstone.name, tombstone.request_id}] = tombstone;
        }
        changed.emplace_back(tombstone.name, nullptr);
      }
    }
    std::erase_if(directory_.tombstones_, [this](const auto& entry) { return Forgotten(entry.second); });
    if (!changed.empty()) directory_.Publish(changed);
  }

  void ReportWritable(const std::vector<absl::Status>& outcomes) {
    const bool writable = outcomes.back().ok() || absl::IsAborted(outcomes.back());
    if (writable != directory_.writable_) {
      directory_.options_.on_writable(writable ? absl::OkStatus() : outcomes.back());
    }
    directory_.writable_ = writable;
  }

  Directory& directory_;
  const absl::Time now_;
  std::vector<Step> steps_;
  std::vector<Write> writes_;
  std::vector<RingStatePtr> after_;  // of each write; null for a DropRing
  absl::flat_hash_map<std::string, Pending> pending_;
};

std::vector<absl::StatusOr<MutationResult>> Directory::Commit(std::span<const Mutation> mutations) {
  Burst burst(*this);
  for (const Mutation& mutation : mutations) burst.Add(mutation);
  return burst.Finish();
}

}  // namespace ringd::server
