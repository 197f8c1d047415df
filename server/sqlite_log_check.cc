#include "server/sqlite_log_check.h"

#include <bit>
#include <cstdint>

namespace ringd::server {
namespace {

// The format: https://www.sqlite.org/fileformat2.html#walformat. Numbers are big-endian; those that a checksum is over
// are big-endian when the last bit of the magic number is set.
constexpr size_t kHeaderBytes = 32;
constexpr size_t kFrameHeaderBytes = 24;
constexpr size_t kLeastPageBytes = 512;
constexpr size_t kMostPageBytes = 65'536;
constexpr uint32_t kMagic = 0x377f0682;  // the last bit aside

uint32_t BigEndian(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

bool IsPageSize(size_t bytes) {
  return bytes >= kLeastPageBytes && bytes <= kMostPageBytes && std::has_single_bit(bytes);
}

uint32_t LittleEndian(std::string_view bytes, size_t at) { return __builtin_bswap32(BigEndian(bytes, at)); }

// Runs over the header, then over each frame's first 8 bytes and its page; each frame holds what it came to.
struct Checksum {
  uint32_t a = 0;
  uint32_t b = 0;

  static Checksum At(std::string_view bytes, size_t at) { return {BigEndian(bytes, at), BigEndian(bytes, at + 4)}; }

  // `bytes` is a multiple of 8 long.
  void Add(std::string_view bytes, bool big_endian) {
    const auto word = big_endian ? BigEndian : LittleEndian;
    for (size_t at = 0; at < bytes.size(); at += 8) {
      a += word(bytes, at) + b;
      b += word(bytes, at + 4) + a;
    }
  }
  void AddFrame(std::string_view frame, bool big_endian) {
    Add(frame.substr(0, 8), big_endian);
    Add(frame.substr(kFrameHeaderBytes), big_endian);
  }
  bool operator==(const Checksum&) const = default;
};

// Whether a later transaction is begun behind the first wrong frame: a frame that ends one is followed by a frame whose
// checksum goes on from it. What a change that failed has left there has the same salt, but does not follow.
bool HasLaterTransaction(std::string_view frames, size_t frame_bytes, std::string_view salt, bool big_endian) {
  for (; frames.size() >= 2 * frame_bytes; frames.remove_prefix(frame_bytes)) {
    const std::string_view next = frames.substr(frame_bytes, frame_bytes);
    const bool ends = frames.substr(8, 8) == salt && BigEndian(frames, 4) != 0;
    if (!ends || next.substr(8, 8) != salt) continue;
    Checksum sum = Checksum::At(frames, 16);
    sum.AddFrame(next, big_endian);
    if (sum == Checksum::At(next, 16)) return true;
  }
  return false;
}

}  // namespace

std::optional<size_t> FindLogDamage(std::string_view log) {
  if (log.size() < kHeaderBytes + kFrameHeaderBytes) return std::nullopt;
  const bool big_endian = (BigEndian(log, 0) & 1) != 0;
  const size_t page_bytes = BigEndian(log, 8);
  Checksum sum;
  sum.Add(log.substr(0, 24), big_endian);
  // The header is on the disk before the first frame is written.
  if ((BigEndian(log, 0) & ~1U) != kMagic || sum != Checksum::At(log, 24) || !IsPageSize(page_bytes)) return 0;

  const std::string_view salt = log.substr(16, 8);
  const size_t frame_bytes = kFrameHeaderBytes + page_bytes;
  for (size_t at = kHeaderBytes; log.size() - at >= frame_bytes; at += frame_bytes) {
    const std::string_view frame = log.substr(at, frame_bytes);
    sum.AddFrame(frame, big_endian);
    if (frame.substr(8, 8) == salt && sum == Checksum::At(frame, 16)) continue;
    return HasLaterTransaction(log.substr(at), frame_bytes, salt, big_endian) ? std::optional(at) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace ringd::server
