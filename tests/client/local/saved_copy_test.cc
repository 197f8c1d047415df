// A copy as bytes: what was written is read, and nothing else is.
#include "client/local/saved_copy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "proto/codec.h"
#include "ringd/v1/directory.pb.h"
#include "tests/client/local/ring_history.h"
#include "tests/support/sealed_copy.h"

namespace ringd {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::system_clock;
using support::SealedCopy;
using ::testing::HasSubstr;

const system_clock::time_point kThen = system_clock::time_point(milliseconds(1'700'000'000'123));

SavedCopy CopyOf(const ring::Ring& ring) {
  return {.held = std::make_shared<const HeldRing>(HeldRing{.version = {7, 5}, .ring = ring}), .current_at = kThen};
}
CopyWanted Wanted() { return {.ring = "r", .now = kThen}; }

std::string Encoded(const ring::Ring& ring) {
  const absl::StatusOr<std::string> bytes = EncodeCopy("r", CopyOf(ring));
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.value_or("");
}
std::string SmallCopy() { return Encoded(ring::RingOf(2, {"a", "b"})); }

void ExpectRefused(const absl::StatusOr<SavedCopy>& copy, absl::StatusCode code, const std::string& text) {
  ASSERT_FALSE(copy.ok()) << "for: " << text;
  EXPECT_EQ(copy.status().code(), code) << copy.status();
  EXPECT_THAT(std::string(copy.status().message()), HasSubstr(text));
}

class SavedCopies : public ::testing::TestWithParam<size_t> {};

TEST_P(SavedCopies, AreWhatWasHeld) {
  RingHistory history(Placements()[GetParam()].second, 1);
  for (int step = 0; step < 20; ++step) {
    const ring::Ring& ring = history.Step();
    const std::string bytes = Encoded(ring);
    const absl::StatusOr<SavedCopy> copy = DecodeCopy(bytes, Wanted());
    ASSERT_TRUE(copy.ok()) << copy.status();
    EXPECT_EQ(copy->current_at, kThen);
    EXPECT_EQ(copy->held->version, (ring::Version{7, 5}));
    EXPECT_EQ(copy->held->ring.settings(), ring.settings());
    EXPECT_EQ(ring::NodesOf(copy->held->ring), ring::NodesOf(ring));
    EXPECT_EQ(copy->held->ring.checksum(), ring.checksum());
    EXPECT_EQ(EncodeCopy("r", *copy).value_or(""), bytes) << "equal copies have equal bytes";
  }
}

INSTANTIATE_TEST_SUITE_P(All, SavedCopies, ::testing::Range<size_t>(0, Placements().size()),
                         [](const auto& parameter) { return Placements()[parameter.param].first; });

// Nodes and slots that are more than one chunk takes.
TEST(SavedCopy, OfALargeRingIsManyChunks) {
  std::vector<ring::Node> nodes;
  for (int i = 0; i < 3'000; ++i) {
    const std::string id = "n" + std::to_string(i);
    nodes.push_back({.id = id, .weight = 1, .hash_key = id, .metadata = {{"note", std::string(1'000, 'x')}}});
  }
  const auto ring = ring::Ring::Create({.placement = ring::SlotsSettings{.slot_bits = 18, .owners = 2}}, nodes);
  ASSERT_TRUE(ring.ok()) << ring.status();
  const absl::StatusOr<SavedCopy> copy = DecodeCopy(Encoded(*ring), Wanted());
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_EQ(copy->held->ring.checksum(), ring->checksum());
}

TEST(SavedCopy, AnyCutIsSeen) {
  const std::string bytes = SmallCopy();
  for (size_t size = 0; size < bytes.size(); ++size) {
    ExpectRefused(DecodeCopy(bytes.substr(0, size), Wanted()), absl::StatusCode::kDataLoss,
                  "is damaged: it is cut short");
  }
  ExpectRefused(DecodeCopy(bytes + "x", Wanted()), absl::StatusCode::kDataLoss, "is damaged: it is longer than it was");
}

TEST(SavedCopy, AnyBitThatIsTurnedIsSeen) {
  constexpr size_t kSizeEnd = 20;  // what is before it says more than that something is wrong
  const std::string bytes = SmallCopy();
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string turned = bytes;
    turned[bit / 8] = static_cast<char>(turned[bit / 8] ^ (1 << (bit % 8)));
    ASSERT_FALSE(DecodeCopy(turned, Wanted()).ok()) << "bit " << bit;
    if (bit / 8 >= kSizeEnd)
      ExpectRefused(DecodeCopy(turned, Wanted()), absl::StatusCode::kDataLoss, "not those that were written");
  }
}

TEST(SavedCopy, SomethingElseIsNone) {
  for (const std::string other : {"x", "SQLite format 3", "ringdcp"}) {
    const bool begins_so = other == "ringdcp";
    ExpectRefused(DecodeCopy(other, Wanted()),
                  begins_so ? absl::StatusCode::kDataLoss : absl::StatusCode::kFailedPrecondition,
                  begins_so ? "cut short, and has 7 bytes" : "is no saved copy of a ring");
  }
  SealedCopy sealed;
  sealed.magic = "ringdcpz";
  ExpectRefused(DecodeCopy(sealed.bytes(), Wanted()), absl::StatusCode::kFailedPrecondition,
                "is no saved copy of a ring");
}

TEST(SavedCopy, ALaterFormatIsRefused) {
  ExpectRefused(DecodeCopy(SealedCopy{.format = 2}.bytes(), Wanted()), absl::StatusCode::kFailedPrecondition,
                "has the format 2, where this build reads 1");
}

TEST(SavedCopy, AnotherRingsIsRefused) {
  ExpectRefused(DecodeCopy(SmallCopy(), {.ring = "other", .now = kThen}), absl::StatusCode::kFailedPrecondition,
                "is of the ring \"r\", not of \"other\"");
}

TEST(SavedCopy, AgeIsJudgedByTheClocks) {
  const std::string bytes = SmallCopy();
  const auto load = [&](milliseconds later, milliseconds max_age) {
    return DecodeCopy(bytes, {.ring = "r", .now = kThen + later, .max_age = max_age});
  };
  EXPECT_TRUE(load(hours(1), hours(1)).ok());
  ExpectRefused(load(hours(1) + milliseconds(1), hours(1)), absl::StatusCode::kFailedPrecondition,
                "is too old: it was current 1h0.001s ago, and what is older than 1h is not wanted");
  EXPECT_TRUE(load(hours(24 * 365), milliseconds::max()).ok());
  EXPECT_TRUE(load(milliseconds(0), milliseconds(0)).ok());
  // Clocks are set back now and then.
  EXPECT_TRUE(load(-kClockSlack, milliseconds(0)).ok());
  ExpectRefused(load(-kClockSlack - milliseconds(1), hours(1)), absl::StatusCode::kFailedPrecondition,
                "is from the future, by 5m0.001s");
}

TEST(SavedCopy, TimesFarOffAreNoTrouble) {
  ExpectRefused(DecodeCopy(SealedCopy{.millis = UINT64_MAX}.bytes(), Wanted()), absl::StatusCode::kFailedPrecondition,
                "is from the future");
  ExpectRefused(DecodeCopy(SealedCopy{.millis = 0}.bytes(), {.ring = "r", .now = kThen, .max_age = hours(1)}),
                absl::StatusCode::kFailedPrecondition, "is too old");
  SavedCopy before_1970 = CopyOf(ring::RingOf(1, {"a"}));
  before_1970.current_at = system_clock::time_point::min();
  const absl::StatusOr<std::string> bytes = EncodeCopy("r", before_1970);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const absl::StatusOr<SavedCopy> copy = DecodeCopy(*bytes, Wanted());
  ASSERT_TRUE(copy.ok()) << copy.status();
  EXPECT_EQ(copy->current_at, system_clock::time_point());
}

TEST(SavedCopy, ARingBeyondTheLimitsIsRefused) {
  const std::string bytes = SmallCopy();
  const auto load = [&](const ring::Limits& limits) {
    return DecodeCopy(bytes, {.ring = "r", .now = kThen, .limits = limits});
  };
  EXPECT_TRUE(load({.max_nodes = 2, .max_points = 4}).ok());
  ExpectRefused(load({.max_nodes = 1, .max_points = 4}), absl::StatusCode::kResourceExhausted, "more than 1 nodes");
  ExpectRefused(load({.max_nodes = 2, .max_points = 3}), absl::StatusCode::kResourceExhausted, "points");
}

TEST(SavedCopy, WhatWouldBeTooLargeIsNotMade) {
  const SavedCopy copy = CopyOf(ring::RingOf(2, {"a", "b"}));
  const size_t size = SmallCopy().size();
  EXPECT_TRUE(EncodeCopy("r", copy, size).ok());
  const absl::StatusOr<std::string> refused = EncodeCopy("r", copy, size - 1);
  EXPECT_TRUE(absl::IsResourceExhausted(refused.status())) << refused.status();
}

// Whole files, whose content is wrong.
class SealedCopyTest : public ::testing::Test {
 protected:
  SealedCopyTest() {
    const ring::Ring ring = ring::RingOf(2, {"a", "b"});
    v1::Snapshot& snapshot = *message_.mutable_snapshot();
    snapshot.mutable_ring()->set_name("r");
    ToProto(ring::Version{7, 5}, snapshot.mutable_ring()->mutable_version());
    ToProto(ring.checksum(), snapshot.mutable_ring()->mutable_checksum());
    ToProto(ring.settings().placement, snapshot.mutable_ring()->mutable_placement());
    snapshot.mutable_ring()->set_default_weight(ring.settings().default_weight);
    for (const ring::Node& node : ring::NodesOf(ring)) ToProto(node, 0, snapshot.add_nodes());
    snapshot.set_last(true);
  }

  v1::Snapshot& snapshot() { return *message_.mutable_snapshot(); }
  SealedCopy With(const v1::WatchResponse& message) { return SealedCopy().Add(message.SerializeAsString()); }
  absl::StatusOr<SavedCopy> Load() { return DecodeCopy(With(message_).bytes(), Wanted()); }

  v1::WatchResponse message_;
};

TEST_F(SealedCopyTest, IsReadWhereNothingIsWrong) { EXPECT_TRUE(Load().ok()) << Load().status(); }

TEST_F(SealedCopyTest, TheRingMustHaveItsChecksum) {
  snapshot().mutable_nodes(0)->set_weight(9);
  ExpectRefused(Load(), absl::StatusCode::kDataLoss, "cannot be used: the copy of version 7/5 has another checksum");
  snapshot().mutable_ring()->clear_checksum();
  ExpectRefused(Load(), absl::StatusCode::kFailedPrecondition, "has a checksum that this build does not know");
}

TEST_F(SealedCopyTest, TheSnapshotMustBeWholeAndNoMore) {
  const std::string missing = "where a part of a snapshot should be, there is something else or nothing";
  const auto refused = [](const SealedCopy& copy, const std::string& text) {
    ExpectRefused(DecodeCopy(copy.bytes(), Wanted()), absl::StatusCode::kDataLoss, text);
  };
  const std::string chunk = message_.SerializeAsString();
  refused(SealedCopy(), missing);
  refused(With(message_).Add(chunk), "it goes on behind its last part");
  refused(SealedCopy{.chunks = "abc"}, missing);
  refused(SealedCopy{.chunks = support::LittleEndian(UINT32_MAX, 4) + chunk}, missing);
  refused(SealedCopy().Add("\xff\xff\xff"), missing);
  v1::WatchResponse heartbeat;
  heartbeat.mutable_heartbeat();
  refused(With(heartbeat), missing);
  v1::WatchResponse first = message_;
  first.mutable_snapshot()->set_last(false);
  refused(With(first), missing);
}

TEST_F(SealedCopyTest, PartsMustBeInPlace) {
  snapshot().set_chunk(1);
  ExpectRefused(Load(), absl::StatusCode::kDataLoss, "is damaged: a chunk of a snapshot is out of place");
}

TEST_F(SealedCopyTest, APlacementThatIsNotKnownIsRefused) {
  snapshot().mutable_ring()->mutable_placement()->mutable_hashed()->set_hash(static_cast<v1::HashFunction>(99));
  ExpectRefused(Load(), absl::StatusCode::kInvalidArgument, "cannot be used: ");
}

}  // namespace
}  // namespace ringd
