#include "client/local/saved_copy.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>

#include "absl/time/time.h"
#include "client/local/watch_decoder.h"
#include "proto/codec.h"
#include "proto/serialize.h"
#include "ring/error.h"
#include "ring/hash.h"

namespace ringd {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kMagic = "ringdcpy";
constexpr uint32_t kFormat = 1;
constexpr size_t kHeaderBytes = kMagic.size() + sizeof(uint32_t) + 2 * sizeof(uint64_t);
constexpr size_t kHashBytes = sizeof(uint64_t);
constexpr size_t kChunkBytes = 1 << 20;
constexpr size_t kChunkPlaces = 1 << 18;

template <class Number>
void Append(Number number, std::string* out) {
  for (size_t i = 0; i < sizeof(number); ++i) out->push_back(static_cast<char>(number >> (8 * i)));
}

// REQUIRES as many bytes.
template <class Number>
Number Take(std::string_view& bytes) {
  Number number = 0;
  for (size_t i = 0; i < sizeof(number); ++i) number |= Number{static_cast<unsigned char>(bytes[i])} << (8 * i);
  bytes.remove_prefix(sizeof(number));
  return number;
}

uint64_t MillisOf(std::chrono::system_clock::time_point time) {
  const auto millis = std::chrono::duration_cast<milliseconds>(time.time_since_epoch()).count();
  return static_cast<uint64_t>(std::max<int64_t>(millis, 0));
}

std::string Text(uint64_t millis) {
  return absl::FormatDuration(absl::Milliseconds(static_cast<int64_t>(std::min<uint64_t>(millis, INT64_MAX))));
}

// Takes a snapshot apart into chunks.
class Chunks {
 public:
  Chunks(std::string_view ring, const HeldRing& held)
      : table_(held.ring.table()),
        places_(held.ring.slots() == nullptr ? std::span<const uint32_t>() : held.ring.slots()->places()) {
    v1::Ring* const head = head_.mutable_ring();
    head->set_name(std::string(ring));
    ToProto(held.version, head->mutable_version());
    ToProto(held.ring.checksum(), head->mutable_checksum());
    ToProto(held.ring.settings().placement, head->mutable_placement());
    head->set_default_weight(held.ring.settings().default_weight);
  }

  bool AtEnd() const { return head_.last(); }
  v1::WatchResponse Next() {
    v1::WatchResponse message;
    v1::Snapshot* const chunk = message.mutable_snapshot();
    size_t bytes = 0;
    for (; node_ < table_->nodes.size() && bytes < kChunkBytes; ++node_) {
      v1::Node* const node = chunk->add_nodes();
      ToProto(*table_->nodes[node_], table_->ShareOf(node_), node);
      bytes += node->ByteSizeLong();
    }
    if (node_ == table_->nodes.size()) {
      const size_t count = std::min(places_.size(), kChunkPlaces);
      ToProto(places_.first(count), chunk->mutable_slot_owners());
      places_ = places_.subspan(count);
      head_.set_last(places_.empty());
    }
    chunk->MergeFrom(head_);
    head_.set_chunk(head_.chunk() + 1);
    return message;
  }

