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
  const MutexLock lock(mutex_);
  if (!watcher.name.empty()) {
    Named& named = named_[watcher.name];
    named.watches++;
    named.selections.Add(watcher.selector);
  }
  streams_.emplace(rings.get(), std::make_shared<const Stream>(Stream{++streams_ever_, rings, std::move(watcher)}));
}

void Watchers::Remove(const WatchedRings* rings) {
  const MutexLock lock(mutex_);
  const auto stream = streams_.find(rings);
  if (stream == streams_.end()) return;
  const Watcher& watcher = stream->second->watcher;
  if (const auto named = named_.find(watcher.name); named != named_.end()) {
    named->second.selections.Remove(watcher.selector);
    if (--named->second.watches == 0) named_.erase(named);
  }
  streams_.erase(stream);
}

absl::Status Watchers::Report(const std::string& name, Positions positions) {
  std::vector<const Positions::value_type*> reached;
  reached.reserve(positions.size());
  for (const auto& position : positions) {
    const auto state = directory_.Find(position.first);
    if (state.ok() && position.second <= (*state)->head.version) reached.push_back(&position);
  }
  const MutexLock lock(mutex_);
  const auto it = named_.find(name);
  if (it == named_.end()) {
    return ring::Error(absl::StatusCode::kNotFound, kWatcherNotFound,
                       fmt::format("no Watch has the name {}", ring::Quote(name)));
  }
  Named& named = it->second;
  for (const auto* position : reached) {
    const auto& [ring, version] = *position;
    if (!named.selections.Selects(ring)) continue;
    ring::Version& applied = named.applied[ring];
    applied = std::max(applied, version);
  }
  if (named.applied.size() > named.most_applied) DropGone(named);
  return absl::OkStatus();
}

void Watchers::DropGone(Named& named) const {
  std::erase_if(named.applied, [this](const auto& applied) { return !directory_.Find(applied.first).ok(); });
  named.most_applied = std::max(named.most_applied, 2 * named.applied.size());
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
