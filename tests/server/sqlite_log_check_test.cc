// Which logs are damaged and which end as a crash may leave them. The logs are made here, frame by frame, by the
// format's description; sqlite_store_damage_test has those that SQLite made.
#include "server/sqlite_log_check.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace ringd::server {
namespace {

constexpr size_t kPage = 512;
constexpr size_t kFrame = 24 + kPage;
constexpr size_t kHeader = 32;

std::string Number(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

class Log {
 public:
  explicit Log(uint32_t salt = 7, uint32_t page_bytes = kPage) : salt_(Number(salt) + Number(salt + 1)) {
    // Checksums are big-endian.
    bytes_ = Number(0x377f0683) + Number(3'007'000) + Number(page_bytes) + Number(0) + salt_;
    Sum(bytes_);
    bytes_ += Number(a_) + Number(b_);
  }
  // A frame of one page; `ends` with the last of a transaction.
  Log& Frame(char content, bool ends) {
    const std::string head = Number(1) + Number(ends ? 1 : 0);
    const std::string page(kPage, content);
    Sum(head);
    Sum(page);
    bytes_ += head + salt_ + Number(a_) + Number(b_) + page;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void Sum(const std::string& bytes) {
    for (size_t i = 0; i < bytes.size(); i += 8) {
      const auto word = [&](size_t at) {
        uint32_t value = 0;
        for (size_t j = at; j < at + 4; j++) value = value << 8 | static_cast<unsigned char>(bytes[j]);
        return value;
      };
      a_ += word(i) + b_;
      b_ += word(i + 4) + a_;
    }
  }

  const std::string salt_;
  std::string bytes_;
  uint32_t a_ = 0;
  uint32_t b_ = 0;
};

// Three transactions: frames 0 and 1, frame 2, frames 3 and 4.
std::string Three() {
  return Log().Frame('a', false).Frame('b', true).Frame('c', true).Frame('d', false).Frame('e', true).bytes();
}

std::string Flipped(std::string bytes, size_t at) {
  bytes[at] = static_cast<char>(bytes[at] ^ 1);
  return bytes;
}

size_t Start(size_t frame) { return kHeader + frame * kFrame; }

TEST(FindLogDamage, AWholeLogAndOneThatIsCutAnywhereAreNotDamaged) {
  const std::string log = Three();
  for (size_t size = 0; size <= log.size(); size++) EXPECT_EQ(FindLogDamage(log.substr(0, size)), std::nullopt) << size;
}

TEST(FindLogDamage, AWrongFrameWithALaterTransactionBehindItIs) {
  for (const size_t frame : {0, 1, 2}) {
    for (const size_t offset : {0, 4, 8, 16, 24, 100}) {
      // With another salt, or another checksum than the next frame goes on from, nothing tells that one is a later one.
      const bool hidden = frame == 2 && (offset == 8 || offset == 16);
      EXPECT_EQ(FindLogDamage(Flipped(Three(), Start(frame) + offset)),
                hidden ? std::nullopt : std::optional(Start(frame)))
          << "frame " << frame << " offset " << offset;
    }
  }
}

TEST(FindLogDamage, InTheLastTransactionItMayBeACrash) {
  for (const size_t frame : {3, 4}) EXPECT_EQ(FindLogDamage(Flipped(Three(), Start(frame) + 30)), std::nullopt);
}

TEST(FindLogDamage, TheHeaderIsTheFirstThatIsWritten) {
  for (size_t at = 0; at < kHeader; at++)
    EXPECT_EQ(FindLogDamage(Flipped(Three(), at)), std::optional<size_t>(0)) << at;
}

// The checksum is right, and SQLite would take the log for an empty one.
TEST(FindLogDamage, AHeaderOfAPageSizeThatSqliteDoesNotHaveIsDamaged) {
  for (const uint32_t page_bytes : {0u, 1u, 256u, 513u, 520u, 131'072u, UINT32_MAX}) {
    const std::string log = Log(7, page_bytes).Frame('a', true).Frame('b', true).Frame('c', true).bytes();
    EXPECT_EQ(FindLogDamage(log), std::optional<size_t>(0)) << page_bytes;
  }
}

// A large change that failed, on a full disk say, has left its frames, salt and all; a small one was written over its
// beginning, and the process was killed in the middle of the last frame of that.
TEST(FindLogDamage, WhatAFailedChangeLeftBehindACrashIsNoLaterTransaction) {
  const std::string failed = Log().Frame('a', true).Frame('x', false).Frame('y', false).Frame('z', true).bytes();
  const std::string small = Log().Frame('a', true).Frame('s', true).bytes();
  const std::string whole = small + failed.substr(small.size());
  EXPECT_EQ(FindLogDamage(whole), std::nullopt);
  const std::string torn = small.substr(0, small.size() - kPage) + failed.substr(small.size() - kPage);
  EXPECT_EQ(FindLogDamage(torn), std::nullopt);
}

TEST(FindLogDamage, FramesOfAnEarlierUseOfTheFileAreNotPartOfIt) {
  const std::string earlier = Log(3).Frame('a', true).Frame('b', true).Frame('c', true).Frame('d', true).bytes();
  const std::string now = Log(9).Frame('e', true).bytes();
  EXPECT_EQ(FindLogDamage(now + earlier.substr(now.size())), std::nullopt);
}

}  // namespace
}  // namespace ringd::server
