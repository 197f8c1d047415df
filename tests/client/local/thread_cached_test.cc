#include "client/local/thread_cached.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

namespace ringd {
namespace {

// What a thread keeps of an int: the int, and how often it was got.
struct Kept {
  Kept(std::shared_ptr<const int> made_of, const Kept* before)
      : value(std::move(made_of)), seen(before == nullptr ? 1 : before->seen + 1) {}

  std::shared_ptr<const int> value;
  int seen;  // values, this one among them
  int gets = 0;
};
using Cached = ThreadCached<int, Kept>;

TEST(ThreadCached, GetsTheValueThatWasSetLast) {
  Cached cached(std::make_shared<int>(0));
  EXPECT_EQ(*cached.Get().value, 0);
  cached.Set(std::make_shared<int>(1));
  EXPECT_EQ(*cached.Get().value, 1);
  EXPECT_EQ(*cached.Share(), 1);
}

TEST(ThreadCached, EachThreadHasItsOwnUntilTheNextValue) {
  Cached cached(std::make_shared<int>(0));
  cached.Get().gets++;
  EXPECT_EQ(cached.Get().gets, 1);
  std::thread([&] { EXPECT_EQ(cached.Get().gets, 0); }).join();
  EXPECT_EQ(cached.Get().gets, 1);
  cached.Set(std::make_shared<int>(0));
  EXPECT_EQ(cached.Get().gets, 0);
}

TEST(ThreadCached, WhatAThreadHasIsMadeOfWhatItHadBefore) {
  Cached cached(std::make_shared<int>(0));
  const int seen = cached.Get().seen;
  cached.Set(std::make_shared<int>(1));
  EXPECT_EQ(cached.Get().seen, seen + 1);
  std::thread([&] { EXPECT_EQ(cached.Get().seen, 1); }).join();
}

// As the destructor of an object does that lives as long as its thread, and was made before the thread's first Get.
TEST(ThreadCached, AThreadGetsWhileItsOwnObjectsAreDestroyed) {
  static Cached cached(std::make_shared<int>(7));
  static int got = 0;
  struct GetsAtTheEnd {
    ~GetsAtTheEnd() { got = *cached.Get().value; }
  };
  std::thread([] {
    thread_local const GetsAtTheEnd last;
    (void)&last;
    cached.Get();
  }).join();
  EXPECT_EQ(got, 7);
}

TEST(ThreadCached, WhatAThreadGotLivesUntilItGetsAgain) {
  Cached cached(std::make_shared<int>(1));
  const Kept& got = cached.Get();
  const std::weak_ptr<const int> first = cached.Share();
  cached.Set(std::make_shared<int>(2));
  EXPECT_FALSE(first.expired());
  EXPECT_EQ(*got.value, 1);
  cached.Get();
  EXPECT_TRUE(first.expired());
}

TEST(ThreadCached, AThreadThatEndsLetsGo) {
  Cached cached(std::make_shared<int>(1));
  const std::weak_ptr<const int> first = cached.Share();
  std::thread([&] { cached.Get(); }).join();
  cached.Set(std::make_shared<int>(2));
  EXPECT_TRUE(first.expired());
}

TEST(ThreadCached, APlaceThatIsTakenAgainDoesNotShowTheOldObjectsValue) {
  std::optional<Cached> cached(std::in_place, std::make_shared<int>(1));
  EXPECT_EQ(*cached->Get().value, 1);
  cached.emplace(std::make_shared<int>(2));
  EXPECT_EQ(*cached->Get().value, 2);
}

TEST(ThreadCached, ManyObjectsInOneThread) {
  std::vector<std::unique_ptr<Cached>> many;
  for (int i = 0; i < 100; ++i) many.push_back(std::make_unique<Cached>(std::make_shared<int>(i)));
  std::vector<const Kept*> got;
  for (const auto& cached : many) got.push_back(&cached->Get());
  for (int i = 0; i < 100; ++i) EXPECT_EQ(*got[i]->value, i);
}

// Readers see values that never go back, whole, while one thread replaces them.
TEST(ThreadCached, ReadersNeverGoBack) {
  struct Pair {
    int a;
    int b;
  };
  struct KeptPair {
    KeptPair(std::shared_ptr<const Pair> made_of, KeptPair*) : value(std::move(made_of)) {}
    std::shared_ptr<const Pair> value;
  };
  ThreadCached<Pair, KeptPair> cached(std::make_shared<Pair>(Pair{0, 0}));
  constexpr int kLast = 20'000;
  std::atomic<bool> wrong = false;
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      for (int last = 0; last < kLast;) {
        const Pair& pair = *cached.Get().value;
        if (pair.a != pair.b || pair.a < last) wrong = true;
        last = pair.a;
      }
    });
  }
  for (int i = 1; i <= kLast; ++i) cached.Set(std::make_shared<Pair>(Pair{i, i}));
  for (std::thread& reader : readers) reader.join();
  EXPECT_FALSE(wrong);
}

}  // namespace
}  // namespace ringd
