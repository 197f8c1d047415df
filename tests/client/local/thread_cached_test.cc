#include "client/local/thread_cached.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

namespace ringd {
namespace {

TEST(ThreadCached, IsNullBeforeTheFirstValue) {
  ThreadCached<int> cached;
  EXPECT_EQ(cached.Get(), nullptr);
  EXPECT_EQ(cached.Share(), nullptr);
}

TEST(ThreadCached, GetsTheValueThatWasSetLast) {
  ThreadCached<int> cached;
  cached.Set(std::make_shared<int>(1));
  EXPECT_EQ(*cached.Get(), 1);
  cached.Set(std::make_shared<int>(2));
  EXPECT_EQ(*cached.Get(), 2);
  EXPECT_EQ(*cached.Share(), 2);
}

TEST(ThreadCached, WhatAThreadGotLivesUntilItGetsAgain) {
  ThreadCached<int> cached;
  cached.Set(std::make_shared<int>(1));
  const int* got = cached.Get();
  const std::weak_ptr<const int> first = cached.Share();
  cached.Set(std::make_shared<int>(2));
  EXPECT_FALSE(first.expired());
  EXPECT_EQ(*got, 1);
  cached.Get();
  EXPECT_TRUE(first.expired());
}

TEST(ThreadCached, APlaceThatIsTakenAgainDoesNotShowTheOldObjectsValue) {
  std::optional<ThreadCached<int>> cached(std::in_place);
  cached->Set(std::make_shared<int>(1));
  EXPECT_EQ(*cached->Get(), 1);
  cached.emplace();
  EXPECT_EQ(cached->Get(), nullptr);
}

TEST(ThreadCached, ManyObjectsInOneThread) {
  std::vector<std::unique_ptr<ThreadCached<int>>> many;
  for (int i = 0; i < 100; ++i) {
    many.push_back(std::make_unique<ThreadCached<int>>());
    many.back()->Set(std::make_shared<int>(i));
  }
  std::vector<const int*> got;
  for (const auto& cached : many) got.push_back(cached->Get());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(*got[i], i);
}

// Readers see values that never go back, whole, while one thread replaces them.
TEST(ThreadCached, ReadersNeverGoBack) {
  struct Pair {
    int a;
    int b;
  };
  ThreadCached<Pair> cached;
  cached.Set(std::make_shared<Pair>(Pair{0, 0}));
  constexpr int kLast = 20'000;
  std::atomic<bool> wrong = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      for (int last = 0; last < kLast;) {
        const Pair* pair = cached.Get();
        if (pair->a != pair->b || pair->a < last) wrong = true;
        last = pair->a;
      }
    });
  }
  for (int i = 1; i <= kLast; ++i) cached.Set(std::make_shared<Pair>(Pair{i, i}));
  for (std::thread& reader : readers) reader.join();
  EXPECT_FALSE(wrong);
}

}  // namespace
}  // namespace ringd
