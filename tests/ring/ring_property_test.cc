// Laws of the ring over random histories. Seeds are fixed; a failure prints the seed and the step.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/ring/model.h"
#include "tests/ring/ring_builder.h"

namespace ringd::ring {
namespace {

class History {
 public:
  explicit History(uint64_t seed)
      : random_(seed),
        points_per_weight_(1 + Below(12)),
        ring_(EmptyRing(SettingsOf(points_per_weight_, 1 + Below(4)))) {}

  const Ring& ring() const { return ring_; }
  uint32_t points_per_weight() const { return points_per_weight_; }
  uint32_t Below(uint64_t bound) { return static_cast<uint32_t>(random_() % bound); }
  uint64_t Position() { return random_(); }
  std::string NewId() { return "n" + std::to_string(Below(10'000)) + "-" + std::to_string(++added_); }
  std::string ZoneName() { return Below(4) == 0 ? "" : "z" + std::to_string(Below(3)); }
  std::string SomeId() { return ring_.node(Below(ring_.node_count())).id; }

  AddNode RandomAdd() {
    AddNode add = Add(NewId(), Below(5), ZoneName());
    add.default_weight = Below(5) == 0;
    if (Below(4) == 0) add.node.hash_key = "key-of-" + add.node.id;
    return add;
  }
  UpdateNode RandomUpdate(const std::string& id) {
    UpdateNode update = Reweigh(id, Below(6));
    if (Below(3) == 0) update.weight.reset();
    if (Below(3) == 0) update.zone = ZoneName();
    if (Below(3) == 0) update.address = "h:" + std::to_string(Below(3));
    if (Below(5) == 0) update.metadata = std::map<std::string, std::string>{{"k", std::to_string(Below(3))}};
    return update;
  }

  // One to four operations on different nodes; the ring hovers around ten nodes.
  Applied Step() {
    std::vector<Operation> operations;
    std::set<std::string> touched;
    for (uint32_t i = 0, n = 1 + Below(4); i < n; ++i) {
      if (Below(20) >= ring_.node_count()) {
        operations.emplace_back(RandomAdd());
      } else if (const std::string id = SomeId(); touched.insert(id).second) {
        if (Below(2) == 0) {
          operations.emplace_back(Remove(id));
        } else {
          operations.emplace_back(RandomUpdate(id));
        }
      }
    }
    Applied applied = Change(ring_, operations);
    ring_ = applied.ring;
    return applied;
  }

 private:
  std::mt19937_64 random_;
  uint32_t points_per_weight_;
  Ring ring_;
  uint64_t added_ = 0;
};

class Laws : public testing::TestWithParam<uint64_t> {
 protected:
  History history_{GetParam()};
};

std::vector<Point> PointsOf(const Ring& ring) { return {ring.points().points().begin(), ring.points().points().end()}; }

void ExpectSameContent(const Ring& a, const Ring& b) {
  EXPECT_EQ(a.checksum(), b.checksum());
  EXPECT_EQ(PointsOf(a), PointsOf(b));
  ASSERT_EQ(a.node_count(), b.node_count());
  for (size_t i = 0; i < a.node_count(); ++i) EXPECT_EQ(a.table()->arcs[i], b.table()->arcs[i]) << a.node(i).id;
}

// A ring made by changes is the ring made from scratch, to the byte; and so answers alike whatever its history.
TEST_P(Laws, PlacementIsAFunctionOfContent) {
  for (int step = 0; step < 60; ++step) {
    history_.Step();
    const Ring& ring = history_.ring();
    std::vector<Node> nodes = NodesOf(ring);
    std::reverse(nodes.begin(), nodes.end());
    const absl::StatusOr<Ring> scratch = Ring::Create(ring.settings(), nodes, ring.next_join_number());
    ASSERT_TRUE(scratch.ok()) << scratch.status();
    ExpectSameContent(ring, *scratch);
    EXPECT_EQ(scratch->total_weight(), ring.total_weight());
    ASSERT_FALSE(HasFailure()) << "seed " << GetParam() << " step " << step;
  }
}

TEST_P(Laws, AnswersAreTheModels) {
  for (int step = 0; step < 20; ++step) {
    history_.Step();
    const Ring& ring = history_.ring();
    const Model model(NodesOf(ring), history_.points_per_weight(), HashKey);
    ASSERT_EQ(ring.point_count(), model.point_count());
    if (!ring.HasOwners()) continue;
    for (const uint64_t position : model.Edges()) ASSERT_EQ(OwnerId(ring, position), model.Owner(position));
    for (int i = 0; i < 20; ++i) {
      const uint64_t position = history_.Position();
      const size_t n = 1 + history_.Below(14);
      ASSERT_EQ(OwnerIds(ring, position, n), model.Owners(position, n))
          << "seed " << GetParam() << " step " << step << " n " << n;
    }
  }
}

TEST_P(Laws, SharesAreExact) {
  for (int step = 0; step < 30; ++step) {
    history_.Step();
    const Ring& ring = history_.ring();
    const Model model(NodesOf(ring), history_.points_per_weight(), HashKey);
    absl::uint128 sum = 0;
    for (size_t i = 0; i < ring.node_count(); ++i) {
      ASSERT_EQ(ring.table()->arcs[i], model.Arc(ring.node(i).id)) << "seed " << GetParam() << " step " << step;
      sum += ring.table()->arcs[i];
    }
    ASSERT_EQ(sum, ring.HasOwners() ? WholeCircle() : absl::uint128(0));
  }
}

TEST_P(Laws, UndoIsTheIdentity) {
  for (int step = 0; step < 30; ++step) {
    history_.Step();
    const Ring ring = history_.ring();
    const AddNode add = history_.RandomAdd();
    ExpectSameContent(With(With(ring, {add}), {Remove(add.node.id)}), ring);
    if (ring.node_count() == 0) continue;
    const Node& node = ring.node(history_.Below(ring.node_count()));
    const Ring reweighed = With(ring, {Reweigh(node.id, history_.Below(9))});
    ExpectSameContent(With(reweighed, {Reweigh(node.id, node.weight)}), ring);
    AddNode again{.node = node};
    ExpectSameContent(With(With(ring, {Remove(node.id)}), {again}), ring);
    ASSERT_FALSE(HasFailure()) << "seed " << GetParam() << " step " << step;
  }
}

// A change moves keys to or from the nodes that it names and no others, and leaves the deltas to prove it.
TEST_P(Laws, OnlyKeysOfChangedNodesMove) {
  for (int step = 0; step < 60; ++step) {
    const Ring before = history_.ring();
    const Applied applied = history_.Step();
    const Ring& after = applied.ring;
    if (!before.HasOwners() || !after.HasOwners()) continue;
    std::set<std::string> changed;
    for (const NodeDelta& delta : applied.deltas) changed.insert(delta.before ? delta.before->id : delta.after->id);
    for (int i = 0; i < 200; ++i) {
      const uint64_t position = history_.Position();
      const std::string from = OwnerId(before, position);
      const std::string to = OwnerId(after, position);
      ASSERT_TRUE(from == to || changed.contains(from) || changed.contains(to))
          << from << " -> " << to << " at " << position << ", seed " << GetParam() << " step " << step;
    }
  }
}

TEST_P(Laws, ANewNodeTakesAtMostOnePlaceOfAnyOwnerList) {
  for (int step = 0; step < 30; ++step) {
    history_.Step();
    const Ring& ring = history_.ring();
    const AddNode add = history_.RandomAdd();
    const Ring larger = With(ring, {add});
    for (int i = 0; i < 50; ++i) {
      const uint64_t position = history_.Position();
      const size_t n = 1 + history_.Below(6);
      const std::vector<std::string> before = OwnerIds(ring, position, n);
      const std::vector<std::string> after = OwnerIds(larger, position, n);
      const auto missing = [](const std::vector<std::string>& from, const std::vector<std::string>& in) {
        std::vector<std::string> ids;
        for (const std::string& id : from) {
          if (std::find(in.begin(), in.end(), id) == in.end()) ids.push_back(id);
        }
        return ids;
      };
      ASSERT_LE(missing(before, after).size(), 1u) << "seed " << GetParam() << " step " << step;
      for (const std::string& gained : missing(after, before)) ASSERT_EQ(gained, add.node.id);
    }
  }
}

TEST_P(Laws, ZonesAreSpreadAsEvenlyAsTheirNodesAllow) {
  for (int step = 0; step < 30; ++step) {
    history_.Step();
    const Ring& ring = history_.ring();
    std::map<std::string, size_t> available;
    for (const Node& node : NodesOf(ring)) available[node.zone] += node.weight > 0;
    for (int i = 0; i < 20; ++i) {
      const std::vector<std::string> owners = OwnerIds(ring, history_.Position(), 1 + history_.Below(10));
      std::map<std::string, size_t> taken;
      for (const std::string& id : owners) {
        ++taken[ring.node(ring.Find(id)).zone];
        for (const auto& [zone, nodes] : available) {
          for (const auto& [other, others] : available) {
            if (taken[zone] == nodes || taken[other] == others) continue;
            ASSERT_LE(taken[zone], taken[other] + 1) << "seed " << GetParam() << " step " << step;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Laws, testing::Range<uint64_t>(1, 21));

}  // namespace
}  // namespace ringd::ring
