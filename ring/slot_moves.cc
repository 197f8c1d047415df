#include "ring/slot_moves.h"

#include <algorithm>
#include <utility>

namespace ringd::ring {
namespace {

constexpr uint32_t kNobody = SlotTable::kNobody;

// Collects moves whose nodes have numbers of any kind.
class MoveCollector {
 public:
  explicit MoveCollector(uint32_t owners) { moves_.owners = owners; }

  // REQUIRES slots in order.
  void Add(uint32_t slot, std::span<const uint32_t> was, std::span<const uint32_t> is) {
    if (!moves_.runs.empty() && moves_.runs.back().last + 1 == slot) {
      const size_t last = moves_.runs.size() - 1;
      if (std::ranges::equal(moves_.BeforeOf(last), was) && std::ranges::equal(moves_.AfterOf(last), is)) {
        moves_.runs.back().last = slot;
        return;
      }
    }
    moves_.runs.push_back({.first = slot, .last = slot});
    moves_.before.insert(moves_.before.end(), was.begin(), was.end());
    moves_.after.insert(moves_.after.end(), is.begin(), is.end());
  }

  // With the ids of the nodes by number.
  SlotMoves Finish(std::span<const std::string_view> ids) && {
    std::vector<uint32_t> used;
    std::vector<uint32_t> index(ids.size(), kNobody);
    for (const std::vector<uint32_t>* places : {&moves_.before, &moves_.after}) {
      for (const uint32_t number : *places) {
        if (number == kNobody || index[number] == 0) continue;
        index[number] = 0;
        used.push_back(number);
      }
    }
    std::sort(used.begin(), used.end(), [&](uint32_t a, uint32_t b) { return ids[a] < ids[b]; });
    for (const uint32_t number : used) {
      index[number] = static_cast<uint32_t>(moves_.nodes.size());
      moves_.nodes.emplace_back(ids[number]);
    }
    for (std::vector<uint32_t>* places : {&moves_.before, &moves_.after}) {
      for (uint32_t& place : *places) {
        if (place != kNobody) place = index[place];
      }
    }
    return std::move(moves_);
  }

 private:
  SlotMoves moves_;
};

// Two lists of nodes under common numbers.
struct CommonNumbers {
  CommonNumbers(std::span<const NodePtr> a, std::span<const NodePtr> b) {
    of_a.reserve(a.size());
    of_b.reserve(b.size());
    while (of_a.size() < a.size() || of_b.size() < b.size()) {
      const Node* const next_a = of_a.size() < a.size() ? a[of_a.size()].get() : nullptr;
      const Node* const next_b = of_b.size() < b.size() ? b[of_b.size()].get() : nullptr;
      const bool take_a = next_b == nullptr || (next_a != nullptr && next_a->id <= next_b->id);
      const bool take_b = next_a == nullptr || (next_b != nullptr && next_b->id <= next_a->id);
      const auto number = static_cast<uint32_t>(ids.size());
      ids.push_back(take_a ? next_a->id : next_b->id);
      if (take_a) of_a.push_back(number);
      if (take_b) of_b.push_back(number);
    }
  }

