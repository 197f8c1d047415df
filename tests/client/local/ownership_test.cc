#include "ringd/ownership.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "client/local/ring_copy.h"
#include "tests/ring/ring_builder.h"

namespace ringd {
namespace {

using CopyPtr = std::shared_ptr<const RingCopy>;

CopyPtr CopyOf(const ring::Ring& ring, ring::Version version) {
  return MakeCopy(std::make_shared<const HeldRing>(HeldRing{.version = version, .ring = ring}), nullptr);
}

// The table of the header, in its order.
TEST(Owns, IsAsTheTableSays) {
  const CopyPtr copy = CopyOf(ring::RingOf(1, {"me"}), {2, 5});
  const Node* me = copy->Owner("k");
  struct Row {
    Version caller;
    Ownership as_owner;
    Ownership as_other;
    bool caller_behind;
  };
  const std::vector<Row> table = {
      {{2, 5}, Ownership::kOwned, Ownership::kNotOwned, false}, {{2, 4}, Ownership::kOwned, Ownership::kNotOwned, true},
      {{1, 9}, Ownership::kOwned, Ownership::kNotOwned, true},  {{}, Ownership::kOwned, Ownership::kNotOwned, true},
      {{2, 6}, Ownership::kBehind, Ownership::kBehind, false},  {{3, 1}, Ownership::kBehind, Ownership::kBehind, false},
  };
  for (const Row& row : table) {
    SCOPED_TRACE(ToString(row.caller));
    for (const std::string_view node : {"me", "other"}) {
      const OwnsAnswer answer = Owns(*copy, node, "k", row.caller);
      EXPECT_EQ(answer.ownership, node == "me" ? row.as_owner : row.as_other);
      EXPECT_EQ(answer.version, (Version{2, 5}));
      EXPECT_EQ(answer.caller_behind, row.caller_behind);
      EXPECT_EQ(answer.owner, answer.ownership == Ownership::kBehind ? nullptr : me);
    }
  }
}

TEST(Owns, WhatNobodyOwnsIsNotOwned) {
  const CopyPtr empty = CopyOf(ring::EmptyRing(ring::SettingsOf(1)), {1, 1});
  const OwnsAnswer answer = Owns(*empty, "me", "k", {1, 1});
  EXPECT_EQ(answer.ownership, Ownership::kNotOwned);
  EXPECT_EQ(answer.owner, nullptr);
}

TEST(Owns, ByPosition) {
  ring::AddNode a = ring::Add("a");
  a.node.points = {49};
  ring::AddNode b = ring::Add("b");
  b.node.points = {99};
  const CopyPtr copy =
      CopyOf(ring::With(ring::EmptyRing({.placement = ring::PointsSettings{.last_position = 99}}), {a, b}), {1, 2});
  EXPECT_EQ(OwnsAt(*copy, "a", 49, {1, 2}).ownership, Ownership::kOwned);
  EXPECT_EQ(OwnsAt(*copy, "a", 50, {1, 2}).ownership, Ownership::kNotOwned);
  EXPECT_EQ(OwnsAt(*copy, "a", 50, {1, 2}).owner->id, "b");
  EXPECT_EQ(OwnsAt(*copy, "a", 49, {1, 3}).ownership, Ownership::kBehind);
  EXPECT_EQ(OwnsAt(*copy, "a", 100, {1, 2}).owner, nullptr) << "beyond the circle";
  EXPECT_EQ(Owns(*copy, "a", "k", {1, 2}).ownership, Ownership::kNotOwned) << "keys have no place in such a ring";
}

// Nodes and callers whose copies are of any versions: a key has one node at a version that takes its writes, and a
// store that refuses lower versions than it has seen has them in order.
TEST(Owns, OneNodeTakesAKeyAtAVersion) {
  std::mt19937_64 random(1);
  const auto below = [&](uint64_t bound) { return random() % bound; };
  std::vector<CopyPtr> versions;
  ring::Ring ring = ring::RingOf(4, {"n0", "n1", "n2", "n3"});
  for (uint64_t revision = 1; revision <= 30; ++revision) {
    versions.push_back(CopyOf(ring, {1, revision}));
    ring = ring::With(ring, {ring::Reweigh("n" + std::to_string(below(4)), static_cast<uint32_t>(1 + below(9)))});
  }
  struct Stored {
    Version version;
    std::string writer;
  };
  std::map<std::string, Stored> store;
  int taken = 0;
  int fenced = 0;
  int behind = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string key = "k" + std::to_string(below(20));
    const std::string node = "n" + std::to_string(below(4));
    // Time goes on, and each is up to seven versions behind.
    const size_t newest = static_cast<size_t>(i) * (versions.size() - 8) / 20'000 + 7;
    const RingCopy& of_node = *versions[newest - below(8)];
    const RingCopy& of_caller = *versions[newest - below(8)];
    const OwnsAnswer answer = Owns(of_node, node, key, of_caller.version());
    behind += answer.ownership == Ownership::kBehind ? 1 : 0;
    ASSERT_EQ(answer.ownership == Ownership::kBehind, of_caller.version() > of_node.version());
    if (answer.ownership != Ownership::kOwned) continue;
    ASSERT_EQ(answer.owner->id, node);
    Stored& stored = store[key];
    if (answer.version < stored.version) {
      ++fenced;
      continue;
    }
    ASSERT_TRUE(answer.version > stored.version || answer.owner->id == stored.writer || stored.writer.empty())
        << key << " at " << ToString(answer.version);
    stored = {answer.version, node};
    ++taken;
  }
  EXPECT_GT(taken, 500);
  EXPECT_GT(fenced, 500);
  EXPECT_GT(behind, 500);
}

}  // namespace
}  // namespace ringd
