#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ringd::ctl {

// KeyReader reads keys that a byte ends, such as lines. Bytes are bytes: nothing is trimmed. What stands behind the
// last separator is a key as well unless it is empty. Memory is bounded by the longest key. One thread only.
class KeyReader {
 public:
  // A key above this size could not be sent sensibly, and is not held in memory.
  static constexpr std::size_t kLongestKey = 64 << 20;

  enum class Event {
    kKey,      // a key was read
    kIdle,     // nothing came for a moment; only where the caller wants to know
    kEnd,      // no key is left
    kTooLong,  // the next key is above kLongestKey
    kFailed    // reading failed; errno says why
  };
  enum class WhenIdle { kReturn, kWait };

  // `fd` is open for reading as long as this lives.
  KeyReader(int fd, char separator) : fd_(fd), separator_(separator) {}

  Event Next(WhenIdle when_idle);

  // The key of the last kKey; valid until the next call of Next.
  std::string_view key() const { return key_; }

 private:
  const int fd_;
  const char separator_;
  std::string buffer_;
  std::size_t begin_ = 0;    // of what was not handed out yet, in buffer_
  std::size_t scanned_ = 0;  // up to here buffer_ holds no separator at or after begin_
  bool ended_ = false;
  std::string_view key_;
};

}  // namespace ringd::ctl
