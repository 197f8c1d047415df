// Readers of the directory that a fuzz target changes: they read until nothing is left to say, and complain of what a
// Watch may not do.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/local/watch_decoder.h"
#include "client/local/watch_machine.h"
#include "ringd/v1/directory.pb.h"
#include "server/responses.h"
#include "server/watch_session.h"
#include "tests/fuzz/fuzz.h"
#include "tests/server/watch_model.h"

namespace ringd::server {

// Reads what a session has to say, as the hub and the stream do, and calls `take` with each event and its message.
template <class Take>
void ReadAll(WatchSession& session, Store& store, Take take) {
  constexpr size_t kBatch = 2;  // few, so that more than one is read
  constexpr int kMost = 1'000;
  for (int said = 0; said < kMost; ++said) {
    const Next next = session.Advance();
    if (std::holds_alternative<Idle>(next)) return;
    if (const auto* needed = std::get_if<HistoryNeeded>(&next)) {
      session.ProvideHistory(needed->ring,
                             *store.ReadChanges(needed->ring, needed->epoch, needed->first, kBatch, SIZE_MAX));
      continue;
    }
    const auto& event = std::get<WatchEvent>(next);
    v1::WatchResponse message;
    ToProto(event, &message);
    const std::string bytes = message.SerializeAsString();
    fuzz::Check(bytes.size() < 4 << 20, "a message fits a stock client");
    v1::WatchResponse received;
    fuzz::Check(received.ParseFromString(bytes), "a message is read");
    take(event, received);
  }
  fuzz::Check(false, "a stream comes to its end");
}

// What a message says of a ring: its name and the version that the reader then holds; no name where it is of none.
struct Said {
  std::string ring;
  ring::Version version;
};
inline Said WhatIsSaid(const v1::WatchResponse& message) {
  const auto said = [](const std::string& ring, const v1::Version& version) {
    return Said{ring, {version.epoch(), version.revision()}};
  };
  switch (message.event_case()) {
    case v1::WatchResponse::kSnapshot:
      return said(message.snapshot().ring().name(), message.snapshot().ring().version());
    case v1::WatchResponse::kChange:
      return said(message.change().ring(), message.change().version());
    case v1::WatchResponse::kInSync:
      return said(message.in_sync().ring(), message.in_sync().version());
    case v1::WatchResponse::kAbsent:
      return {message.absent().ring(), {}};
    case v1::WatchResponse::kDeleted:
      return {message.deleted().ring(), {}};
    case v1::WatchResponse::kHeartbeat:
    case v1::WatchResponse::kReconnect:
    case v1::WatchResponse::EVENT_NOT_SET:
      break;
  }
  return {};
}

// Somebody whose Watch is part of the input, and who may say that it holds anything.
class Guest {
 public:
  Guest(const Directory& directory, RingSelector selector, const std::map<std::string, WatchPosition>& held)
      : directory_(directory), selector_(selector), session_(directory, std::move(selector), held) {
    for (const auto& [ring, position] : held) holds_[ring] = position.version;
  }

  WatchSession& session() { return session_; }

  void Read(Store& store) {
    ReadAll(session_, store, [this](const WatchEvent& event, const v1::WatchResponse& message) {
      in_sync_ |= std::holds_alternative<StreamInSync>(event);
      const Said said = WhatIsSaid(message);
      if (said.ring.empty()) return;
      if (message.has_change()) {
        fuzz::Check(
            holds_[said.ring].epoch == said.version.epoch && holds_[said.ring].revision + 1 == said.version.revision,
            "a change leads from what is held to the next revision");
      }
      holds_[said.ring] = said.version;
    });
    fuzz::Check(in_sync_, "whatever is held, the stream comes to be in sync");
    for (const RingStatePtr& state : directory_.List("", "", SIZE_MAX)) {
      const std::string& name = state->head.name;
      if (!selector_.MatchesPattern(name) && std::count(selector_.names.begin(), selector_.names.end(), name) == 0) {
        continue;
      }
      fuzz::Check(holds_[name] == state->head.version, "the reader was brought to the head");
    }
  }

 private:
  const Directory& directory_;
  const RingSelector selector_;
  WatchSession session_;
  std::map<std::string, ring::Version> holds_;
  bool in_sync_ = false;
};

// The test's own reader of all rings: by what the server says, and by what a client makes of its messages.
class Observer {
 public:
  explicit Observer(const Directory& directory) { Connect(directory); }

  WatchSession& session() { return *session_; }

  // A new stream, from what is held.
  void Connect(const Directory& directory) {
    directory_ = &directory;
    session_ = std::make_unique<WatchSession>(directory, kAll, model_.Held());
    model_.Reconnect();
    for (auto& [ring, copy] : copies_) {
      copy->Ended(copy->wanted().front(), absl::UnavailableError("restarted"), now_);
      now_ = std::max(now_, copy->wake_at());
    }
    for (auto& [ring, copy] : copies_) {
      copy->Woken(now_);
      fuzz::Check(copy->wanted().size() == 1, "a copy connects again");
    }
  }

  void Read(Store& store) {
    ReadAll(*session_, store, [this](const WatchEvent& event, const v1::WatchResponse& message) {
      model_.Apply(event);
      if (const std::string ring = WhatIsSaid(message).ring; !ring.empty()) {
        WatchMachine& copy = CopyOf(ring);
        const std::vector<WatchMachine::StreamId> streams = copy.wanted();
        copy.Received(streams.front(), Decode(message), now_);
        fuzz::Check(copy.wanted() == streams, "a copy follows", ring);
      }
    });
    fuzz::Check(model_.complaint().empty(), "a Watch keeps its promises", model_.complaint());
    const std::string difference = model_.Difference(*directory_, kAll);
    fuzz::Check(difference.empty(), "a reader knows the directory", difference);
    for (const RingStatePtr& state : directory_->List("", "", SIZE_MAX)) {
      const WatchMachine& copy = CopyOf(state->head.name);
      fuzz::Check(copy.state() == WatchMachine::State::kInSync && copy.held()->version == state->head.version &&
                      copy.held()->ring.checksum() == state->head.checksum,
                  "a copy is the directory's ring", state->head.name);
    }
  }

 private:
  WatchMachine& CopyOf(const std::string& ring) {
    auto& copy = copies_[ring];
    if (copy == nullptr) {
      copy = std::make_unique<WatchMachine>(
          WatchMachine::Policy{}, [] { return 0.5; }, now_);
      copy->Woken(now_);
    }
    return *copy;
  }

  const RingSelector kAll{.prefix = ""};
  const Directory* directory_;
  std::unique_ptr<WatchSession> session_;
  WatchModel model_;
  WatchMachine::Clock::time_point now_{std::chrono::hours(1)};
  std::map<std::string, std::unique_ptr<WatchMachine>> copies_;
};

}  // namespace ringd::server
