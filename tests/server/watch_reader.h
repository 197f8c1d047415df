// WatchReader: the other end of a WatchSession in a test. It puts each event into words and shows it to a WatchModel.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tests/server/test_directory.h"
#include "tests/server/watch_model.h"

namespace ringd::server {

// An event in words, such as "change r 1/2 +n1", "snapshot r 1/3 #0 n1 n2 n3", "in_sync r 1/3", "in_sync".
inline std::string TextOf(const WatchEvent& event) {
  struct Words {
    std::string operator()(const SnapshotChunk& chunk) const {
      std::string text = fmt::format("snapshot {} {} #{}", chunk.head.name, ToString(chunk.head.version), chunk.number);
      // Long chunks are told by their size.
      if (chunk.last - chunk.first > 4) text += fmt::format(" {} nodes", chunk.last - chunk.first);
      for (size_t i = chunk.first; i < chunk.last && chunk.last - chunk.first <= 4; ++i) {
        text += " " + chunk.table->nodes[i]->id;
      }
      if (chunk.last_place != chunk.first_place)
        text += fmt::format(" {} places", chunk.last_place - chunk.first_place);
      if (!chunk.complete) text += " ...";
      if (chunk.rewound) text += " rewound";
      return text;
    }
    std::string operator()(const ChangeEvent& change) const {
      std::string text = fmt::format("change {} {}", change->ring, ToString(change->record.version));
      for (const ring::NodeDelta& delta : change->record.nodes) {
        text += delta.before == nullptr  ? " +" + delta.after->id
                : delta.after == nullptr ? " -" + delta.before->id
                                         : " =" + delta.after->id;
      }
      if (const size_t runs = change->record.slot_moves.runs.size(); runs != 0) text += fmt::format(" {} runs", runs);
      return text;
    }
    std::string operator()(const RingInSync& in_sync) const {
      return fmt::format("in_sync {} {}", in_sync.ring, ToString(in_sync.version));
    }
    std::string operator()(const StreamInSync&) const { return "in_sync"; }
    std::string operator()(const Heartbeat& heartbeat) const {
      std::string text = "heartbeat";
      for (const auto& [ring, version] : heartbeat.moved) text += fmt::format(" {} {}", ring, ToString(version));
      return text;
    }
    std::string operator()(const Reconnect& reconnect) const {
      return fmt::format("reconnect {}", reconnect.within.count());
    }
    std::string operator()(const Absent& absent) const { return "absent " + absent.ring; }
    std::string operator()(const Deleted& deleted) const {
      return fmt::format("deleted {} {}", deleted.ring, ToString(deleted.version));
    }
  };
  return std::visit(Words(), event);
}

class WatchReader {
 public:
  WatchReader(TestDirectory& directory, RingSelector selector, std::map<std::string, WatchPosition> held = {})
      : directory_(directory), selector_(selector), session_(*directory, std::move(selector), std::move(held)) {}

  WatchSession& session() { return session_; }
  int history_reads() const { return history_reads_; }

  // Does the mutation and touches the session, as the hub does.
  void Do(const Mutation& mutation) {
    directory_.Do(mutation);
    session_.Touch(mutation.ring);
  }

  // The next thing said, in words; history is read as the hub does. "" when there is nothing to say.
  std::string Next() {
    while (true) {
      server::Next next = session_.Advance();
      if (std::holds_alternative<Idle>(next)) return "";
      if (const auto* event = std::get_if<WatchEvent>(&next)) return TextOf(*event);
      const auto& needed = std::get<HistoryNeeded>(next);
      history_reads_++;
      constexpr size_t kBatch = 3;  // few, so that tests see more than one
      session_.ProvideHistory(
          needed.ring, *directory_.store().ReadChanges(needed.ring, needed.epoch, needed.first, kBatch, SIZE_MAX));
    }
  }
  // All that is said until nothing is left to say.
  std::vector<std::string> Rest() {
    std::vector<std::string> said;
    for (std::string text = Next(); !text.empty(); text = Next()) said.push_back(text);
    return said;
  }

 private:
  TestDirectory& directory_;
  const RingSelector selector_;
  WatchSession session_;
  int history_reads_ = 0;
};

}  // namespace ringd::server
