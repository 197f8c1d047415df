// LaterRanks: levels the members of slots behind their owners. A part of Level, in slot_leveller.h.
//
// A value for one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "ring/slot_dealer.h"
#include "ring/slot_list.h"
#include "ring/slot_target.h"

namespace ringd::ring {

class LaterRanks {
 public:
  // `places` are those of a table of `slots` slots and `owners` owners, with nobody in the place of each node that is
  // gone or has no weight. They are changed in place, and must live as long as this. REQUIRES a node with weight.
  LaterRanks(size_t slots, uint32_t owners, std::span<const SlotNode> members, std::vector<uint32_t>& places);

  // Puts owners[slot] in front in every slot, and drops members that are one too many or stand where a missing zone
  // should. The others close ranks, so a former owner, else the first that it left behind, is the second; it is the
  // last that is dropped.
  void PutFirst(std::span<const uint32_t> owners);
  // Deals the places that are free to the nodes that are below their targets, in turns, in proportion to what each
  // needs; where none of them may join a slot, to any others.
  void Fill();
  // Replaces members above their targets by nodes below theirs, directly where a slot allows that, and then, while more
  // than a thousandth is off, by way of other nodes. In four rounds at most, and none after one that brings
  // nothing nearer by one in 64. Where a lost owner's place went to a node from outside, the second stays: it has the
  // data. (A later change may replace it. By then the owner has the data too.)
  void Trade();

 private:
  SlotList Read(size_t slot) const;
  void Write(size_t slot, const SlotList& list);
  void Append(SlotList& list, uint32_t node) const { list.Append(node, members_[node].zone); }

  // How many more members from zones that it has already a slot could take. Below 0, it has too many of them.
  ptrdiff_t Slack(const SlotList& list) const;
  ZoneRule RuleFor(const SlotList& list) const { return Slack(list) > 0 ? ZoneRule::kAny : ZoneRule::kNewToSlot; }
  // The rank of the member to drop from a list that is too long, or has negative slack.
  size_t RankToDrop(const SlotList& list, bool keep_second) const;
  void Trim(SlotList& list, bool keep_second);

  // Slots with free places: those of one owner together, so that consecutive deals spread its slots over all nodes.
  std::vector<uint32_t> OpenSlots() const;
  // By how many memberships nodes are off their targets.
  uint64_t Distance() const;
  // Trades, and takes it back if that was not worth it; whether it was.
  template <typename Trades>
  bool Try(Trades trades);
  void TradeDirectly();
  // Nodes above their targets give to any others, which then give to those that can take.
  void TradeSurplusByRelays();
  // Nodes below their targets take from any others, which then take from those that can give.
  void TradeShortageByRelays();
  // Nodes give away all but what they are to keep, to those that need members. Who needs any gives none.
  void TradeAway(std::vector<uint32_t> keep, std::span<const uint32_t> needs);
  // Whether the slot has a member that may go.
  bool MayTrade(size_t slot, std::span<const uint32_t> keep) const;
  // All such replacements in one slot; how many they were.
  size_t TradeSlot(size_t slot, std::span<const uint32_t> keep, SlotDealer& takers);

  const size_t slots_;
  const uint32_t owners_;
  const std::span<const SlotNode> members_;
  const SlotSpread spread_;
  std::vector<uint32_t>& places_;
  std::vector<uint32_t> least_;  // targets, by node
  std::vector<uint32_t> most_;
  std::vector<uint32_t> count_;  // of how many slots a node is a member
  std::vector<uint8_t> fixed_;   // by slot, how many of its first members are not to be traded
};

}  // namespace ringd::ring
