// How the inputs of the targets begin, for the targets and for make_corpus.cc. New ones come at the end: the corpus is
// made of these numbers.
#pragma once

#include <cstdint>

namespace ringd::fuzz {

// A byte modulo kDirectorySteps, then a piece: the request; for kRefuse a byte, for kPass a number, for kRestart and
// kHeartbeat nothing.
enum class DirectoryStep : uint8_t {
  kCreateRing,
  kDeleteRing,
  kAddNode,
  kRemoveNode,
  kUpdateNode,
  kApplyChanges,
  kGetRing,
  kListRings,
  kLookup,
  kBatchLookup,
  kWatch,
  kRefuse,
  kPass,
  kRestart,
  kHeartbeat,
  kUpdateRing,
};
inline constexpr int kDirectorySteps = 16;

// A byte modulo kCopySteps, then a piece: a WatchResponse; for kLose a byte, for kPass a number.
enum class CopyStep : uint8_t { kReceive, kLose, kPass };
inline constexpr int kCopySteps = 3;

// A byte modulo kSavedSteps, then a piece: a chunk, a WatchResponse if it is one; bytes behind all chunks; for kSeconds
// a number; for kMend nothing; a file as it is.
enum class SavedStep : uint8_t { kChunk, kBytes, kSeconds, kMend, kFile };
inline constexpr int kSavedSteps = 5;

// A byte modulo kCodecKinds, a byte (a code, or how much was asked for), then the message.
enum class CodecKind : uint8_t { kNode, kPlacement, kOperation, kDetails, kLookup, kBatchLookup, kRing };
inline constexpr int kCodecKinds = 7;

// A byte modulo kRecordKinds, then the record.
enum class RecordKind : uint8_t { kRing, kNode, kChange, kTombstone };
inline constexpr int kRecordKinds = 4;

// A byte whose lowest bit is the order of the log's bytes, big-endian or not, and whose two highest are the kind:
// bytes as they are, or under a header that is made right (kHeaded), or the makings of a log and its damage (kMade and
// above).
inline constexpr uint8_t kHeaded = 64;
inline constexpr uint8_t kMade = 128;

}  // namespace ringd::fuzz
