// Prints the table of ring/README.md: how evenly placements share the keys among equal nodes, and what a change moves.
//
// Shares and movement of rings are exact. Jump and maglev, which are no placements of the directory, are told by the
// shares of the entries of maglev's table, and by 4,000,000 hashed numbers for jump.
#include <cstdint>
#include <cstdio>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "ring/hash.h"
#include "ring/movement.h"
#include "ring/preset.h"
#include "ring/ring.h"

namespace ringd::ring {
namespace {

constexpr uint32_t kNodes = 100;
constexpr uint32_t kLost = 49;  // the node that goes, where one does

std::string NameOf(uint32_t node) { return "10.0.0." + std::to_string(node) + ":7000"; }

// What is told of a placement.
struct Row {
  std::string name;
  double largest = 0;   // share of the node that has most / average, of kNodes
  double smallest = 0;  // of the one that has least
  double added = 0;     // share that moves when one node comes
  double removed = 0;   // share that moves when one node goes
  double needless = 0;  // of both, what went between nodes that stayed as they were
};

void Print(const Row& row) {
  std::printf("| %s | %.3f | %.3f | %.4f | %.4f | %.4f |\n", row.name.c_str(), row.largest, row.smallest, row.added,
              row.removed, row.needless);
}

// Of owners, by key or by entry of a table: shares and movement.
Row OfOwners(std::string name, const std::vector<uint32_t>& before, const std::vector<uint32_t>& more,
             const std::vector<uint32_t>& fewer, uint32_t lost) {
  Row row{.name = std::move(name)};
  std::vector<uint64_t> counts(kNodes);
  for (const uint32_t owner : before) ++counts[owner];
  const auto keys = static_cast<double>(before.size());
  const auto [least, most] = std::minmax_element(counts.begin(), counts.end());
  row.largest = static_cast<double>(*most) * kNodes / keys;
  row.smallest = static_cast<double>(*least) * kNodes / keys;
  for (size_t i = 0; i < before.size(); ++i) {
    row.added += before[i] != more[i] ? 1 / keys : 0;
    row.removed += before[i] != fewer[i] ? 1 / keys : 0;
    row.needless += before[i] != more[i] && more[i] != kNodes ? 1 / keys : 0;
    row.needless += before[i] != fewer[i] && before[i] != lost ? 1 / keys : 0;
  }
  return row;
}

// --- Ours

Row OfRing(std::string name, const Settings& settings) {
  std::vector<Operation> operations;
  const auto add = [](uint32_t node) {
    AddNode added;
    added.node.id = NameOf(node);
    added.node.weight = 1;
    return added;
  };
  for (uint32_t node = 0; node < kNodes; ++node) operations.emplace_back(add(node));
  const Ring ring = Ring::Create(settings, {})->Apply(operations)->ring;
  const Balance balance = ring.table()->BalanceOfNodes();
  Row row{.name = std::move(name), .largest = balance.max_ratio, .smallest = balance.min_ratio};
  const auto change = [&](const Operation& operation, const std::string& changed, double& moved) {
    const Movement movement = Compare(ring, ring.Apply(std::vector<Operation>{operation})->ring);
    moved = movement.moved_share;
    for (const MovedPair& pair : movement.pairs) {
      if (pair.from != changed && pair.to != changed) row.needless += pair.share;
    }
  };
  change(add(kNodes), NameOf(kNodes), row.added);
  change(RemoveNode{.id = NameOf(kLost)}, NameOf(kLost), row.removed);
  return row;
}

// --- Others, as published

// J. Lamping and E. Veach, A Fast, Minimal Memory, Consistent Hash Algorithm. It can lose its last node alone.
uint32_t Jump(uint64_t key, uint32_t nodes) {
  int64_t owner = -1;
  int64_t next = 0;
  while (next < nodes) {
    owner = next;
    key = key * 2862933555777941757u + 1;
    next = static_cast<int64_t>(static_cast<double>(owner + 1) *
                                (static_cast<double>(1ll << 31) / static_cast<double>((key >> 33) + 1)));
  }
  return static_cast<uint32_t>(owner);
}

// D. Eisenbud et al., Maglev: A Fast and Reliable Software Network Load Balancer; the table of section 3.4.
std::vector<uint32_t> Maglev(const std::vector<uint32_t>& nodes) {
  constexpr uint32_t kEntries = 65'537;
  std::vector<uint32_t> owners(kEntries, UINT32_MAX);
  struct Turn {
    uint32_t node;
    uint64_t next;
    uint64_t skip;
  };
  std::vector<Turn> turns;
  for (const uint32_t node : nodes) {
    const uint64_t offset = HashBytes(HashFunction::kXxh3_64, NameOf(node)) % kEntries;
    const uint64_t skip = HashBytes(HashFunction::kXxh64, NameOf(node)) % (kEntries - 1) + 1;
    turns.push_back({node, offset, skip});
  }
  for (uint32_t filled = 0; filled < kEntries;) {
    for (Turn& turn : turns) {
      while (owners[turn.next] != UINT32_MAX) turn.next = (turn.next + turn.skip) % kEntries;
      owners[turn.next] = turn.node;
      if (++filled == kEntries) break;
    }
  }
  return owners;
}

Row OfJump() {
  constexpr uint32_t kKeys = 4'000'000;
  std::vector<uint32_t> before;
  std::vector<uint32_t> more;
  std::vector<uint32_t> fewer;
  for (uint32_t i = 0; i < kKeys; ++i) {
    const uint64_t hash = HashKey(std::to_string(i));
    before.push_back(Jump(hash, kNodes));
    more.push_back(Jump(hash, kNodes + 1));
    fewer.push_back(Jump(hash, kNodes - 1));
  }
  return OfOwners("jump (the last node goes: no other can)", before, more, fewer, kNodes - 1);
}

Row OfMaglev() {
  std::vector<uint32_t> nodes(kNodes);
  std::iota(nodes.begin(), nodes.end(), 0u);
  const std::vector<uint32_t> before = Maglev(nodes);
  std::vector<uint32_t> fewer = nodes;
  fewer.erase(fewer.begin() + kLost);
  nodes.push_back(kNodes);
  return OfOwners("maglev, table of 65,537", before, Maglev(nodes), Maglev(fewer), kLost);
}

int Main() {
  std::printf("| %u equal nodes | largest share / average | smallest | one node comes | one goes | needless |\n",
              kNodes);
  std::printf("|---|---|---|---|---|---|\n");
  for (const uint32_t owners : {1u, 3u}) {
    const SlotsSettings slots{.owners = owners, .hash_tag = ""};
    Print(OfRing("`slots`, 2^16" + std::string(owners == 1 ? "" : ", 3 owners"),
                 {.placement = slots, .default_weight = 1}));
  }
  for (const uint32_t points : {40u, 100u, 160u, 200u, 400u, 1'000u, 4'096u}) {
    Print(OfRing("`hashed`, " + std::to_string(points) + " points a node",
                 {.placement = HashedSettings{.points_per_weight = points}, .default_weight = 1}));
  }
  for (const Preset preset :
       {Preset::kKetama, Preset::kKetamaWeighted, Preset::kTwemproxy, Preset::kNginx, Preset::kEnvoyRingHash}) {
    Print(OfRing("`" + std::string(FindPreset(preset)->name) + "`",
                 {.placement = DefaultsOf(preset), .default_weight = 1}));
  }
  Print(OfMaglev());
  Print(OfJump());
  return 0;
}

}  // namespace
}  // namespace ringd::ring

int main() { return ringd::ring::Main(); }
