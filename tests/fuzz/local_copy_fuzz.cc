// A local copy against a directory that says anything: bytes as messages of a Watch, between them the losses and pauses
// of a stream. What is held is always a ring that the directory told, and never an older one unless it said so.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "client/local/ring_copy.h"
#include "client/local/watch_decoder.h"
#include "client/local/watch_machine.h"
#include "ring/checksum.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/inputs.h"
#include "tests/fuzz/message_mutator.h"
#include "tests/fuzz/messages.h"

namespace ringd {
namespace {

using fuzz::Check;
using fuzz::Input;
using State = WatchMachine::State;

constexpr ring::Limits kLimits{.max_nodes = 32, .max_points = 1'024};  // few, so that they are met

class Copy {
 public:
  Copy() { machine_.Woken(now_); }

  // By the newest stream, where there are two, or by the one that is followed.
  void Receive(const v1::WatchResponse& message, bool newest) {
    if (machine_.wanted().empty()) return;
    const WatchMachine::StreamId stream = newest ? machine_.wanted().back() : machine_.wanted().front();
    const Before before = Remember();
    if (message.has_snapshot() && message.snapshot().chunk() == 0) told_[stream] = message.snapshot();
    machine_.Received(stream, Decode(message), now_);
    if (message.has_absent() || message.has_deleted()) {
      Check(machine_.held() == nullptr && machine_.state() == State::kAbsent, "a ring that has gone is not held");
    } else {
      JudgeHeld(message, told_[stream], before);
    }
    Judge();
  }
  void Lose(uint8_t code, bool newest) {
    if (machine_.wanted().empty()) return;
    const HeldRingPtr held = machine_.held();
    machine_.Ended(newest ? machine_.wanted().back() : machine_.wanted().front(),
                   absl::Status(static_cast<absl::StatusCode>(code % 17), "lost"), now_);
    Check(machine_.held() == held, "the copy outlives its stream");
    Judge();
  }
  void Pass(uint16_t millis) {
    now_ += std::chrono::milliseconds(millis);
    constexpr int kMostAtOnce = 4;  // two streams that are lost, and two that are opened
    for (int i = 0; i < kMostAtOnce && machine_.wake_at() <= now_; ++i) machine_.Woken(now_);
    Check(machine_.wake_at() > now_, "who was woken waits again");
    Judge();
  }

 private:
  struct Before {
    HeldRingPtr held;
    WatchMachine::Counts counts;
  };

  Before Remember() const { return {machine_.held(), machine_.counts()}; }

  // `told` is chunk 0 of the last snapshot of the stream.
  void JudgeHeld(const v1::WatchResponse& message, const v1::Snapshot& told, const Before& before) {
    const HeldRingPtr& held = machine_.held();
    const uint64_t installed = machine_.counts().snapshots + machine_.counts().changes;
    Check(installed == before.counts.snapshots + before.counts.changes + (held != nullptr && held != before.held),
          "each copy that is installed is counted, and no other");
    if (held == nullptr || held == before.held) return;
    Check(message.has_snapshot() || message.has_change(), "only these bring a copy");
    const v1::Checksum& checksum = message.has_change() ? message.change().checksum() : told.ring().checksum();
    const v1::Version& version = message.has_change() ? message.change().version() : told.ring().version();
    Check(held->version.epoch == version.epoch() && held->version.revision == version.revision(),
          "the copy is the version that was told");
    Check(checksum.algorithm() != ring::kChecksumAlgorithm || checksum.value() == held->ring.checksum(),
          "the copy has the checksum that was told");
    if (before.held == nullptr) return;
    Check(held->version >= before.held->version || (message.has_snapshot() && told.rewound()), "the copy goes back");
    Check(!message.has_change() || (held->version.epoch == before.held->version.epoch &&
                                    held->version.revision == before.held->version.revision + 1),
          "a change leads to the next revision");
  }

  void Judge() {
    const HeldRingPtr& held = machine_.held();
    const bool open = !machine_.wanted().empty();
    Check(machine_.wanted().size() <= 2, "two streams at most");
    Check(machine_.state() != State::kInSync || (held != nullptr && open), "in sync with something");
    Check(machine_.state() != State::kAbsent || held == nullptr, "an absent ring is not held");
    Check(machine_.state() != State::kDistrusted || held == nullptr, "what is distrusted is not held");
    Check(machine_.position() == nullptr || machine_.position() == held, "a stream begins from what is held");
    Check(machine_.state() == State::kInSync || !machine_.problem().ok() || held != nullptr || open,
          "where there is nothing, there is a reason");
    if (held == nullptr) {
      copy_ = nullptr;
    } else if (held != shown_) {
      copy_ = MakeCopy(held, copy_.get());
      JudgeCopy();
    }
    shown_ = held;
  }

  void JudgeCopy() const {
    const ring::Ring& ring = machine_.held()->ring;
    Check(copy_->node_count() == ring.node_count() && ring.node_count() <= kLimits.max_nodes, "all nodes, and no more");
    Check(ring.point_count() <= kLimits.max_points, "no more points than a copy may have");
    double shares = 0;
    for (size_t i = 0; i < copy_->node_count(); ++i) {
      shares += copy_->share(i);
      Check(copy_->node(i).id == ring.node(i).id && copy_->node(i).weight == ring.node(i).weight, "each as it is");
    }
    Check(ring.HasOwners() ? std::abs(shares - 1) < 1e-9 : shares == 0, "shares sum to the whole");
    for (const std::string_view key : {"", "k", "user:17"}) {
      std::array<const Node*, ring::kMaxOwners> owners{};
      const size_t found = copy_->Owners(key, owners);
      Check((copy_->Owner(key) != nullptr) == ring.HasOwners() && (found > 0) == ring.HasOwners(),
            "a key has an owner where any node may own it");
      Check(found == 0 || owners[0] == copy_->Owner(key), "the first owner is the owner");
      Check(std::set(owners.begin(), owners.begin() + found).size() == found, "owners are distinct");
    }
  }

  WatchMachine::Clock::time_point now_{std::chrono::hours(1)};
  WatchMachine machine_{{.hedge_after = std::chrono::milliseconds(1'000), .limits = kLimits}, [] { return 0.5; }, now_};
  std::map<WatchMachine::StreamId, v1::Snapshot> told_;  // chunk 0 of the last snapshot of each
  HeldRingPtr shown_;
  std::shared_ptr<const RingCopy> copy_;
};

}  // namespace
}  // namespace ringd

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ringd;
  Input input(data, size);
  Copy copy;
  while (!input.AtEnd()) {
    const uint8_t kind = input.Byte();
    const auto step = static_cast<fuzz::CopyStep>(kind % fuzz::kCopySteps);
    const bool newest = kind / fuzz::kCopySteps % 2 != 0;
    const std::string_view bytes = input.Piece();
    Input piece(bytes);
    switch (step) {
      case fuzz::CopyStep::kLose:
        copy.Lose(piece.Byte(), newest);
        break;
      case fuzz::CopyStep::kPass:
        copy.Pass(piece.Number());
        break;
      case fuzz::CopyStep::kReceive: {
        v1::WatchResponse message;
        if (fuzz::Parse(bytes, &message)) copy.Receive(message, newest);
      }
    }
  }
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  using namespace ringd;
  static constexpr std::array kWords = {"", "r", "n1", "n2", "n3", "a", "{key}#{index}"};
  return fuzz::MutateSteps(data, size, max_size, {seed, kWords}, [](uint8_t kind) {
    const bool is_message = static_cast<fuzz::CopyStep>(kind % fuzz::kCopySteps) == fuzz::CopyStep::kReceive;
    return is_message ? &v1::WatchResponse::default_instance() : nullptr;
  });
}
