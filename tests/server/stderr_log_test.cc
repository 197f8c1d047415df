// Lines come whole and in order; a reader that has stalled costs lines and no time.
#include "server/stderr_log.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <memory>
#include <string>

#include "server/descriptor.h"
#include "spdlog/logger.h"

namespace ringd::server {
namespace {

using ::testing::StartsWith;

class NonBlockingSinkTest : public ::testing::Test {
 protected:
  NonBlockingSinkTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    reader_ = Descriptor(ends[0]);
    writer_ = Descriptor(ends[1]);
    fcntl(reader_.get(), F_SETFL, O_NONBLOCK);
    logger_ = std::make_unique<spdlog::logger>("test", std::make_shared<NonBlockingSink>(writer_.get()));
    logger_->set_pattern("%v");
  }
  // All that is there to read.
  std::string Read() {
    std::string all;
    std::array<char, 65'536> buffer;
    for (ssize_t size; (size = read(reader_.get(), buffer.data(), buffer.size())) > 0;) {
      all.append(buffer.data(), static_cast<size_t>(size));
    }
    return all;
  }

  Descriptor reader_;
  Descriptor writer_;
  std::unique_ptr<spdlog::logger> logger_;
};

TEST_F(NonBlockingSinkTest, WritesALineAnEvent) {
  logger_->info("one");
  logger_->error("two");
  EXPECT_EQ(Read(), "one\ntwo\n");
}

TEST_F(NonBlockingSinkTest, CutsALineThatAPipeMightNotTakeWhole) {
  logger_->info(std::string(10'000, 'x'));
  logger_->info("next");
  EXPECT_EQ(Read(), std::string(NonBlockingSink::kMaxLine - 1, 'x') + "\nnext\n");
}

TEST_F(NonBlockingSinkTest, DropsWhatNobodyReadsAndSaysSo) {
  for (int i = 0; i < 10'000; i++) logger_->info("line {}", i);  // more than a pipe holds; it would block here
  const std::string kept = Read();
  EXPECT_THAT(kept, StartsWith("line 0\nline 1\n"));
  EXPECT_EQ(kept.back(), '\n') << "no line is cut in two";
  const auto lines = static_cast<size_t>(std::count(kept.begin(), kept.end(), '\n'));
  ASSERT_LT(lines, 10'000u);
  logger_->info("after");
  EXPECT_EQ(Read(), std::to_string(10'000 - lines) + " lines were dropped\nafter\n");
  logger_->info("again");
  EXPECT_EQ(Read(), "again\n");
}

TEST_F(NonBlockingSinkTest, WhatCannotBeWrittenCountsAsDropped) {
  signal(SIGPIPE, SIG_IGN);
  reader_ = Descriptor();
  logger_->info("nobody hears it");
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_NONBLOCK), 0);
  reader_ = Descriptor(ends[0]);
  ASSERT_GE(dup2(ends[1], writer_.get()), 0);
  close(ends[1]);
  logger_->info("after");
  EXPECT_EQ(Read(), "1 lines were dropped\nafter\n");
}

}  // namespace
}  // namespace ringd::server
