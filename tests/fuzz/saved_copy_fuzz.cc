// A saved copy of a ring: bytes as they are, and whole files of any chunks. Each is refused, or is a ring that keeps
// its rules, and is written as it was read.
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "client/local/ring_copy.h"
#include "client/local/saved_copy.h"
#include "client/local/watch_decoder.h"
#include "client/local/watch_machine.h"
#include "proto/codec.h"
#include "ringd/v1/directory.pb.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/inputs.h"
#include "tests/fuzz/message_mutator.h"
#include "tests/fuzz/messages.h"
#include "tests/support/sealed_copy.h"

namespace ringd {
namespace {

using fuzz::Check;

constexpr uint64_t kPresent = 1'700'000'000'000;  // in milliseconds
const CopyWanted kWanted{.ring = "r",
                         .now = std::chrono::system_clock::time_point(std::chrono::milliseconds(kPresent)),
                         .max_age = std::chrono::hours(1),
                         .limits = {.max_nodes = 32, .max_points = 1'024}};  // few, so that they are met

void Judge(std::string_view bytes) {
  const absl::StatusOr<SavedCopy> copy = DecodeCopy(bytes, kWanted);
  if (!copy.ok()) {
    Check(!absl::IsInternal(copy.status()) && !copy.status().message().empty(), "it is said what is wrong",
          copy.status().ToString());
    fuzz::CheckShowable(std::string(copy.status().message()));
    return;
  }
  const ring::Ring& ring = copy->held->ring;
  Check(ring.node_count() <= kWanted.limits.max_nodes && ring.point_count() <= kWanted.limits.max_points,
        "no more than may be");
  Check(copy->current_at <= kWanted.now + kClockSlack && copy->current_at >= kWanted.now - kWanted.max_age,
        "of a time that is wanted");
  double shares = 0;
  for (size_t i = 0; i < ring.node_count(); ++i) shares += ring.table()->ShareOf(i);
  Check(ring.HasOwners() ? std::abs(shares - 1) < 1e-9 : shares == 0, "shares sum to the whole");
  const std::shared_ptr<const RingCopy> shown = MakeCopy(copy->held, nullptr);
  Check((shown->Owner("k") != nullptr) == (ring.HasOwners() && ring.keys().CanPlace("k")), "a key has an owner");

  const absl::StatusOr<std::string> written = EncodeCopy(kWanted.ring, *copy);
  Check(written.ok(), "what was read is written", written.status().ToString());
  const absl::StatusOr<SavedCopy> again = DecodeCopy(*written, kWanted);
  Check(again.ok(), "what was written is read", again.status().ToString());
  Check(again->held->version == copy->held->version && again->held->ring.checksum() == ring.checksum() &&
            again->current_at == copy->current_at,
        "it is the same");
}

// What a file is made of.
struct Parts {
  uint64_t millis = kPresent;
  std::vector<std::string> chunks;
  std::string behind;
};

// Makes the checksum that the chunks tell that of the ring that they make, if they make one: chunks that were changed
// would be refused for it alone.
void Mend(std::vector<std::string>& chunks) {
  WatchMachine machine({.limits = kWanted.limits}, [] { return 0.0; }, {});
  machine.Woken({});
  const WatchMachine::StreamId stream = machine.wanted().front();
  std::vector<v1::WatchResponse> messages;
  for (const std::string& chunk : chunks) {
    v1::WatchResponse& message = messages.emplace_back();
    if (!fuzz::Parse(chunk, &message) || !message.has_snapshot()) return;
    message.mutable_snapshot()->mutable_ring()->clear_checksum();
    machine.Received(stream, Decode(message), {});
    if (!machine.Wants(stream)) return;
  }
  if (machine.held() == nullptr) return;
  chunks.clear();
  for (v1::WatchResponse& message : messages) {
    ToProto(machine.held()->ring.checksum(), message.mutable_snapshot()->mutable_ring()->mutable_checksum());
    chunks.push_back(message.SerializeAsString());
  }
}

}  // namespace
}  // namespace ringd

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ringd;
  using fuzz::SavedStep;
  fuzz::SilenceProtobuf();
  fuzz::Input input(data, size);
  Parts parts;
  while (!input.AtEnd()) {
    const auto step = static_cast<SavedStep>(input.Byte() % fuzz::kSavedSteps);
    const std::string_view piece = input.Piece();
    switch (step) {
      case SavedStep::kChunk:
        parts.chunks.emplace_back(piece);
        break;
      case SavedStep::kBytes:
        parts.behind += piece;
        break;
      case SavedStep::kSeconds:
        parts.millis = kPresent + uint64_t{1'000} * fuzz::Input(piece).Number() - 10'000'000;
        break;
      case SavedStep::kMend:
        Mend(parts.chunks);
        break;
      case SavedStep::kFile:
        Judge(piece);
    }
  }
  support::SealedCopy sealed{.millis = parts.millis};
  for (const std::string& chunk : parts.chunks) sealed.Add(chunk);
  sealed.chunks += parts.behind;
  Judge(sealed.bytes());
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  using namespace ringd;
  static constexpr std::array kWords = {"", "r", "n1", "n2", "n3", "a", "{key}#{index}"};
  return fuzz::MutateSteps(data, size, max_size, {seed, kWords}, [](uint8_t kind) {
    const bool is_message = static_cast<fuzz::SavedStep>(kind % fuzz::kSavedSteps) == fuzz::SavedStep::kChunk;
    return is_message ? &v1::WatchResponse::default_instance() : nullptr;
  });
}
