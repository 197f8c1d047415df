#include "ring/ring.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "ring/checksum.h"
#include "ring/error.h"
#include "ring/slot_leveller.h"

namespace ringd::ring {
namespace {

absl::Status Taken(const Node& node, const Node& owner) {
  return Error(
      absl::StatusCode::kAlreadyExists, kHashKeyTaken,
      "hash_key " + Quote(node.hash_key) + " of node " + Quote(node.id) + " is taken by node " + Quote(owner.id));
}

absl::Status OverLimit(uint64_t count, const char* what, uint64_t limit) {
  return Error(absl::StatusCode::kResourceExhausted, kLimitExceeded,
               std::to_string(count) + " " + what + " are over the limit of " + std::to_string(limit));
}

absl::Status Imported() {
  return Error(absl::StatusCode::kFailedPrecondition, kRingImported,
               "its nodes and slots are decided elsewhere; ImportSlots alone changes them");
}

absl::Status Broken(const std::string& text) { return absl::InternalError("ring cannot be built: " + text); }

// The table of all points of these nodes.
std::shared_ptr<const PointTable> MakeTable(const Placement& placement, std::span<const NodePtr> nodes) {
  std::vector<uint64_t> ranks;
  const NodeOrder order = NodeOrderOf(placement);
  if (order != NodeOrder::kById) {
    ranks.reserve(nodes.size());
    const bool later_first = order == NodeOrder::kLaterJoinFirst;
    for (const NodePtr& node : nodes) ranks.push_back(later_first ? UINT64_MAX - node->join_number : node->join_number);
  }
  return std::make_shared<const PointTable>(PointsOf(placement, nodes), ranks);
}

// By node. One of weight > 0 may be without, where its points are told, or the others' weights have a say in them.
std::vector<bool> HavePoints(const Placement& placement, std::span<const NodePtr> nodes, const PointTable& table) {
  std::vector<bool> have_points(nodes.size());
  if (WeightGivesPoints(placement)) {
    for (size_t i = 0; i < nodes.size(); ++i) have_points[i] = nodes[i]->weight > 0;
  } else {
    for (const Point& point : table.points()) have_points[point.node()] = true;
  }
  return have_points;
}

// How many owners each slot has at least.
size_t LeastMembers(const SlotTable& table) {
  size_t least = table.owners();
  for (size_t slot = 0; slot < table.slot_count() && least > 0; ++slot) {
    least = std::min(least, table.MembersOf(slot).size());
  }
  return least;
}

absl::Status CheckPoints(uint64_t points, const Limits& limits) {
  const uint64_t max_points = std::min(limits.max_points, PointTable::kMaxPoints);
  return points > max_points ? OverLimit(points, "points", max_points) : absl::OkStatus();
}

// REQUIRES nodes in order of id.
absl::Status CheckUnique(std::span<const NodePtr> nodes) {
  std::unordered_map<std::string_view, const Node*> by_hash_key;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = *nodes[i];
    if (node.id.empty()) return Broken("a node has no id");
    if (node.hash_key.empty()) return Broken("node " + Quote(node.id) + " has no hash_key");
    if (i > 0 && nodes[i - 1]->id == node.id) return Broken("two nodes have the id " + Quote(node.id));
    const auto [owner, inserted] = by_hash_key.try_emplace(node.hash_key, &node);
    if (!inserted) return Broken(std::string(Taken(node, *owner->second).message()));
  }
  return absl::OkStatus();
}

// --- Apply, step by step: what each operation means for its node, whether the result is allowed, the next content.

std::string_view IdOf(const Operation& operation) {
  return std::visit(
      [](const auto& op) -> std::string_view {
        if constexpr (requires { op.node; }) {
          return op.node.id;
        } else {
          return op.id;
        }
      },
      operation);
}

absl::Status CheckOneEach(std::span<const Operation> operations) {
  std::vector<std::string_view> ids;
  ids.reserve(operations.size());
  for (const Operation& operation : operations) {
    ids.push_back(IdOf(operation));
    if (ids.back().empty()) return InvalidField("node id is empty");
  }
  std::sort(ids.begin(), ids.end());
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice == ids.end()) return absl::OkStatus();
  return Error(absl::StatusCode::kInvalidArgument, kDuplicateOperation, "two operations on node " + Quote(*twice));
}

