// WatchModel: what a reader of one Watch stream may believe. It applies the events and complains of every promise of
// the stream that one of them breaks: order, no gap, nothing twice, whole snapshots, in_sync and heartbeats in place.
//
// Not synchronised.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "server/watch_session.h"

namespace ringd::server {

class WatchModel {
 public:
  // A reader's copy of a ring, or what it holds of one whose content the test does not care for.
  struct Copy {
    ring::Version version;
    uint64_t checksum = 0;
    RingHead head;
    std::map<std::string, ring::NodePtr> nodes;
    std::vector<std::vector<std::string>> slots;  // of a ring of slots, the ids of each one's owners
  };

  // What a reader keeps from one stream to the next.
  const std::map<std::string, Copy>& copies() const { return copies_; }
  std::map<std::string, WatchPosition> Held() const {
    std::map<std::string, WatchPosition> held;
    for (const auto& [ring, copy] : copies_) held[ring] = {copy.version, copy.checksum};
    return held;
  }
  // A new stream begins from what is held.
  void Reconnect() {
    installing_.reset();  // half a snapshot is none
    streams_.clear();
    stream_in_sync_ = false;
  }

  void Apply(const WatchEvent& event) {
    if (installing_ && !std::holds_alternative<SnapshotChunk>(event)) Complain("an event within a snapshot");
    std::visit([this](const auto& what) { On(what); }, event);
  }

  // The first complaint, or "".
  const std::string& complaint() const { return complaint_; }
  bool stream_in_sync() const { return stream_in_sync_; }

  // What differs from the directory once everything has been said, or "".
  std::string Difference(const Directory& directory, const RingSelector& selector) const {
    std::set<std::string> there;
    for (const auto& state : directory.List("", "", SIZE_MAX)) {
      const RingHead& head = state->head;
      const bool named = std::count(selector.names.begin(), selector.names.end(), head.name) != 0;
      if (!named && !selector.MatchesPattern(head.name)) continue;
      there.insert(head.name);
      const auto copy = copies_.find(head.name);
      if (copy == copies_.end()) return fmt::format("{} is not known", head.name);
      const auto stream = streams_.find(head.name);
      if (stream == streams_.end() || !stream->second.in_sync) return fmt::format("{} is not in sync", head.name);
      if (copy->second.version != head.version) return fmt::format("{} is at another version", head.name);
      if (copy->second.checksum != head.checksum) return fmt::format("{} has another checksum", head.name);
      const auto table = state->ring.table();
      if (copy->second.nodes.size() != table->nodes.size()) return fmt::format("{} has other nodes", head.name);
      for (const ring::NodePtr& node : table->nodes) {
        const auto found = copy->second.nodes.find(node->id);
        if (found == copy->second.nodes.end() || *found->second != *node) {
          return fmt::format("{} has another node {}", head.name, node->id);
        }
      }
    }
    for (const auto& [ring, copy] : copies_) {
      if (!there.contains(ring)) return fmt::format("{} has gone and is still known", ring);
    }
    return stream_in_sync_ ? "" : "the stream is not in sync";
  }

 private:
  // What this stream said of a ring.
  struct Stream {
    bool delivered = false;  // it said what the ring's state is, so that the directory knows what the reader holds
    bool in_sync = false;
    bool absent = false;
    bool moved = false;  // since the last heartbeat
  };

  void Complain(const std::string& text) {
    if (complaint_.empty()) complaint_ = text;
  }

  void On(const SnapshotChunk& chunk) {
    const std::string& ring = chunk.head.name;
    if (!installing_) {
      if (chunk.number != 0 || chunk.first != 0) Complain("a snapshot does not begin at its beginning");
      installing_ = Copy{chunk.head.version, chunk.head.checksum, chunk.head, {}, {}};
      places_ = 0;
    } else if (installing_->head != chunk.head) {
      Complain("chunks of two snapshots are mixed");
    } else if (chunk.number != next_chunk_) {
      Complain("a chunk is missing or comes twice");
    }
    next_chunk_ = chunk.number + 1;
    for (size_t i = chunk.first; i < chunk.last; ++i) {
      const ring::NodePtr& node = chunk.table->nodes[i];
      if (!installing_->nodes.empty() && installing_->nodes.rbegin()->first >= node->id) Complain("nodes out of order");
      installing_->nodes[node->id] = node;
    }
    if (chunk.slots != nullptr) {
      if (chunk.first_place != places_) Complain("slots out of order");
      places_ = chunk.last_place;
    }
    if (!chunk.complete) return;
    if (chunk.slots != nullptr) {
      if (places_ != chunk.slots->places().size()) Complain("a complete snapshot lacks slots");
      for (size_t slot = 0; slot < chunk.slots->slot_count(); ++slot) {
        std::vector<std::string>& ids = installing_->slots.emplace_back();
        for (const uint32_t node : chunk.slots->MembersOf(slot)) ids.push_back(chunk.table->nodes[node]->id);
      }
    }
    if (installing_->nodes.size() != chunk.table->nodes.size()) Complain("a complete snapshot lacks nodes");

    Stream& stream = streams_[ring];
    if (const auto held = copies_.find(ring); held != copies_.end()) {
      const ring::Version before = held->second.version;
      if (before > chunk.head.version && !chunk.rewound) Complain("a snapshot goes back");
      if (stream.delivered && before >= chunk.head.version) Complain("a snapshot brings nothing new");
      if (stream.delivered && before.epoch != chunk.head.version.epoch) Complain("another epoch without `deleted`");
    }
    stream = {.delivered = true, .moved = true};
    copies_[ring] = *std::move(installing_);
    installing_.reset();
    Verify(copies_[ring]);
  }

