// Faults that others reported in public, as far as they reach the ring itself. Ids are those of the case list.
// Collisions are made with hashes that are cut short, since XXH3 gives none in a lifetime.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "ring/hashed_placement.h"
#include "ring/label.h"
#include "ring/owner_walk.h"
#include "ring/ring.h"
#include "tests/ring/model.h"
#include "tests/ring/ring_builder.h"

namespace ringd::ring {
namespace {

using HashLabel = uint64_t (*)(std::string_view);

uint64_t TopByte(std::string_view label) { return HashKey(label) & uint64_t{0xFF} << 56; }
uint64_t LowByte(std::string_view label) { return HashKey(label) & 0xFF; }
// All nodes called shard... have the same points.
uint64_t ShardsCollide(std::string_view label) {
  return label.starts_with("shard") ? HashKey(label.substr(label.find('#'))) : HashKey(label);
}

// A table of nodes of weight 1 that is changed one node at a time, with a hash of our choice.
class Table {
 public:
  Table(uint32_t points, HashLabel hash) : points_(points), hash_(hash) {}

  void Add(const std::string& id) {
    const auto at = std::lower_bound(ids_.begin(), ids_.end(), id) - ids_.begin();
    std::vector<uint32_t> new_index;
    for (uint32_t i = 0; i < ids_.size(); ++i) new_index.push_back(i < at ? i : i + 1);
    ids_.insert(ids_.begin() + at, id);
    std::vector<Point> added;
    NodeLabels labels(LabelTemplate(kDefaultLabel), id);
    for (uint32_t i = 0; i < points_; ++i) added.emplace_back(hash_(labels.At(i)), static_cast<uint32_t>(at));
    table_ = table_.Merge(new_index, std::move(added));
  }
  void Remove(const std::string& id) {
    const auto at = std::find(ids_.begin(), ids_.end(), id) - ids_.begin();
    std::vector<uint32_t> new_index;
    for (uint32_t i = 0; i < ids_.size(); ++i) new_index.push_back(i < at ? i : i > at ? i - 1 : PointTable::kGone);
    ids_.erase(ids_.begin() + at);
    table_ = table_.Merge(new_index, {});
  }
  std::vector<Point> points() const { return {table_.points().begin(), table_.points().end()}; }
  size_t PointsOf(const std::string& id) const {
    const auto at = std::find(ids_.begin(), ids_.end(), id) - ids_.begin();
    return static_cast<size_t>(std::count_if(table_.points().begin(), table_.points().end(),
                                             [&](const Point& point) { return point.node() == at; }));
  }
  std::vector<std::string> Owners(uint64_t position, size_t n) const {
    std::vector<uint32_t> owners(n);
    owners.resize(ZoneSpread(Nodes(), std::vector<bool>(ids_.size(), true)).Owners(table_, position, owners));
    std::vector<std::string> ids;
    for (const uint32_t owner : owners) ids.push_back(ids_[owner]);
    return ids;
  }
  absl::uint128 ArcOf(const std::string& id) const {
    return Arcs(table_, ids_.size())[static_cast<size_t>(std::find(ids_.begin(), ids_.end(), id) - ids_.begin())];
  }
  Model model() const {
    std::vector<Node> nodes;
    for (const NodePtr& node : Nodes()) nodes.push_back(*node);
    return Model(nodes, points_, hash_);
  }

 private:
  std::vector<NodePtr> Nodes() const {
    std::vector<NodePtr> nodes;
    for (const std::string& id : ids_) nodes.push_back(std::make_shared<const Node>(ring::Add(id).node));
    return nodes;
  }