// Turns operations into deltas, one at a time.
class DeltaMaker {
 public:
  explicit DeltaMaker(const Ring& ring) : ring_(ring), next_join_number_(ring.next_join_number()) {}

  absl::StatusOr<NodeDelta> operator()(const AddNode& add) {
    if (Held(add.node.id) != nullptr) {
      return Error(absl::StatusCode::kAlreadyExists, kNodeExists, "node " + Quote(add.node.id) + " already exists");
    }
    Node node = add.node;
    if (add.default_weight) node.weight = ring_.settings().default_weight;
    if (node.hash_key.empty()) node.hash_key = node.id;
    std::sort(node.points.begin(), node.points.end());
    node.join_number = next_join_number_++;
    return NodeDelta{.before = nullptr, .after = std::make_shared<const Node>(std::move(node))};
  }

  absl::StatusOr<NodeDelta> operator()(const RemoveNode& remove) {
    NodePtr held = Held(remove.id);
    if (held == nullptr) return NotFound(remove.id);
    return NodeDelta{.before = std::move(held), .after = nullptr};
  }

  absl::StatusOr<NodeDelta> operator()(const UpdateNode& update) {
    NodePtr held = Held(update.id);
    if (held == nullptr) return NotFound(update.id);
    Node node = *held;
    if (update.weight.has_value()) node.weight = *update.weight;
    if (update.default_weight) node.weight = ring_.settings().default_weight;
    if (update.address.has_value()) node.address = *update.address;
    if (update.zone.has_value()) node.zone = *update.zone;
    if (update.metadata.has_value()) node.metadata = *update.metadata;
    if (update.points.has_value()) {
      node.points = *update.points;
      std::sort(node.points.begin(), node.points.end());
    }
    if (node == *held) return NodeDelta{.before = held, .after = held};
    return NodeDelta{.before = std::move(held), .after = std::make_shared<const Node>(std::move(node))};
  }

  absl::StatusOr<NodeDelta> operator()(const PutNode& put) {
    NodePtr held = Held(put.node.id);
    Node node = put.node;
    if (node.hash_key.empty()) node.hash_key = node.id;
    if (held != nullptr && node == *held) return NodeDelta{.before = held, .after = held};
    next_join_number_ = std::max(next_join_number_, node.join_number + 1);
    return NodeDelta{.before = std::move(held), .after = std::make_shared<const Node>(std::move(node))};
  }

  uint64_t next_join_number() const { return next_join_number_; }

 private:
  NodePtr Held(std::string_view id) const {
    const size_t index = ring_.Find(id);
    return index < ring_.node_count() ? ring_.table()->nodes[index] : nullptr;
  }
  static absl::Status NotFound(std::string_view id) {
    return Error(absl::StatusCode::kNotFound, kNodeNotFound, "node " + Quote(id) + " not found");
  }

  const Ring& ring_;
  uint64_t next_join_number_;
};

const std::string& IdOf(const NodeDelta& delta) { return delta.before ? delta.before->id : delta.after->id; }
uint32_t WeightOf(const NodePtr& node) { return node ? node->weight : 0; }

absl::Status CheckNodeCount(const Ring& ring, std::span<const NodeDelta> deltas, const Limits& limits) {
  uint64_t nodes = ring.node_count();
  for (const NodeDelta& delta : deltas) nodes = nodes + (delta.after ? 1 : 0) - (delta.before ? 1 : 0);
  if (nodes > limits.max_nodes && nodes > ring.node_count()) return OverLimit(nodes, "nodes", limits.max_nodes);
  return absl::OkStatus();
}

// Whether a change leaves the points of a node as they are.
bool KeepsPoints(const NodeDelta& delta) {
  return delta.before && delta.after && delta.before->weight == delta.after->weight &&
         delta.before->hash_key == delta.after->hash_key && delta.before->join_number == delta.after->join_number &&
         delta.before->points == delta.after->points;
}

absl::Status CheckNodes(const Settings& settings, std::span<const NodeDelta> deltas) {
  for (const NodeDelta& delta : deltas) {
    if (delta.after == nullptr || KeepsPoints(delta)) continue;
    absl::Status fits = CheckNode(settings.placement, *delta.after, settings.default_weight);
    if (!fits.ok()) return fits;
  }
  return absl::OkStatus();
}