  void On(const ChangeEvent& change) {
    const ChangeRecord& record = change->record;
    const auto held = copies_.find(change->ring);
    if (held == copies_.end()) return Complain("a change of a ring that is not held");
    Copy& copy = held->second;
    if (record.version.epoch != copy.version.epoch) return Complain("a change of another epoch");
    if (record.version.revision != copy.version.revision + 1) {
      return Complain(fmt::format("a change to {} on {}", record.version.revision, copy.version.revision));
    }
    if (record.from_checksum != copy.checksum) Complain("a change from another state");
    for (const ring::NodeDelta& delta : record.nodes) {
      const std::string& id = delta.after != nullptr ? delta.after->id : delta.before->id;
      const auto node = copy.nodes.find(id);
      if ((node != copy.nodes.end()) != (delta.before != nullptr)) Complain("a change of a node that is not as it was");
      if (node != copy.nodes.end() && delta.before != nullptr && *node->second != *delta.before) {
        Complain("a change of a node that had other content");
      }
      if (delta.after != nullptr) {
        copy.nodes[id] = delta.after;
      } else {
        copy.nodes.erase(id);
      }
    }
    const ring::SlotMoves& moves = record.slot_moves;
    for (size_t run = 0; run < moves.runs.size(); ++run) {
      for (size_t slot = moves.runs[run].first; slot <= moves.runs[run].last; ++slot) {
        std::vector<std::string> before;
        std::vector<std::string> after;
        for (const uint32_t node : moves.BeforeOf(run)) {
          if (node != ring::SlotTable::kNobody) before.push_back(moves.nodes[node]);
        }
        for (const uint32_t node : moves.AfterOf(run)) {
          if (node != ring::SlotTable::kNobody) after.push_back(moves.nodes[node]);
        }
        if (copy.slots.at(slot) != before) Complain("a slot moves from where it was not");
        copy.slots.at(slot) = after;
      }
    }
    copy.version = record.version;
    copy.checksum = record.checksum;
    streams_[change->ring].delivered = true;
    streams_[change->ring].moved = true;
    Verify(copy);
  }

  void On(const RingInSync& in_sync) {
    const auto held = copies_.find(in_sync.ring);
    if (held == copies_.end() || held->second.version != in_sync.version) Complain("in_sync at another version");
    Stream& stream = streams_[in_sync.ring];
    if (stream.in_sync) Complain("in_sync twice");
    stream.delivered = stream.in_sync = true;
  }

  void On(const StreamInSync&) {
    if (stream_in_sync_) Complain("the stream is in sync twice");
    for (const auto& [ring, copy] : copies_) {
      if (!streams_[ring].in_sync) Complain("the stream is in sync before " + ring);
    }
    stream_in_sync_ = true;
  }

  void On(const server::Reconnect&) {}
  void On(const Heartbeat& heartbeat) {
    std::set<std::string> named;
    for (const auto& [ring, version] : heartbeat.moved) {
      if (!named.insert(ring).second) Complain("a heartbeat names a ring twice");
      const auto held = copies_.find(ring);
      if (held == copies_.end() || held->second.version != version) Complain("a heartbeat tells another version");
    }
    for (auto& [ring, stream] : streams_) {
      if (stream.moved != named.contains(ring)) Complain("a heartbeat does not name just what moved");
      stream.moved = false;
    }
  }

  void On(const Absent& absent) {
    Stream& stream = streams_[absent.ring];
    if (stream.absent) Complain("absent twice");
    if (stream.delivered) Complain("absent instead of deleted");
    copies_.erase(absent.ring);
    stream = {.absent = true};
  }

  void On(const Deleted& deleted) {
    const auto held = copies_.find(deleted.ring);
    if (held == copies_.end() || held->second.version != deleted.version) Complain("deleted at another version");
    if (!streams_[deleted.ring].delivered) Complain("deleted before anything was said");
    copies_.erase(deleted.ring);
    streams_[deleted.ring] = {.absent = true};
  }

  // What is held must give the checksum that was told.
  void Verify(const Copy& copy) {
    std::vector<ring::Node> nodes;
    for (const auto& [id, node] : copy.nodes) nodes.push_back(*node);
    std::vector<uint32_t> places;
    const auto shape = ring::SlotShapeOf(copy.head.settings.placement);
    for (const std::vector<std::string>& ids : copy.slots) {
      for (const std::string& id : ids) {
        const auto node = copy.nodes.find(id);
        if (node == copy.nodes.end()) return Complain("a slot of a node that is not there");
        places.push_back(static_cast<uint32_t>(std::distance(copy.nodes.begin(), node)));
      }
      places.resize(places.size() + shape->owners - ids.size(), ring::SlotTable::kNobody);
    }
    const auto made = ring::Ring::Create(copy.head.settings, std::move(nodes), 1'000'000, ring::kUnlimited, places);
    if (!made.ok() || made->checksum() != copy.checksum) Complain("what is held does not give the checksum");
  }

  std::map<std::string, Copy> copies_;
  std::map<std::string, Stream> streams_;
  std::optional<Copy> installing_;
  uint32_t next_chunk_ = 0;
  size_t places_ = 0;  // of slots that the chunks so far told
  bool stream_in_sync_ = false;
  std::string complaint_;
};

}  // namespace ringd::server
