// SavedCopy: a copy of a ring as bytes that outlive the process, for a start without the directory. Pure functions, any
// thread; copy_file.h has the disk.
//
// Format 1. Numbers are little-endian.
//
//    8 bytes   "ringdcpy"
//   u32        format: 1
//   u64        size of the whole
//   u64        when the copy was last known to be the directory's newest: milliseconds since 1970
//   chunks:    u32 size, then a ringd.v1.WatchResponse of that size: the snapshot, as a Watch would bring it
//   u64        XXH3, seed 0, of all bytes before it
//
// The hash finds what a disk or a crash did to the bytes; besides it, the ring that is made of them must have the
// checksum that the directory told for it. Neither stops who writes such a file on purpose: it is a service's own.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/local/watch_machine.h"

namespace ringd {

struct SavedCopy {
  HeldRingPtr held;
  // When it was last known to be current, in whole milliseconds.
  std::chrono::system_clock::time_point current_at;
};

// What a saved copy may have at most: a ring of a million nodes with room to spare.
inline constexpr size_t kMaxSavedBytes = size_t{1} << 30;
// How far clocks may have gone back since a copy was saved.
inline constexpr std::chrono::minutes kClockSlack{5};

// Equal copies give equal bytes. RESOURCE_EXHAUSTED when they would be more than `max_bytes`.
// Memory: the result, and a chunk of about a mebibyte.
absl::StatusOr<std::string> EncodeCopy(std::string_view ring, const SavedCopy& copy, size_t max_bytes = kMaxSavedBytes);

// What a reader takes.
struct CopyWanted {
  std::string ring;
  std::chrono::system_clock::time_point now;
  std::chrono::milliseconds max_age = std::chrono::milliseconds::max();
  ring::Limits limits = WatchMachine::Policy().limits;
};

// The copy, if it is one that is wanted; the texts of errors go on from the name of the file.
// DATA_LOSS for what is damaged: it is cut short or longer than it was, its bytes have changed, or they are of no ring
// that agrees with its checksum. FAILED_PRECONDITION for what is whole and not wanted: it is something else, of a later
// format or of another ring, or from too long ago or from the future. RESOURCE_EXHAUSTED for a ring beyond the limits.
// And what else a ring is refused for, such as INVALID_ARGUMENT for a placement that this build does not know.
// REQUIRES bytes.size() <= kMaxSavedBytes.
absl::StatusOr<SavedCopy> DecodeCopy(std::string_view bytes, const CopyWanted& wanted);

}  // namespace ringd
