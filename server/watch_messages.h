// WatchMessages: the bytes of what Watch streams say. A change, or a chunk of a snapshot, is serialised once, and its
// bytes are shared by all streams that send it while they are kept.
//
// Memory: the newest messages are kept, up to kKeptBytes with all that they take, beside those that are being sent.
// Threads: any. Of those that ask for the same message at once, one serialises it and the others wait for that.
#pragma once

#include <atomic>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "grpcpp/support/slice.h"
#include "ring/mutex.h"
#include "ring/version.h"
#include "server/watch_session.h"

namespace ringd::server {

class WatchMessages {
 public:
  static constexpr size_t kKeptBytes = 16 << 20;
  // What a message takes beside its bytes, at most: its key twice, with the longest name of a ring, and the memory of
  // the containers. Most changes are smaller than that.
  static constexpr size_t kEntryBytes = 768;

  // The event as a WatchResponse. Copies of a slice share its bytes.
  grpc::Slice Of(const WatchEvent& event);

  // How often a change or a chunk was serialised.
  uint64_t serialised() const { return serialised_; }

 private:
  // What many streams may say: the change that leads to a version of a ring, or a chunk of its snapshot.
  struct Key {
    enum class Kind { kChange, kChunk, kRewoundChunk };
    std::string ring;
    ring::Version version;
    Kind kind = Kind::kChange;
    uint32_t chunk = 0;

    auto operator<=>(const Key&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 misreads it
  };
  struct Message {
    std::once_flag once;
    grpc::Slice bytes;
  };

  static std::optional<Key> KeyOf(const WatchEvent& event);
  std::shared_ptr<Message> Find(const Key& key);
  // Counts what a message that was serialised takes, and forgets the oldest that are too many.
  void Keep(const Key& key, size_t bytes);

  std::atomic<uint64_t> serialised_ = 0;
  Mutex mutex_;
  std::map<Key, std::shared_ptr<Message>> messages_ ABSL_GUARDED_BY(mutex_);
  std::deque<std::pair<Key, size_t>> kept_ ABSL_GUARDED_BY(mutex_);  // the oldest first, with their bytes
  size_t kept_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace ringd::server