  std::vector<std::string_view> ids;  // by number, in order
  std::vector<uint32_t> of_a;         // numbers by index
  std::vector<uint32_t> of_b;
};

std::vector<uint32_t> Renumbered(std::span<const uint32_t> places, std::span<const uint32_t> numbers) {
  std::vector<uint32_t> result(places.begin(), places.end());
  for (uint32_t& place : result) {
    if (place != kNobody) place = numbers[place];
  }
  return result;
}

// Sets the places of the slots of a run.
void SetSlots(const SlotMoves::Run& run, std::vector<uint32_t> after, uint32_t owners, std::vector<uint32_t>& places) {
  after.resize(owners, kNobody);
  for (size_t slot = run.first; slot <= run.last; ++slot) {
    std::ranges::copy(after, places.begin() + static_cast<std::ptrdiff_t>(slot * owners));
  }
}

std::string_view IdOf(const NodePtr& node) { return node->id; }
std::string_view IdOf(const std::string& id) { return id; }

// By index of `from`, whose ids are in any order, the index of `to`; kNobody where a node is not there.
std::vector<uint32_t> IndicesOf(const auto& from, std::span<const NodePtr> to) {
  std::vector<uint32_t> indices;
  indices.reserve(from.size());
  for (const auto& node : from) {
    const auto found = std::ranges::lower_bound(to, IdOf(node), {}, [](const NodePtr& held) { return IdOf(held); });
    const bool there = found != to.end() && IdOf(*found) == IdOf(node);
    indices.push_back(there ? static_cast<uint32_t>(found - to.begin()) : kNobody);
  }
  return indices;
}

SlotMoves Collect(uint32_t owners, std::span<const uint32_t> before, std::span<const uint32_t> after,
                  std::span<const std::string_view> ids) {
  MoveCollector collector(owners);
  for (size_t first = 0; first < before.size(); first += owners) {
    const std::span<const uint32_t> was = before.subspan(first, owners);
    const std::span<const uint32_t> is = after.subspan(first, owners);
    if (!std::ranges::equal(was, is)) collector.Add(static_cast<uint32_t>(first / owners), was, is);
  }
  return std::move(collector).Finish(ids);
}

}  // namespace

absl::Status CheckMoves(uint32_t slot_bits, uint32_t owners, const SlotMoves& moves) {
  const uint64_t slots = uint64_t{1} << slot_bits;
  const size_t places = moves.runs.size() * moves.owners;
  if (moves.owners == 0 || moves.owners > owners || moves.before.size() != places || moves.after.size() != places) {
    return absl::InternalError("slot moves of " + std::to_string(moves.owners) + " owners with " +
                               std::to_string(moves.before.size()) + " and " + std::to_string(moves.after.size()) +
                               " places for " + std::to_string(moves.runs.size()) + " runs, in a table of " +
                               std::to_string(owners) + " owners");
  }
  uint64_t next = 0;
  for (const SlotMoves::Run& run : moves.runs) {
    if (run.first < next || run.last < run.first || run.last >= slots) {
      return absl::InternalError("slots " + std::to_string(run.first) + ".." + std::to_string(run.last) +
                                 " are out of order, or out of 0.." + std::to_string(slots - 1));
    }
    next = uint64_t{run.last} + 1;
  }
  for (const std::vector<uint32_t>* list : {&moves.before, &moves.after}) {
    for (const uint32_t place : *list) {
      if (place == kNobody || place < moves.nodes.size()) continue;
      return absl::InternalError("slot moves name node " + std::to_string(place) + " of " +
                                 std::to_string(moves.nodes.size()));
    }
  }
  return absl::OkStatus();
}

SlotMoves MovesBetween(const SlotTable& before, std::span<const NodePtr> nodes_before, const SlotTable& after,
                       std::span<const NodePtr> nodes_after) {
  const CommonNumbers numbers(nodes_before, nodes_after);
  return Collect(before.owners(), Renumbered(before.places(), numbers.of_a), Renumbered(after.places(), numbers.of_b),
                 numbers.ids);
}

absl::StatusOr<SlotTable> ApplyMoves(const SlotTable& before, std::span<const NodePtr> nodes_before,
                                     std::span<const NodePtr> nodes_after, const SlotMoves& moves) {
  if (absl::Status fit = CheckMoves(before.slot_bits(), before.owners(), moves); !fit.ok()) return fit;
  const std::vector<uint32_t> new_index = IndicesOf(nodes_before, nodes_after);
  const std::vector<uint32_t> moved_index = IndicesOf(moves.nodes, nodes_after);
  std::vector<uint32_t> places(before.places().begin(), before.places().end());
  const auto renumber = [&](size_t first, size_t end) {
    for (size_t place = first * before.owners(); place < end * before.owners(); ++place) {
      if (places[place] == kNobody) continue;
      places[place] = new_index[places[place]];
      if (places[place] == kNobody) return false;
    }
    return true;
  };
  size_t slot = 0;
  for (size_t run = 0; run <= moves.runs.size(); ++run) {
    const bool at_end = run == moves.runs.size();
    if (!renumber(slot, at_end ? before.slot_count() : moves.runs[run].first)) {
      return absl::InternalError("slots of a node that is gone did not move");
    }
    if (at_end) break;
    const std::vector<uint32_t> after = Renumbered(moves.AfterOf(run), moved_index);
    for (size_t rank = 0; rank < after.size(); ++rank) {
      const uint32_t moved = moves.AfterOf(run)[rank];
      if (moved == kNobody || after[rank] != kNobody) continue;
      return absl::InternalError("slot " + std::to_string(moves.runs[run].first) + " moves to a node that is gone");
    }
    SetSlots(moves.runs[run], after, before.owners(), places);
    slot = size_t{moves.runs[run].last} + 1;
  }
  if (absl::Status check = CheckPlaces(before.slot_bits(), before.owners(), places, nodes_after.size()); !check.ok()) {
    return check;
  }
  return SlotTable(before.slot_bits(), before.owners(), std::move(places));
}

SlotRewind::SlotRewind(const SlotTable& now, std::span<const NodePtr> nodes)
    : slot_bits_(now.slot_bits()), owners_(now.owners()), now_(now.places().begin(), now.places().end()), then_(now_) {
  ids_.reserve(nodes.size());
  numbers_.reserve(nodes.size());
  for (const NodePtr& node : nodes) NumberOf(node->id);
}

uint32_t SlotRewind::NumberOf(const std::string& id) {
  const auto [it, added] = numbers_.try_emplace(id, static_cast<uint32_t>(ids_.size()));
  if (added) ids_.push_back(id);
  return it->second;
}

absl::Status SlotRewind::Undo(const SlotMoves& change) {
  if (absl::Status fit = CheckMoves(slot_bits_, owners_, change); !fit.ok()) return fit;
  std::vector<uint32_t> numbers;
  numbers.reserve(change.nodes.size());
  for (const std::string& id : change.nodes) numbers.push_back(NumberOf(id));
  for (size_t run = 0; run < change.runs.size(); ++run) {
    SetSlots(change.runs[run], Renumbered(change.BeforeOf(run), numbers), owners_, then_);
  }
  return absl::OkStatus();
}

SlotMoves SlotRewind::Moves() const {
  const std::vector<std::string_view> ids(ids_.begin(), ids_.end());
  return Collect(owners_, now_, then_, ids);
}

}  // namespace ringd::ring