// Whether a change leaves the slots of a node as they are.
bool KeepsSlots(const NodeDelta& delta) {
  return delta.before && delta.after && delta.before->weight == delta.after->weight &&
         delta.before->zone == delta.after->zone;
}

// The hash_keys that nodes get must be free among the nodes that result from the change.
absl::Status CheckHashKeys(std::span<const NodeDelta> deltas, std::span<const NodePtr> nodes) {
  std::unordered_map<std::string_view, const Node*> added;
  for (const NodeDelta& delta : deltas) {
    if (!delta.after || (delta.before && delta.before->hash_key == delta.after->hash_key)) continue;
    const auto [owner, inserted] = added.try_emplace(delta.after->hash_key, delta.after.get());
    if (!inserted) return Taken(*delta.after, *owner->second);
  }
  if (added.empty()) return absl::OkStatus();
  for (const NodePtr& node : nodes) {
    const auto claim = added.find(node->hash_key);
    if (claim != added.end() && claim->second != node.get()) return Taken(*claim->second, *node);
  }
  return absl::OkStatus();
}

// The nodes after a change, and what becomes of their points.
struct NextNodes {
  std::vector<NodePtr> nodes;
  std::vector<uint64_t> digests;
  std::vector<uint32_t> new_index;     // by old index; kGone where a node goes
  std::vector<uint32_t> points_index;  // the same, and kGone where a node gets its points anew
  std::vector<size_t> points_anew;     // nodes that were added, or whose points changed
  bool same_points = true;
  bool same_slots = true;
};

// REQUIRES nodes and deltas in order of id.
NextNodes MergeNodes(std::span<const NodePtr> old, std::span<const uint64_t> digests, std::span<const NodeDelta> deltas,
                     NodeOrder order) {
  NextNodes next;
  next.nodes.reserve(old.size() + deltas.size());
  next.digests.reserve(old.size() + deltas.size());
  next.new_index.reserve(old.size());
  next.points_index.reserve(old.size());
  auto delta = deltas.begin();
  size_t at = 0;
  while (at < old.size() || delta != deltas.end()) {
    const auto index = static_cast<uint32_t>(next.nodes.size());
    if (delta == deltas.end() || (at < old.size() && old[at]->id < IdOf(*delta))) {
      next.nodes.push_back(old[at]);
      next.digests.push_back(digests[at]);
      next.new_index.push_back(index);
      next.points_index.push_back(index);
      ++at;
      continue;
    }
    const bool same_points = KeepsPoints(*delta);
    next.same_points &= same_points;
    next.same_slots &= KeepsSlots(*delta);
    if (delta->before) {
      next.new_index.push_back(delta->after ? index : PointTable::kGone);
      next.points_index.push_back(same_points ? index : PointTable::kGone);
      ++at;
    }
    if (delta->after) {
      next.nodes.push_back(delta->after);
      next.digests.push_back(NodeDigest(*delta->after, order));
      if (!same_points) next.points_anew.push_back(index);
    }
    ++delta;
  }
  return next;
}

}  // namespace

Ring::Ring(const Settings& settings, uint64_t next_join_number, std::vector<NodePtr> nodes,
           std::vector<uint64_t> digests, Tables tables)
    : settings_(settings),
      keys_(settings.placement),
      next_join_number_(next_join_number),
      checksum_(RingChecksum(settings, digests, *tables.points, tables.slots.get())),
      points_(std::move(tables.points)),
      slots_(std::move(tables.slots)) {
  auto table = std::make_shared<NodeTable>();
  if (slots_ != nullptr) {
    table->arcs = SlotArcs(*slots_, nodes.size());
    owner_count_ = LeastMembers(*slots_);
  } else {
    table->arcs = tables.arcs.empty() ? Arcs(*points_, nodes.size()) : std::move(tables.arcs);
    table->zones = ZoneSpread(nodes, HavePoints(settings.placement, nodes, *points_));
    owner_count_ = table->zones.owners();
  }
  for (const NodePtr& node : nodes) table->total_weight += node->weight;
  table->nodes = std::move(nodes);
  table->digests = std::move(digests);
  table_ = std::move(table);
}

