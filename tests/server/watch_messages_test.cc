// What many streams say is serialised once, whoever asks for it first, and no more of it is kept than is said.
#include "server/watch_messages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <thread>

#include "ringd/v1/directory.pb.h"
#include "server/responses.h"
#include "tests/server/store_test_data.h"
#include "tests/server/test_directory.h"

namespace ringd::server {
namespace {

// Whether two slices are one piece of memory.
bool Shared(const grpc::Slice& a, const grpc::Slice& b) { return a.begin() == b.begin() && a.size() == b.size(); }

std::string Bytes(const grpc::Slice& slice) { return std::string(slice.begin(), slice.end()); }

// The change that leads to a revision, of a node whose address has so many bytes.
ChangeEvent ChangeTo(uint64_t revision, const std::string& ring = "r", size_t address_bytes = 100) {
  ChangeRecord record;
  record.version = {.epoch = 7, .revision = revision};
  record.nodes.push_back({.before = nullptr,
                          .after = std::make_shared<const ring::Node>(ring::Node{
                              .id = "n" + std::to_string(revision), .address = std::string(address_bytes, 'a')})});
  return std::make_shared<const PublishedChange>(PublishedChange{ring, std::move(record)});
}

// A whole snapshot of a ring of three nodes.
SnapshotChunk ChunkOf(TestDirectory& directory, uint32_t number = 0, bool rewound = false) {
  const RingStatePtr state = *directory->Find("r");
  return {.head = state->head,
          .table = state->ring.table(),
          .first = 0,
          .last = state->ring.table()->nodes.size(),
          .number = number,
          .complete = true,
          .rewound = rewound};
}

TEST(WatchMessages, AMessageIsTheEventAsAWatchResponse) {
  WatchMessages messages;
  for (const WatchEvent& event : {WatchEvent(ChangeTo(5)), WatchEvent(StreamInSync{}), WatchEvent(Absent{"other"}),
                                  WatchEvent(RingInSync{"r", {7, 5}})}) {
    v1::WatchResponse wanted;
    ToProto(event, &wanted);
    EXPECT_EQ(Bytes(messages.Of(event)), wanted.SerializeAsString());
  }
}

TEST(WatchMessages, AChangeIsSerialisedOnce) {
  WatchMessages messages;
  const grpc::Slice first = messages.Of(ChangeTo(5));
  // As it may be read from the history by another stream.
  EXPECT_TRUE(Shared(first, messages.Of(ChangeTo(5))));
  EXPECT_EQ(messages.serialised(), 1u);
  EXPECT_FALSE(Shared(first, messages.Of(ChangeTo(6))));
  EXPECT_FALSE(Shared(first, messages.Of(ChangeTo(5, "another"))));
  EXPECT_EQ(messages.serialised(), 3u);
}

TEST(WatchMessages, AChunkIsSerialisedOnceAndIsNoOther) {
  TestDirectory directory;
  directory.Do(Create("r"));
  directory.Do(Add("r", "n1"));
  WatchMessages messages;
  const grpc::Slice first = messages.Of(ChunkOf(directory));
  EXPECT_TRUE(Shared(first, messages.Of(ChunkOf(directory))));
  EXPECT_FALSE(Shared(first, messages.Of(ChunkOf(directory, /*number=*/1))));
  const grpc::Slice rewound = messages.Of(ChunkOf(directory, /*number=*/0, /*rewound=*/true));
  v1::WatchResponse parsed;
  ASSERT_TRUE(parsed.ParseFromString(Bytes(rewound)));
  EXPECT_TRUE(parsed.snapshot().rewound());
  EXPECT_EQ(messages.serialised(), 3u);

  directory.Do(Add("r", "n2"));
  ASSERT_TRUE(parsed.ParseFromString(Bytes(messages.Of(ChunkOf(directory)))));
  EXPECT_EQ(parsed.snapshot().nodes_size(), 2);
}

TEST(WatchMessages, ThreadsThatAskAtOnceShareOne) {
  constexpr int kThreads = 8;
  constexpr int kChanges = 50;
  WatchMessages messages;
  std::barrier start(kThreads);
  std::vector<std::vector<grpc::Slice>> got(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; i++) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      for (int change = 1; change <= kChanges; change++) got[i].push_back(messages.Of(ChangeTo(change)));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(messages.serialised(), static_cast<uint64_t>(kChanges));
  for (int change = 0; change < kChanges; change++) {
    for (int i = 1; i < kThreads; i++) EXPECT_TRUE(Shared(got[0][change], got[i][change]));
  }
}

TEST(WatchMessages, TheOldestAreForgotten) {
  constexpr size_t kBytes = WatchMessages::kKeptBytes / 4;
  WatchMessages messages;
  const grpc::Slice first = messages.Of(ChangeTo(1, "r", kBytes));
  for (uint64_t revision = 2; revision <= 5; revision++) messages.Of(ChangeTo(revision, "r", kBytes));
  EXPECT_EQ(messages.serialised(), 5u);
  messages.Of(ChangeTo(5, "r", kBytes));
  EXPECT_EQ(messages.serialised(), 5u) << "the newest is kept";
  EXPECT_EQ(Bytes(messages.Of(ChangeTo(1, "r", kBytes))), Bytes(first)) << "what is being sent lives on";
  EXPECT_EQ(messages.serialised(), 6u);
}

// A day of small changes takes no more than one of large ones.
TEST(WatchMessages, SmallMessagesAreForgottenToo) {
  constexpr uint64_t kKept = WatchMessages::kKeptBytes / WatchMessages::kEntryBytes;
  WatchMessages messages;
  for (uint64_t revision = 1; revision <= kKept; revision++) messages.Of(ChangeTo(revision, "r", 1));
  messages.Of(ChangeTo(1, "r", 1));
  EXPECT_EQ(messages.serialised(), kKept + 1) << "the first is made anew";
  messages.Of(ChangeTo(kKept, "r", 1));
  EXPECT_EQ(messages.serialised(), kKept + 1) << "the last is there";
}

}  // namespace
}  // namespace ringd::server
