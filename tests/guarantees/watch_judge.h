// WatchJudge: judges what one reader is told by its Watches, one after the other, each of which goes on from what the
// reader held when the one before it ended. It knows the promises of directory.proto and nothing of how ringd or the
// client library keep them: each change once, in order, from the revision held; snapshots whole, and only where the
// history cannot serve what is held; checksums those of the content; in_sync and heartbeats no lies.
//
// Not synchronised.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/local/watch_machine.h"
#include "ring/ring.h"
#include "ring/version.h"
#include "ringd/v1/directory.pb.h"

namespace ringd {

class WatchJudge {
 public:
  using Versions = std::map<std::string, ring::Version>;
  // Versions of a ring with their checksums, as they were told.
  using Story = std::vector<std::pair<ring::Version, uint64_t>>;

  struct Counts {
    uint64_t streams = 0;
    uint64_t changes = 0;
    uint64_t snapshots = 0;
    uint64_t half_snapshots = 0;  // of which the stream was cut before the last chunk
    uint64_t in_syncs = 0;        // of a ring
    uint64_t heartbeats = 0;
    uint64_t gaps = 0;     // changes that came without the one before them
    uint64_t repeats = 0;  // changes of what was held already

    void operator+=(const Counts& other);
  };

  // The rings that are watched, with how many changes the history of each keeps.
  explicit WatchJudge(std::map<std::string, uint64_t> rings) : kept_(std::move(rings)) {}

  // A new stream begins. The request of it; `published` are versions that there are already.
  v1::WatchRequest Begin(Versions published);
  // The next message of the stream. What follows a complaint is passed over, until the next stream.
  void Read(const v1::WatchResponse& message);

  // Whether the stream said that it is in sync.
  bool in_sync() const { return in_sync_; }
  bool complained() const { return complained_; }
  Versions held() const;
  // All that was told of a ring, in the order in which it came.
  Story StoryOf(const std::string& ring) const;
  const Counts& counts() const { return counts_; }
  // The first few complaints.
  const std::vector<std::string>& complaints() const { return complaints_; }

 private:
  struct Copy {
    ring::Version version;
    uint64_t checksum = 0;
    ring::Ring ring;
  };
  // What this stream said of a ring.
  struct Said {
    bool in_sync = false;  // since the last snapshot
    bool moved = false;    // since the last heartbeat
  };

  void OnSnapshot(const v1::WatchResponse& message);
  void Complete(const std::string& ring, SnapshotChunk snapshot);
  void OnChange(const v1::WatchResponse& message);
  void OnInSync(const v1::InSync& message);
  void OnHeartbeat(const v1::Heartbeat& message);
  // Whether everything that was published before the stream began is held of this ring.
  bool IsCurrent(const std::string& ring) const;
  void Install(const std::string& ring, Copy copy);
  void Complain(const std::string& ring, const std::string& what);

  const std::map<std::string, uint64_t> kept_;
  std::map<std::string, Copy> copies_;
  std::map<std::string, Story> told_;
  Counts counts_;
  std::vector<std::string> complaints_;

  // Of the stream.
  Versions published_;
  std::map<std::string, Said> said_;
  std::optional<SnapshotChunk> snapshot_;  // what came of one that is not complete
  bool in_sync_ = false;
  bool complained_ = false;
};

}  // namespace ringd