 private:
  v1::Snapshot head_;  // of the next chunk
  const std::shared_ptr<const ring::NodeTable> table_;
  size_t node_ = 0;
  std::span<const uint32_t> places_;  // those that are still to come
};

absl::Status Damaged(const std::string& how) { return absl::DataLossError("is damaged: " + how); }

// The chunks and the time, of bytes that are as they were written.
struct Content {
  std::string_view chunks;
  uint64_t millis = 0;
};
absl::StatusOr<Content> Open(std::string_view bytes) {
  if (!bytes.starts_with(kMagic.substr(0, bytes.size()))) {
    return absl::FailedPreconditionError("is no saved copy of a ring");
  }
  if (bytes.size() < kHeaderBytes + kHashBytes) {
    return Damaged("it is cut short, and has " + std::to_string(bytes.size()) + " bytes");
  }
  std::string_view rest = bytes.substr(kMagic.size());
  if (const auto format = Take<uint32_t>(rest); format != kFormat) {
    return absl::FailedPreconditionError("has the format " + std::to_string(format) + ", where this build reads " +
                                         std::to_string(kFormat));
  }
  if (const auto size = Take<uint64_t>(rest); size != bytes.size()) {
    return Damaged(std::string("it is ") + (size > bytes.size() ? "cut short" : "longer than it was") + ", and has " +
                   std::to_string(bytes.size()) + " bytes of " + std::to_string(size));
  }
  const auto millis = Take<uint64_t>(rest);
  std::string_view hash = bytes.substr(bytes.size() - kHashBytes);
  if (Take<uint64_t>(hash) != ring::HashKey(bytes.substr(0, bytes.size() - kHashBytes))) {
    return Damaged("its bytes are not those that were written");
  }
  return Content{.chunks = rest.substr(0, rest.size() - kHashBytes), .millis = millis};
}

absl::Status CheckTime(uint64_t millis, const CopyWanted& wanted) {
  const uint64_t now = MillisOf(wanted.now);
  const uint64_t slack = milliseconds(kClockSlack).count();
  if (millis > now + slack) {
    return absl::FailedPreconditionError("is from the future, by " + Text(millis - now) +
                                         ": one of the two clocks was wrong");
  }
  const uint64_t age = now - std::min(millis, now);
  const auto max_age = static_cast<uint64_t>(std::max<int64_t>(wanted.max_age.count(), 0));
  if (age <= max_age) return absl::OkStatus();
  return absl::FailedPreconditionError("is too old: it was current " + Text(age) + " ago, and what is older than " +
                                       Text(max_age) + " is not wanted");
}

// The next chunk.
absl::StatusOr<v1::WatchResponse> TakeChunk(std::string_view& chunks, const std::string& ring) {
  v1::WatchResponse message;
  const size_t size = chunks.size() < sizeof(uint32_t) ? SIZE_MAX : Take<uint32_t>(chunks);
  if (size > chunks.size() || !message.ParseFromArray(chunks.data(), static_cast<int>(size)) ||
      !message.has_snapshot()) {
    return Damaged("where a part of a snapshot should be, there is something else or nothing");
  }
  chunks.remove_prefix(size);
  if (const std::string& name = message.snapshot().ring().name(); name != ring) {
    return absl::FailedPreconditionError("is of the ring " + ring::Quote(name) + ", not of " + ring::Quote(ring));
  }
  return message;
}

// Why a stream that says this would bring no copy.
absl::Status Unusable(const absl::Status& why) {
  // What no directory tells.
  if (absl::IsInternal(why)) return Damaged(std::string(why.message()));
  return ring::Prefixed("cannot be used: ", why);
}

}  // namespace

absl::StatusOr<std::string> EncodeCopy(std::string_view ring, const SavedCopy& copy, size_t max_bytes) {
  std::string chunks;
  for (Chunks all(ring, *copy.held); !all.AtEnd();) {
    const std::string chunk = SerializeDeterministic(all.Next());
    if (kHeaderBytes + chunks.size() + sizeof(uint32_t) + chunk.size() + kHashBytes > max_bytes) {
      return absl::ResourceExhaustedError("would have more than " + std::to_string(max_bytes) + " bytes");
    }
    Append(static_cast<uint32_t>(chunk.size()), &chunks);
    chunks += chunk;
  }
  std::string bytes(kMagic);
  Append(kFormat, &bytes);
  Append(uint64_t{kHeaderBytes + chunks.size() + kHashBytes}, &bytes);
  Append(MillisOf(copy.current_at), &bytes);
  bytes += chunks;
  Append(ring::HashKey(bytes), &bytes);
  return bytes;
}

absl::StatusOr<SavedCopy> DecodeCopy(std::string_view bytes, const CopyWanted& wanted) {
  const absl::StatusOr<Content> content = Open(bytes);
  if (!content.ok()) return content.status();
  if (absl::Status time = CheckTime(content->millis, wanted); !time.ok()) return time;
  // A stream that said just this would have brought the copy: so the rules are those of a stream.
  WatchMachine machine({.limits = wanted.limits}, [] { return 0.0; }, {});
  machine.Woken({});
  const WatchMachine::StreamId stream = machine.wanted().front();
  std::string_view chunks = content->chunks;
  for (bool last = false; !last;) {
    const absl::StatusOr<v1::WatchResponse> message = TakeChunk(chunks, wanted.ring);
    if (!message.ok()) return message.status();
    StreamEvent event = Decode(*message);
    const auto& chunk = std::get<SnapshotChunk>(event);
    if (!chunk.checksum.has_value())
      return absl::FailedPreconditionError("has a checksum that this build does not know");
    last = chunk.last;
    machine.Received(stream, std::move(event), {});
    if (!machine.Wants(stream)) return Unusable(machine.problem());
  }
  if (!chunks.empty()) return Damaged("it goes on behind its last part");
  return SavedCopy{.held = machine.held(),
                   .current_at = std::chrono::system_clock::time_point(milliseconds(content->millis))};
}

}  // namespace ringd