absl::StatusOr<Ring> Ring::Create(const Settings& settings, std::vector<Node> nodes, uint64_t next_join_number,
                                  const Limits& limits, std::vector<uint32_t> slot_places) {
  if (nodes.size() > limits.max_nodes) return OverLimit(nodes.size(), "nodes", limits.max_nodes);
  if (absl::Status served = CheckPlacement(settings.placement); !served.ok()) return served;
  std::vector<NodePtr> shared;
  shared.reserve(nodes.size());
  for (Node& node : nodes) {
    // Weights were judged when they were given, by the default of that time.
    if (absl::Status fits = CheckNode(settings.placement, node, node.weight); !fits.ok()) return fits;
    shared.push_back(std::make_shared<const Node>(std::move(node)));
  }
  std::sort(shared.begin(), shared.end(), [](const NodePtr& a, const NodePtr& b) { return a->id < b->id; });
  if (absl::Status unique = CheckUnique(shared); !unique.ok()) return unique;
  if (absl::Status within = CheckPoints(PointCount(settings.placement, shared), limits); !within.ok()) return within;

  std::vector<uint64_t> digests;
  digests.reserve(shared.size());
  for (const NodePtr& node : shared) digests.push_back(NodeDigest(*node, NodeOrderOf(settings.placement)));
  Tables tables{.points = MakeTable(settings.placement, shared)};
  if (const auto shape = SlotShapeOf(settings.placement)) {
    if (slot_places.empty()) {
      const SlotTable nobodys(shape->slot_bits, shape->owners);
      const bool imported = IsImported(settings.placement);
      tables.slots = std::make_shared<const SlotTable>(imported ? nobodys : Level(nobodys, {}, MembersOf(shared)));
    } else {
      absl::Status fit = CheckPlaces(shape->slot_bits, shape->owners, slot_places, shared.size());
      if (!fit.ok()) return fit;
      tables.slots = std::make_shared<const SlotTable>(shape->slot_bits, shape->owners, std::move(slot_places));
    }
  } else if (!slot_places.empty()) {
    return Broken("its placement has no slots");
  }
  return Ring(settings, next_join_number, std::move(shared), std::move(digests), std::move(tables));
}

absl::StatusOr<Applied> Ring::Apply(std::span<const Operation> operations, const Limits& limits) const {
  return ApplyWith(operations, nullptr, limits);
}

absl::StatusOr<Applied> Ring::Apply(std::span<const Operation> operations, const SlotMoves& moves,
                                    const Limits& limits) const {
  return ApplyWith(operations, &moves, limits);
}

