#include "ring/slot_table.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <vector>

#include "ring/error.h"

namespace ringd::ring {
namespace {

constexpr uint32_t kNobody = SlotTable::kNobody;

// Slot s is owned by node s % nodes, then by the next ones.
std::vector<uint32_t> TurnByTurn(uint32_t slot_bits, uint32_t owners, uint32_t nodes) {
  std::vector<uint32_t> places;
  for (uint32_t slot = 0; slot < 1u << slot_bits; ++slot) {
    for (uint32_t rank = 0; rank < owners; ++rank) places.push_back((slot + rank) % nodes);
  }
  return places;
}

TEST(SlotsSettings, HaveBounds) {
  EXPECT_TRUE(CheckSlots(SlotsSettings{}).ok());
  const auto refused = [](uint32_t slot_bits, uint32_t owners) {
    const absl::Status status = CheckSlots(SlotsSettings{.slot_bits = slot_bits, .owners = owners, .hash_tag = ""});
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(ReasonOf(status), kInvalidField);
    return std::string(status.message());
  };
  EXPECT_EQ(refused(9, 1), "slot_bits 9 is out of 10..20");
  EXPECT_EQ(refused(21, 1), "slot_bits 21 is out of 10..20");
  EXPECT_EQ(refused(16, 0), "owners 0 is out of 1..8");
  EXPECT_EQ(refused(16, 9), "owners 9 is out of 1..8");
}

TEST(SlotTable, IsNobodysAtFirst) {
  const SlotTable table(10, 3);
  EXPECT_EQ(table.slot_count(), 1024u);
  EXPECT_EQ(table.places().size(), 3 * 1024u);
  EXPECT_FALSE(table.HasOwners());
  EXPECT_EQ(table.Owner(0), kNobody);
  EXPECT_EQ(table.Owner(UINT64_MAX), kNobody);
}

TEST(SlotTable, FindsOwnersByTheTopBits) {
  for (const uint32_t bits : {10u, 16u, 20u}) {
    for (const uint32_t owners : {1u, 3u, 8u}) {
      const SlotTable table(bits, owners, TurnByTurn(bits, owners, 11));
      EXPECT_EQ(table.slot_bits(), bits);
      EXPECT_TRUE(table.HasOwners());
      const uint64_t arc = uint64_t{1} << (64 - bits);
      for (const uint64_t slot : {uint64_t{0}, uint64_t{1}, uint64_t{517}, table.slot_count() - 1}) {
        EXPECT_EQ(table.SlotOf(slot * arc), slot);
        EXPECT_EQ(table.SlotOf(slot * arc + (arc - 1)), slot);
        EXPECT_EQ(table.Owner(slot * arc), slot % 11);
        EXPECT_EQ(table.Owner(slot * arc + (arc - 1)), slot % 11);
        for (uint32_t rank = 0; rank < owners; ++rank) EXPECT_EQ(table.PlacesOf(slot)[rank], (slot + rank) % 11);
      }
    }
  }
}

TEST(SlotTable, IsEqualByItsPlaces) {
  std::vector<uint32_t> places = TurnByTurn(10, 2, 7);
  const SlotTable table(10, 2, places);
  EXPECT_EQ(table, SlotTable(10, 2, places));
  std::swap(places[100], places[101]);
  EXPECT_FALSE(table == SlotTable(10, 2, places));
  EXPECT_FALSE(SlotTable(10, 2) == SlotTable(11, 1)) << "the same places in another shape";
}

TEST(SlotArcs, SumToTheCircle) {
  const SlotTable table(10, 2, TurnByTurn(10, 2, 3));
  const std::vector<absl::uint128> arcs = SlotArcs(table, 5);
  const absl::uint128 slot = absl::uint128(1) << 54;
  EXPECT_EQ(arcs, (std::vector<absl::uint128>{342 * slot, 341 * slot, 341 * slot, 0, 0}));
  EXPECT_EQ(std::accumulate(arcs.begin(), arcs.end(), absl::uint128(0)), absl::MakeUint128(1, 0));
  const std::vector<absl::uint128> whole = SlotArcs(SlotTable(20, 1, std::vector<uint32_t>(1 << 20, 0)), 1);
  EXPECT_EQ(whole.front(), absl::MakeUint128(1, 0)) << "one node has all";
  EXPECT_EQ(SlotArcs(SlotTable(10, 1), 2), std::vector<absl::uint128>(2)) << "nobody's";
}

TEST(CheckPlaces, SaysWhatIsWrong) {
  const auto error = [](size_t place, uint32_t node) {
    std::vector<uint32_t> places = TurnByTurn(10, 3, 7);
    places[place] = node;
    return std::string(CheckPlaces(10, 3, places, 7).message());
  };
  EXPECT_EQ(error(0, 0), "");
  EXPECT_EQ(error(302, kNobody), "") << "fewer members than places";
  EXPECT_EQ(error(302, 7), "slot 100 names node 7 of 7");
  EXPECT_EQ(error(302, 3), "slot 100 names node 3 twice");
  EXPECT_EQ(error(301, kNobody), "slot 100 has a gap before rank 2");
  EXPECT_EQ(error(300, kNobody), "slot 100 has no owner, as others have");
  EXPECT_EQ(error(0, kNobody), "slot 0 has a gap before rank 1");
  EXPECT_EQ(std::string(CheckPlaces(10, 3, std::vector<uint32_t>(5), 7).message()),
            "a slot table has 5 places, not 3072");
  std::vector<uint32_t> nobodys(1024, kNobody);
  EXPECT_TRUE(CheckPlaces(10, 1, nobodys, 0).ok());
  nobodys[9] = 0;
  EXPECT_EQ(CheckPlaces(10, 1, nobodys, 1), absl::InternalError("slot 9 has an owner, as others have not"));
}

}  // namespace
}  // namespace ringd::ring
