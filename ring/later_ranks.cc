#include "ring/later_ranks.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ring/slot_order.h"

namespace ringd::ring {
namespace {

constexpr uint32_t kNobody = SlotTable::kNobody;

// Trades stand if they make up for one part in so many of what nodes are off their targets.
constexpr uint64_t kLeastGain = 64;
// Relays are tried while more than one in so many memberships is off.
constexpr uint64_t kTolerance = 1000;
// The first rounds do nearly all. The bound is for the worst case: each is up to eight passes over all slots.
constexpr int kMostRounds = 4;

// By how much each of `from` is above its counterpart.
std::vector<uint32_t> Above(std::span<const uint32_t> from, std::span<const uint32_t> counterparts) {
  std::vector<uint32_t> above(from.size());
  for (size_t i = 0; i < from.size(); ++i) above[i] = from[i] > counterparts[i] ? from[i] - counterparts[i] : 0;
  return above;
}

uint64_t Sum(std::span<const uint32_t> numbers) { return std::accumulate(numbers.begin(), numbers.end(), uint64_t{0}); }

}  // namespace

LaterRanks::LaterRanks(size_t slots, uint32_t owners, std::span<const SlotNode> members, std::vector<uint32_t>& places)
    : slots_(slots),
      owners_(owners),
      members_(members),
      spread_(SpreadOf(owners, members)),
      places_(places),
      count_(members.size()),
      fixed_(slots, 1) {
  for (const MemberTarget& target : MemberTargets(slots, spread_, members)) {
    least_.push_back(target.least);
    most_.push_back(target.most);
  }
  for (const uint32_t node : places_) {
    if (node != kNobody) ++count_[node];
  }
}

SlotList LaterRanks::Read(size_t slot) const {
  SlotList list;
  for (size_t rank = 0; rank < owners_; ++rank) {
    const uint32_t node = places_[slot * owners_ + rank];
    if (node != kNobody) Append(list, node);
  }
  return list;
}

void LaterRanks::Write(size_t slot, const SlotList& list) {
  const std::span<uint32_t> places(&places_[slot * owners_], owners_);
  const auto free = std::copy(list.nodes().begin(), list.nodes().end(), places.begin());
  std::fill(free, places.end(), kNobody);
}

ptrdiff_t LaterRanks::Slack(const SlotList& list) const {
  // Free places and zones that are there, less zones that must be.
  return static_cast<ptrdiff_t>(spread_.members + list.zone_count()) -
         static_cast<ptrdiff_t>(list.size() + spread_.zones);
}

void LaterRanks::PutFirst(std::span<const uint32_t> owners) {
  for (size_t slot = 0; slot < slots_; ++slot) {
    const uint32_t former = places_[slot * owners_];
    const uint32_t owner = owners[slot];
    const SlotList old = Read(slot);
    SlotList list;
    Append(list, owner);
    for (const uint32_t node : old.nodes()) {
      if (node != owner) Append(list, node);
    }
    if (!old.Has(owner)) ++count_[owner];
    Trim(list, former != owner);
    if (former == kNobody && !old.Has(owner) && list.size() > 1) fixed_[slot] = 2;
    Write(slot, list);
  }
}

void LaterRanks::Trim(SlotList& list, bool keep_second) {
  while (list.size() > spread_.members || Slack(list) < 0) {
    const size_t rank = RankToDrop(list, keep_second);
    keep_second = keep_second && rank != 1;
    --count_[list.node(rank)];
    list.Erase(rank);
  }
}

size_t LaterRanks::RankToDrop(const SlotList& list, bool keep_second) const {
  const bool zone_is_missing = Slack(list) < 0;
  const auto surplus = [&](size_t rank) { return int64_t{count_[list.node(rank)]} - int64_t{most_[list.node(rank)]}; };
  size_t drop = 0;
  for (size_t rank = list.size() - 1; rank > 0; --rank) {
    if (zone_is_missing && !list.SharesZone(rank)) continue;
    if (rank == 1 && keep_second && drop != 0) continue;
    if (drop == 0 || surplus(rank) > surplus(drop)) drop = rank;
  }
  return drop;
}

std::vector<uint32_t> LaterRanks::OpenSlots() const {
  const auto is_open = [&](size_t slot) { return places_[slot * owners_ + spread_.members - 1] == kNobody; };
  std::vector<uint32_t> ends(members_.size());  // by owner; first the starts
  for (size_t slot = 0; slot < slots_; ++slot) ends[places_[slot * owners_]] += is_open(slot);
  uint32_t sum = 0;
  for (uint32_t& end : ends) {
    const uint32_t count = end;
    end = sum;
    sum += count;
  }
  std::vector<uint32_t> open(sum);
  for (uint32_t slot = 0; slot < slots_; ++slot) {
    if (is_open(slot)) open[ends[places_[slot * owners_]]++] = slot;
  }
  return open;
}

void LaterRanks::Fill() {
  std::vector<uint32_t> open = OpenSlots();
  SlotDealer dealer(members_, Above(most_, count_));
  while (!open.empty()) {
    bool dealt = false;
    std::vector<uint32_t> still_open;
    // One place of each, rank after rank.
    for (const uint32_t slot : open) {
      SlotList list = Read(slot);
      const uint32_t node = dealer.Deal(list, RuleFor(list));
      if (node != kNobody) {
        dealt = true;
        ++count_[node];
        Append(list, node);
        Write(slot, list);
      }
      if (list.size() < spread_.members) still_open.push_back(slot);
    }
    open = std::move(still_open);
    // The nodes that are below their targets are in these slots already, or of the wrong zones: any others, then, and
    // Trade puts it right.
    if (!dealt) dealer = SlotDealer(members_, most_);
  }
}

void LaterRanks::Trade() {
  const uint64_t tolerance = slots_ * spread_.members / kTolerance;
  bool nearer = true;
  for (int round = 0; nearer && round < kMostRounds; ++round) {
    nearer = Try([&] { TradeDirectly(); });
    if (Distance() > tolerance && Try([&] { TradeSurplusByRelays(); })) nearer = true;
    if (Distance() > tolerance && Try([&] { TradeShortageByRelays(); })) nearer = true;
  }
}

template <typename Trades>
bool LaterRanks::Try(Trades trades) {
  const uint64_t before = Distance();
  if (before == 0) return false;
  const std::vector<uint32_t> places = places_;
  const std::vector<uint32_t> count = count_;
  trades();
  if (Distance() <= before - (before + kLeastGain - 1) / kLeastGain) return true;
  places_ = places;
  count_ = count;
  return false;
}

uint64_t LaterRanks::Distance() const { return Sum(Above(count_, most_)) + Sum(Above(least_, count_)); }

void LaterRanks::TradeDirectly() {
  TradeAway(most_, Above(most_, count_));
  TradeAway(least_, Above(least_, count_));
}

void LaterRanks::TradeSurplusByRelays() {
  const auto surplus = static_cast<uint32_t>(std::min<uint64_t>(slots_, Sum(Above(count_, most_))));
  std::vector<uint32_t> needs(members_.size());
  for (size_t node = 0; node < needs.size(); ++node) {
    if (members_[node].weight > 0 && count_[node] <= most_[node]) needs[node] = surplus;
  }
  TradeAway(most_, needs);
  TradeDirectly();
}

void LaterRanks::TradeShortageByRelays() {
  const std::vector<uint32_t> shortages = Above(least_, count_);
  const uint64_t shortage = Sum(shortages);
  std::vector<uint32_t> keep = count_;
  for (size_t node = 0; node < keep.size(); ++node) {
    if (shortages[node] == 0) keep[node] -= static_cast<uint32_t>(std::min<uint64_t>(keep[node], shortage));
  }
  TradeAway(std::move(keep), shortages);
  TradeDirectly();
}

void LaterRanks::TradeAway(std::vector<uint32_t> keep, std::span<const uint32_t> needs) {
  // What a node has just taken it must not give on.
  for (size_t node = 0; node < keep.size(); ++node) {
    if (needs[node] > 0) keep[node] = UINT32_MAX;
  }
  SlotDealer takers(members_, needs);
  uint64_t left = Sum(Above(count_, keep));
  size_t slot = 0;
  for (size_t i = 0; i < slots_ && left > 0 && !takers.done(); ++i, slot = NextScattered(slot, slots_)) {
    left -= TradeSlot(slot, keep, takers);
  }
}

bool LaterRanks::MayTrade(size_t slot, std::span<const uint32_t> keep) const {
  for (size_t rank = fixed_[slot]; rank < spread_.members; ++rank) {
    const uint32_t node = places_[slot * owners_ + rank];
    if (count_[node] > keep[node]) return true;
  }
  return false;
}

size_t LaterRanks::TradeSlot(size_t slot, std::span<const uint32_t> keep, SlotDealer& takers) {
  if (!MayTrade(slot, keep)) return 0;
  SlotList list = Read(slot);
  size_t trades = 0;
  for (size_t rank = list.size() - 1; rank >= fixed_[slot]; --rank) {
    const uint32_t giver = list.node(rank);
    if (count_[giver] <= keep[giver]) continue;
    SlotList others = list;
    others.Erase(rank);
    const uint32_t taker = takers.Deal(others, RuleFor(others));
    if (taker == kNobody) continue;
    --count_[giver];
    ++count_[taker];
    list.Replace(rank, taker, members_[taker].zone);
    ++trades;
    rank = list.size();  // what could not be traded before may be now
  }
  if (trades > 0) Write(slot, list);
  return trades;
}

}  // namespace ringd::ring