absl::StatusOr<Applied> Ring::ApplyWith(std::span<const Operation> operations, const SlotMoves* moves,
                                        const Limits& limits) const {
  if (moves == nullptr && IsImported(settings_.placement)) return Imported();
  if (absl::Status once = CheckOneEach(operations); !once.ok()) return once;
  DeltaMaker make_delta(*this);
  std::vector<NodeDelta> deltas;
  for (const Operation& operation : operations) {
    absl::StatusOr<NodeDelta> delta = std::visit(make_delta, operation);
    if (!delta.ok()) return delta.status();
    if (delta->before != delta->after) deltas.push_back(*std::move(delta));
  }
  const bool slots_move = slots_ != nullptr && moves != nullptr && !moves->runs.empty();
  if (deltas.empty() && !slots_move) return Applied{.ring = *this, .deltas = {}, .moves = {}};
  std::sort(deltas.begin(), deltas.end(), [](const NodeDelta& a, const NodeDelta& b) { return IdOf(a) < IdOf(b); });
  if (absl::Status within = CheckNodeCount(*this, deltas, limits); !within.ok()) return within;
  if (absl::Status fit = CheckNodes(settings_, deltas); !fit.ok()) return fit;

  const Placement& placement = settings_.placement;
  NextNodes next = MergeNodes(table_->nodes, table_->digests, deltas, NodeOrderOf(placement));
  if (absl::Status free = CheckHashKeys(deltas, next.nodes); !free.ok()) return free;
  const uint64_t points = PointCount(placement, next.nodes);
  if (absl::Status within = CheckPoints(points, limits); !within.ok()) {
    if (points > PointCount(placement, table_->nodes)) return within;
  }
  Tables tables{.points = points_, .slots = slots_};
  SlotMoves made;
  if (slots_ != nullptr) {
    if (slots_move || !next.same_slots) {
      absl::StatusOr<SlotTable> slots = moves != nullptr ? ApplyMoves(*slots_, table_->nodes, next.nodes, *moves)
                                                         : Level(*slots_, next.new_index, MembersOf(next.nodes));
      if (!slots.ok()) return slots.status();
      made = MovesBetween(*slots_, table_->nodes, *slots, next.nodes);
      // The same indices may be those of other nodes now: who compares two rings by their tables' pointers must see it.
      if (*slots != *slots_ || !made.runs.empty()) tables.slots = std::make_shared<const SlotTable>(*std::move(slots));
    }
  } else if (!next.same_points && PointsStandAlone(placement) && NodeOrderOf(placement) == NodeOrder::kById) {
    std::vector<Point> added;
    for (const size_t index : next.points_anew) {
      AppendPointsOf(placement, *next.nodes[index], static_cast<uint32_t>(index), added);
    }
    const bool none_gone =
        std::find(next.points_index.begin(), next.points_index.end(), PointTable::kGone) == next.points_index.end();
    std::vector<uint64_t> positions;
    positions.reserve(added.size());
    for (const Point& point : added) positions.push_back(point.position());
    tables.points = std::make_shared<const PointTable>(points_->Merge(next.points_index, std::move(added)));
    if (none_gone) {
      tables.arcs = ArcsAfterAdding(*points_, table_->arcs, next.new_index, std::move(positions), *tables.points,
                                    next.nodes.size());
    }
  } else if (!next.same_points) {
    tables.points = MakeTable(placement, next.nodes);
  } else {
    tables.arcs = table_->arcs;
  }
  return Applied{.ring = Ring(settings_, make_delta.next_join_number(), std::move(next.nodes), std::move(next.digests),
                              std::move(tables)),
                 .deltas = std::move(deltas),
                 .moves = std::move(made)};
}

Ring Ring::WithDefaultWeight(uint32_t default_weight) const {
  Ring ring = *this;
  if (default_weight == settings_.default_weight) return ring;
  ring.settings_.default_weight = default_weight;
  ring.checksum_ = RingChecksum(ring.settings_, table_->digests, *points_, slots_.get());
  return ring;
}

size_t Ring::Owners(uint64_t position, std::span<uint32_t> out) const {
  if (slots_ == nullptr) return table_->zones.Owners(points(), position, out);
  const std::span<const uint32_t> members = slots_->MembersOf(slots_->SlotOf(position));
  const size_t count = std::min(out.size(), members.size());
  std::copy_n(members.begin(), count, out.begin());
  return count;
}

size_t Ring::Find(std::string_view id) const {
  const auto found = std::lower_bound(table_->nodes.begin(), table_->nodes.end(), id,
                                      [](const NodePtr& node, std::string_view wanted) { return node->id < wanted; });
  const bool held = found != table_->nodes.end() && (*found)->id == id;
  return held ? static_cast<size_t>(found - table_->nodes.begin()) : node_count();
}

double NodeTable::ShareOf(size_t index) const { return std::ldexp(static_cast<double>(arcs[index]), -64); }

double NodeTable::ExpectedShareOf(size_t index) const {
  return total_weight == 0 ? 0 : static_cast<double>(nodes[index]->weight) / static_cast<double>(total_weight);
}

Balance NodeTable::BalanceOfNodes() const {
  if (total_weight == 0) return {};
  Balance balance{.max_ratio = 0, .min_ratio = std::numeric_limits<double>::infinity()};
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i]->weight == 0) continue;
    const double ratio = ShareOf(i) / ExpectedShareOf(i);
    balance.max_ratio = std::max(balance.max_ratio, ratio);
    balance.min_ratio = std::min(balance.min_ratio, ratio);
  }
  return balance;
}

uint64_t WeightTaken(std::span<const NodeDelta> deltas) {
  uint64_t taken = 0;
  for (const NodeDelta& delta : deltas) {
    const uint32_t before = WeightOf(delta.before);
    const uint32_t after = WeightOf(delta.after);
    if (before > after) taken += before - after;
  }
  return taken;
}

}  // namespace ringd::ring
