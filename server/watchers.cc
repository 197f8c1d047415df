#include "server/watchers.h"

#include <algorithm>

#include "fmt/format.h"
#include "ring/error.h"

namespace ringd::server {

uint64_t Behind(const ring::Version& head, const std::optional<ring::Version>& at) {
  if (!at.has_value() || at->epoch != head.epoch) return head.revision;
  return head.revision - std::min(head.revision, at->revision);
}

void Watchers::Add(const std::shared_ptr<const WatchedRings>& rings, Watcher watcher) {
  if (watcher.name.empty()) watcher.selector = {};
  AppliedTallies::Ids reached;
  {
    const MutexLock lock(mutex_);
    if (!watcher.name.empty()) {
      Named& named = named_.try_emplace(watcher.name, Named{.since = options_.clock()}).first->second;
      named.watches++;
      reached = Reselect(named, [&watcher](Selections& selections) { selections.Add(watcher.selector); });
    }
    streams_.emplace(rings.get(), std::make_shared<const Stream>(Stream{++streams_ever_, rings, std::move(watcher)}));
  }
  if (!reached.empty()) options_.on_reached(reached);
}

void Watchers::Remove(const WatchedRings* rings) {
  AppliedTallies::Ids reached;
  {
    const MutexLock lock(mutex_);
    const auto stream = streams_.find(rings);
    if (stream == streams_.end()) return;
    const Watcher& watcher = stream->second->watcher;
    if (const auto named = named_.find(watcher.name); named != named_.end()) {
      reached = Reselect(named->second, [&watcher](Selections& selections) { selections.Remove(watcher.selector); });
      if (--named->second.watches == 0) named_.erase(named);
    }
    streams_.erase(stream);
  }
  if (!reached.empty()) options_.on_reached(reached);
}

std::vector<Watchers::Reported> Watchers::ThoseThere(Positions positions) const {
  std::vector<Reported> there;
  there.reserve(positions.size());
  for (const auto& [ring, version] : positions) {
    const auto state = directory_.Find(ring);
    if (!state.ok() || version > (*state)->head.version) continue;
    Reported& reported = there.emplace_back(Reported{ring, version, std::nullopt});
    if (version.epoch != (*state)->head.version.epoch) continue;
    if (const auto change = (*state)->log->Get(version.revision); change != nullptr) {
      reported.published = change->published;
    }
  }
  return there;
}

absl::Status Watchers::Report(const std::string& name, Positions positions, Clock::duration ago) {
  const std::vector<Reported> there = ThoseThere(positions);
  const Clock::time_point applied_at = options_.clock() - ago;
  AppliedTallies::Ids reached;
  std::vector<Clock::duration> taken;
  {
    const MutexLock lock(mutex_);
    const auto it = named_.find(name);
    if (it == named_.end()) {
      return ring::Error(absl::StatusCode::kNotFound, kWatcherNotFound,
                         fmt::format("no Watch has the name {}", ring::Quote(name)));
    }
    Named& named = it->second;
    for (const auto& [ring, version, published] : there) {
      if (!named.selections.Selects(ring)) continue;
      ring::Version& applied = named.applied[ring];
      if (version <= applied) continue;
      tallies_.Moved(ring, applied, version, reached);
      applied = version;
      if (published.has_value() && *published >= named.since) taken.push_back(applied_at - *published);
    }
    if (named.applied.size() > named.most_applied) DropGone(named);
  }
  if (!reached.empty()) options_.on_reached(reached);
  for (const Clock::duration duration : taken) options_.on_applied(std::max(duration, Clock::duration::zero()));
  return absl::OkStatus();
}

WatchCensus Watchers::Census() const {
  constexpr int kAtATime = 256;
  WatchCensus census;
  std::map<std::string, std::optional<ring::Version>> heads;
  const auto head_of = [&](const std::string& ring) -> const std::optional<ring::Version>& {
    const auto [head, is_new] = heads.try_emplace(ring);
    if (is_new) {
      if (const auto state = directory_.Find(ring); state.ok()) head->second = (*state)->head.version;
    }
    return head->second;
  };
  std::string last;  // a name is not empty
  while (true) {
    const MutexLock lock(mutex_);
    auto it = named_.upper_bound(last);
    for (int i = 0; i < kAtATime && it != named_.end(); i++, ++it) {
      const auto& [name, named] = *it;
      census.names++;
      if (named.applied.empty()) census.silent++;
      for (const auto& [ring, applied] : named.applied) {
        const std::optional<ring::Version>& head = head_of(ring);
        if (head.has_value() && named.selections.Selects(ring)) census.lags.push_back(Behind(*head, applied));
      }
      last = name;
    }
    if (it == named_.end()) return census;
  }
}

void Watchers::Follow(const std::string& ring, const AppliedTallies::OfRing& tallies) {
  AppliedTallies::OfRing counted = tallies;
  const MutexLock lock(mutex_);
  for (const auto& [name, named] : named_) {
    if (!named.selections.Selects(ring)) continue;
    const ring::Version applied = named.AppliedOf(ring);
    for (auto& [id, tally] : counted) {
      tally.watchers++;
      if (applied >= tally.version) tally.applied++;
    }
  }
  for (const auto& [id, tally] : counted) tallies_.Add(ring, id, tally);
}

std::optional<AppliedOutcome> Watchers::Unfollow(const std::string& ring, uint64_t id, If when) {
  const MutexLock lock(mutex_);
  const AppliedTally tally = *tallies_.Find(ring, id);
  if (when == If::kReached && !tally.Reached()) return std::nullopt;
  tallies_.Remove(ring, id);
  return AppliedOutcome{.watchers = tally.watchers,
                        .applied = tally.applied,
                        .lagging = Lagging(ring, tally),
                        .reached = tally.Reached()};
}

std::vector<std::string> Watchers::Lagging(const std::string& ring, const AppliedTally& tally) const {
  const size_t wanted = std::min(kMaxLagging, tally.watchers - tally.applied);
  std::vector<std::string> names;
  for (auto it = named_.begin(); it != named_.end() && names.size() < wanted; ++it) {
    const auto& [name, named] = *it;
    if (named.selections.Selects(ring) && named.AppliedOf(ring) < tally.version) names.push_back(name);
  }
  return names;
}

template <class Edit>
AppliedTallies::Ids Watchers::Reselect(Named& named, const Edit& edit) {
  std::vector<bool> selected;
  for (const auto& [ring, tallies] : tallies_.rings()) selected.push_back(named.selections.Selects(ring));
  edit(named.selections);
  AppliedTallies::Ids reached;
  auto before = selected.begin();
  for (const auto& [ring, tallies] : tallies_.rings()) {
    const bool selects = named.selections.Selects(ring);
    if (selects && !*before) tallies_.Came(ring, named.AppliedOf(ring), reached);
    if (!selects && *before) tallies_.Went(ring, named.AppliedOf(ring), reached);
    ++before;
  }
  return reached;
}

void Watchers::DropGone(Named& named) const {
  // What is waited for is counted, and ends soon.
  std::erase_if(named.applied, [this, &waited_for = tallies_.rings()](const auto& applied) {
    return !directory_.Find(applied.first).ok() && !waited_for.contains(applied.first);
  });
  named.most_applied = std::max(named.most_applied, 2 * named.applied.size());
}

ring::Version Watchers::Named::AppliedOf(const std::string& ring) const {
  const auto it = applied.find(ring);
  return it == applied.end() ? ring::Version{} : it->second;
}

std::vector<WatcherRow> Watchers::List(const std::optional<std::string>& ring, const WatcherRow::Key& after,
                                       size_t max) const {
  std::vector<StreamPtr> streams;
  {
    const MutexLock lock(mutex_);
    streams.reserve(streams_.size());
    for (const auto& [rings, stream] : streams_) streams.push_back(stream);
  }
  std::map<WatcherRow::Key, WatcherRow> first;
  for (const StreamPtr& stream : streams) {
    const std::shared_ptr<const WatchedRings> rings = stream->rings.lock();
    if (rings == nullptr) continue;
    const Watcher& watcher = stream->watcher;
    rings->EachRing(ring.value_or(after.ring), [&](const std::string& watched, std::optional<ring::Version> sent) {
      if (ring.has_value() && watched != *ring) return false;
      WatcherRow::Key key{watched, watcher.name, stream->number};
      if (key <= after) return true;
      // The rings come in order: those that follow are no more on the page than this one is.
      if (first.size() == max && key > first.rbegin()->first) return false;
      first.emplace(key, WatcherRow{key, watcher.peer, watcher.since, sent, std::nullopt});
      if (first.size() > max) first.erase(std::prev(first.end()));
      return true;
    });
  }
  std::vector<WatcherRow> rows;
  rows.reserve(first.size());
  const MutexLock lock(mutex_);
  for (auto& [key, row] : first) {
    if (const auto named = named_.find(key.name); named != named_.end()) {
      const auto applied = named->second.applied.find(key.ring);
      if (applied != named->second.applied.end()) row.applied = applied->second;
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace ringd::server