  uint32_t points_;
  HashLabel hash_;
  std::vector<std::string> ids_;
  PointTable table_;
};

Table TableOf(uint32_t points, HashLabel hash, const std::vector<std::string>& ids) {
  Table table(points, hash);
  for (const std::string& id : ids) table.Add(id);
  return table;
}

void ExpectAgreesWithModel(const Table& table, size_t n) {
  const Model model = table.model();
  for (const uint64_t position : model.Edges()) {
    ASSERT_EQ(table.Owners(position, n), model.Owners(position, n)) << "at " << position;
  }
}

// B01 (apache/pekko#3279): two points at one position: the later one silently replaces the earlier.
TEST(Cases, B01KeepsBothPointsAtOnePositionWhateverTheOrder) {
  const Table first = TableOf(100, ShardsCollide, {"shard0095071", "shard0712366", "other"});
  const Table second = TableOf(100, ShardsCollide, {"shard0712366", "shard0095071", "other"});
  EXPECT_EQ(first.points(), second.points());
  EXPECT_EQ(first.PointsOf("shard0095071"), 100u);
  EXPECT_EQ(first.PointsOf("shard0712366"), 100u);
  EXPECT_EQ(first.ArcOf("shard0712366"), absl::uint128(0));
  EXPECT_EQ(first.ArcOf("shard0095071") + first.ArcOf("other"), WholeCircle());
  EXPECT_NEAR(static_cast<double>(first.ArcOf("other")) / static_cast<double>(WholeCircle()), 0.5, 0.1);
  for (int k = 0; k < 20'000; ++k) {
    const uint64_t position = HashKey("user:" + std::to_string(k));
    const std::vector<std::string> owners = first.Owners(position, 2);
    ASSERT_EQ(owners, second.Owners(position, 2));
    if (owners[0] != "other") {
      ASSERT_EQ(owners, (std::vector<std::string>{"shard0095071", "shard0712366"}));
    }
  }
}

// B02 (zeromicro/go-zero#4747): removing a node that collides with another deletes the survivor's point.
TEST(Cases, B02RemovingANodeKeepsThePointsThatCollideWithIt) {
  for (const HashLabel hash : {TopByte, LowByte}) {
    Table table = TableOf(100, hash, {"cache-yolrhmnb", "cache-8bx30gkf", "n3"});
    ExpectAgreesWithModel(table, 3);
    table.Remove("cache-yolrhmnb");
    EXPECT_EQ(table.points(), TableOf(100, hash, {"cache-8bx30gkf", "n3"}).points());
    ExpectAgreesWithModel(table, 2);
  }
}

// B04 (jacky-xbb/consistent-hash#13): after a collision, sorted keys and owner table differ in length.
TEST(Cases, B04CountsPointsRightAfterCollisions) {
  std::vector<std::string> ids = {"node-etgqek", "node-lcnygj"};
  for (int i = 0; i < 60; ++i) ids.push_back("n" + std::to_string(i));
  Table table = TableOf(160, TopByte, ids);
  EXPECT_EQ(table.points().size(), 62u * 160);
  table.Remove("node-etgqek");
  EXPECT_EQ(table.points().size(), 61u * 160);
  for (size_t i = 1; i < ids.size(); ++i) EXPECT_EQ(table.PointsOf(ids[i]), 160u);
  for (uint64_t top = 0; top < 256; ++top) ASSERT_NE(table.Owners(top << 56, 1).at(0), "node-etgqek");
}

// B06 (andrasq/consistent-hash-js#4): same nodes, other insertion order, other owner.
TEST(Cases, B06OrderOfAddingDoesNotMatter) {
  std::vector<std::string> ids;
  for (int i = 0; i < 10; ++i) ids.push_back("node-" + std::to_string(i));
  const Ring a = RingOf(100, ids);
  const Ring b = RingOf(100, {ids.rbegin(), ids.rend()});
  std::shuffle(ids.begin(), ids.end(), std::mt19937(7));
  Ring c = RingOf(100, {ids.begin(), ids.begin() + 5});
  c = With(c, {Add("tmp")});
  for (size_t i = 5; i < 10; ++i) c = With(c, {Add(ids[i])});
  c = With(c, {Remove("tmp")});
  EXPECT_EQ(a.checksum(), b.checksum());
  EXPECT_EQ(a.checksum(), c.checksum());
  EXPECT_EQ(OwnerId(a, "foo"), OwnerId(c, "foo"));
  for (int k = 0; k < 10'000; ++k) {
    const uint64_t position = HashKey("k" + std::to_string(k));
    ASSERT_EQ(a.Owner(position), b.Owner(position));
    ASSERT_EQ(a.Owner(position), c.Owner(position));
  }
}

// B07 (grpc/grpc-java#13054), B08 (acrosa/scala-redis#5): beyond the last point the circle closes, below the first one
// there is an owner too.
TEST(Cases, B07B08TheCircleCloses) {
  for (const std::vector<std::string>& ids :
       {std::vector<std::string>{"a", "b", "c"}, {"localhost:6379", "localhost:6380"}, {"localhost:6379"}}) {
    const Ring ring = RingOf(1, ids);
    const Model model(NodesOf(ring), 1, HashKey);
    const std::string first = ring.node(ring.points().points()[0].node()).id;
    EXPECT_EQ(OwnerId(ring, UINT64_MAX), first);
    EXPECT_EQ(OwnerId(ring, UINT64_MAX - 1), first);
    EXPECT_EQ(OwnerId(ring, uint64_t{0}), first);
    for (const uint64_t position : model.Edges()) EXPECT_EQ(OwnerId(ring, position), model.Owner(position));
    EXPECT_EQ(OwnerId(ring, "x"), model.Owner(HashKey("x")));
    EXPECT_EQ(OwnerId(ring, ""), model.Owner(HashKey(""))) << "the ring answers the empty key; the RPC refuses it";
  }
}

// B12 (uber-node/ringpop-node#241): node id + index glued without a separator.
TEST(Cases, B12NodesWhoseIdsAreEachOthersPrefixesAreServedAlike) {
  for (const std::vector<std::string>& ids :
       {std::vector<std::string>{"s1:1", "s1:11", "s2:2", "s2:5"}, {"a1", "a", "a11", "a111"}}) {
    const Ring ring = RingOf(100, ids);
    std::vector<int> keys(4);
    for (int k = 20'000'000; k < 21'000'000; ++k) ++keys[ring.Owner(HashKey(std::to_string(k)))];
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_GT(keys[i], 0.65 * 250'000) << ring.node(i).id;
      EXPECT_LT(keys[i], 1.4 * 250'000) << ring.node(i).id;
    }
  }
}

// B14 (apache/gluten#12350), B15 (twitter/twemproxy#25): only hash_key, weight and points_per_weight place a node.
TEST(Cases, B14B15AddressAndMetadataMoveNoKey) {
  const Ring ring = RingOf(160, {"n1", "n2", "n3"});
  UpdateNode update;
  update.id = "n1";
  update.address = "10.0.0.2:1";
  update.metadata = std::map<std::string, std::string>{{"rack", "7"}};
  const Ring updated = With(ring, {update});
  AddNode again = Add("n1");
  again.node.address = "10.0.0.3:1";
  const Ring readded = With(With(ring, {Remove("n1")}), {again});
  EXPECT_EQ(updated.node(0).address, "10.0.0.2:1");
  for (int k = 0; k < 10'000; ++k) {
    const uint64_t position = HashKey("k" + std::to_string(k));
    ASSERT_EQ(updated.Owner(position), ring.Owner(position));
    ASSERT_EQ(readded.Owner(position), ring.Owner(position));
  }
}

// B17 (Effect-TS/effect#6911): re-adding a known id keeps the stale payload.
TEST(Cases, B17AReaddedNodeHasItsNewAddress) {
  AddNode first = Add("n1");
  first.node.address = "10.0.0.1:1";
  AddNode second = Add("n1");
  second.node.address = "10.0.0.2:1";
  const Ring ring = With(EmptyRing(SettingsOf(2)), {first});
  EXPECT_EQ(ring.Apply(std::vector<Operation>{second}).status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(ring.node(0).address, "10.0.0.1:1");
  const Ring again = With(With(ring, {Remove("n1")}), {second});
  EXPECT_EQ(again.node(again.Owner(HashKey("k"))).address, "10.0.0.2:1");
}

// B18 (dgryski/go-rendezvous#1): lookup on an empty ring panics.
TEST(Cases, B18ARingWithoutOwnersSaysSo) {
  const Ring empty = EmptyRing(Settings{});
  const Ring idle = With(With(empty, {Add("n1", 1)}), {Reweigh("n1", 0)});
  const Ring emptied = With(idle, {Remove("n1")});
  for (const Ring& ring : {empty, idle, emptied}) {
    EXPECT_FALSE(ring.HasOwners());
    EXPECT_TRUE(OwnerIds(ring, HashKey("hello"), 3).empty());
    EXPECT_EQ(ring.table()->BalanceOfNodes().max_ratio, 0.0);
  }
  EXPECT_EQ(idle.table()->arcs[0], absl::uint128(0));
  EXPECT_EQ(emptied.checksum(), empty.checksum());
}

// B20 (bitwalker/libring#39): asking for n owners returns fewer distinct nodes.
TEST(Cases, B20AnswersAsManyDistinctOwnersAsAskedFor) {
  const Ring two = RingOf(128, {"a@localhost", "b@localhost"});
  const Ring five = With(EmptyRing(SettingsOf(1)), {Add("a", 1), Add("b", 1), Add("c", 1), Add("d", 1), Add("e", 50)});
  for (int k = 0; k < 10'000; ++k) {
    const uint64_t position = HashKey(std::to_string(k));
    for (const Ring* ring : {&two, &five}) {
      const size_t n = ring->node_count();
      const std::vector<std::string> owners = OwnerIds(*ring, position, n);
      ASSERT_EQ(std::set<std::string>(owners.begin(), owners.end()).size(), n);
      ASSERT_EQ(owners[0], OwnerId(*ring, position));
    }
  }
}

// B21 (coreos/torus#263): n larger than the node count loops or panics.
TEST(Cases, B21AnswersTheNodesThereAreWhenAskedForMore) {
  const Ring ring = RingOf(100, {"a", "b", "c"});
  const std::vector<std::string> all = OwnerIds(ring, 42, 3);
  EXPECT_EQ(all.size(), 3u);
  EXPECT_EQ(OwnerIds(ring, 42, 4), all);
  EXPECT_EQ(OwnerIds(ring, 42, Ring::kMaxOwners), all);
  EXPECT_EQ(OwnerIds(ring, 42, 1), std::vector<std::string>{all[0]});
  EXPECT_TRUE(OwnerIds(ring, 42, 0).empty());
}

// B23 (RJ/ketama#13): adding or re-weighting one node moves points of all others.
TEST(Cases, B23MovesOnlyKeysOfTheNodeThatChanged) {
  const Ring ring = RingOf(160, {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"});
  const Ring heavier = With(ring, {Reweigh("a", 3)});
  const Ring larger = With(heavier, {Add("k", 2)});
  const Ring back = With(larger, {Remove("k")});
  int to_a = 0;
  int to_k = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::string key = "key" + std::to_string(i);
    if (OwnerId(ring, key) != OwnerId(heavier, key)) {
      ++to_a;
      ASSERT_EQ(OwnerId(heavier, key), "a");
    }
    if (OwnerId(heavier, key) != OwnerId(larger, key)) {
      ++to_k;
      ASSERT_EQ(OwnerId(larger, key), "k");
    }
  }
  EXPECT_NEAR(to_a / 1e5, 0.15, 0.03);
  EXPECT_NEAR(to_k / 1e5, 2.0 / 14, 0.03);
  EXPECT_EQ(back.checksum(), heavier.checksum());
}

// B25 (traefik/traefik#1294): weight 0 treated as 1.
TEST(Cases, B25ANodeOfWeight0StaysListedAndOwnsNothing) {
  const Ring before = With(EmptyRing(Settings{}), {Add("a", 100), Add("b", 100), Add("c", 1)});
  const Ring ring = With(before, {Reweigh("c", 0)});
  ASSERT_EQ(ring.node_count(), 3u);
  EXPECT_EQ(ring.table()->ShareOf(2), 0.0);
  for (int k = 0; k < 1000; ++k) {
    const std::vector<std::string> owners = OwnerIds(ring, HashKey(std::to_string(k)), 3);
    ASSERT_EQ(std::set<std::string>(owners.begin(), owners.end()), (std::set<std::string>{"a", "b"}));
  }
  EXPECT_EQ(With(ring, {Reweigh("c", 1)}).checksum(), before.checksum());
}

}  // namespace
}  // namespace ringd::ring
