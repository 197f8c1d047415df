#include "server/directory.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "fmt/format.h"
#include "ring/error.h"
#include "server/store_rules.h"

namespace ringd::server {

absl::Status RingNotFound(std::string_view ring) {
  return ring::Error(absl::StatusCode::kNotFound, kRingNotFound, fmt::format("ring {} not found", ring::Quote(ring)));
}

absl::Status Stopping() { return ring::Error(absl::StatusCode::kUnavailable, kDraining, "the server is stopping"); }

absl::StatusOr<std::unique_ptr<Directory>> Directory::Open(Store& store, DirectoryOptions options) {
  std::unique_ptr<Directory> directory(new Directory(store, std::move(options)));
  if (absl::Status status = directory->Load(); !status.ok()) return status;
  return directory;
}

absl::Status Directory::Load() {
  auto contents = store_.Load();
  if (!contents.ok()) return contents.status();
  highest_epoch_ = contents->highest_epoch;
  for (Tombstone& tombstone : contents->tombstones) {
    const std::pair<std::string, std::string> key(tombstone.name, tombstone.request_id);
    tombstones_[key] = std::move(tombstone);
  }
  // Points are derived, not stored; hashing and sorting them is what a start costs, so all cores do it.
  std::vector<absl::StatusOr<RingStatePtr>> restored(contents->rings.size(), absl::InternalError("not restored"));
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < restored.size(); i = next++) restored[i] = Restore(std::move(contents->rings[i]));
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < std::min<size_t>(std::thread::hardware_concurrency(), restored.size()); i++) {
    threads.emplace_back(work);
  }
  work();
  for (std::thread& thread : threads) thread.join();

  WriterMutexLock lock(mutex_);
  for (const auto& state : restored) {
    if (!state.ok()) return state.status();
    rings_[(*state)->head.name] = *state;
  }
  return absl::OkStatus();
}

absl::StatusOr<RingStatePtr> Directory::Restore(StoredRing stored) const {
  auto made = ring::Ring::Create(stored.head.settings, std::move(stored.nodes), stored.head.next_join_number,
                                 ring::kUnlimited, std::move(stored.slot_places));
  const std::string prefix = fmt::format("ring {}: ", ring::Quote(stored.head.name));
  if (!made.ok()) return ring::Prefixed(prefix, made.status());
  if (made->checksum() != stored.head.checksum) {
    return absl::DataLossError(fmt::format("{}its content has the checksum {:016x}, the store has {:016x}", prefix,
                                           made->checksum(), stored.head.checksum));
  }
  return std::make_shared<const RingState>(
      RingState{.head = std::move(stored.head), .ring = *std::move(made), .log = std::make_shared<ChangeLog>()});
}

absl::StatusOr<RingStatePtr> Directory::Find(std::string_view ring) const {
  ReaderMutexLock lock(mutex_);
  const auto it = rings_.find(ring);
  if (it == rings_.end()) return RingNotFound(ring);
  return it->second;
}

std::vector<RingStatePtr> Directory::List(std::string_view prefix, std::string_view after, size_t max) const {
  std::vector<RingStatePtr> result;
  ReaderMutexLock lock(mutex_);
  auto it = after < prefix ? rings_.lower_bound(prefix) : rings_.upper_bound(after);
  for (; it != rings_.end() && result.size() < max && it->first.starts_with(prefix); ++it) {
    result.push_back(it->second);
  }
  return result;
}

absl::StatusOr<std::vector<ChangeRecord>> Directory::ReadEarlierChanges(std::string_view ring,
                                                                        const ring::Version& last, size_t max) const {
  constexpr size_t kBatch = 128;
  constexpr size_t kBatchBytes = 1 << 20;
  auto changes = store_.ReadEarlierChanges(ring, last.epoch, last.revision, std::min(max, kBatch), kBatchBytes);
  if (!changes.ok()) return StatusForCallers(changes.status());
  return changes;
}

uint64_t Directory::NextEpoch() const {
  constexpr int kRandomBits = 20;
  const uint64_t millis = std::max<int64_t>(absl::ToUnixMillis(options_.clock()), 0);
  const uint64_t random = options_.random() & ((1u << kRandomBits) - 1);
  return std::max((millis << kRandomBits) | random, highest_epoch_ + 1);
}

void Directory::Publish(const std::vector<std::pair<std::string, RingStatePtr>>& changed) {
  std::vector<std::string> names;
  std::vector<RingStatePtr> replaced;  // destroyed after the lock is released
  {
    WriterMutexLock lock(mutex_);
    for (const auto& [name, state] : changed) {
      names.push_back(name);
      auto it = rings_.find(name);
      if (it != rings_.end()) replaced.push_back(std::move(it->second));
      if (state == nullptr) {
        if (it != rings_.end()) rings_.erase(it);
      } else if (it != rings_.end()) {
        it->second = state;
      } else {
        rings_.emplace(name, state);
      }
    }
    publications_++;
  }
  options_.on_published(names);
}

}  // namespace ringd::server
