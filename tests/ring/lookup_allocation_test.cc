// A lookup takes no memory from the heap, and a point 16 bytes of it at most.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tests/ring/ring_builder.h"
#include "tests/support/allocations.h"

namespace ringd::ring {
namespace {

using support::allocated_bytes;
using support::allocations;

TEST(Lookup, AllocatesNothing) {
  Ring ring = EmptyRing(SettingsOf(50));
  for (int i = 0; i < 100; ++i) ring = With(ring, {Add("n" + std::to_string(i), 1, "z" + std::to_string(i % 7))});
  std::array<uint32_t, Ring::kMaxOwners> owners;
  uint64_t sum = 0;
  const size_t before = allocations;
  for (uint64_t i = 0; i < 1000; ++i) {
    const uint64_t position = ring.Position(std::string_view(reinterpret_cast<const char*>(&i), sizeof(i)));
    sum += ring.Owner(position) + ring.node(ring.Owner(position)).weight + ring.Find("n42");
    for (const size_t n : {1, 3, 64}) sum += ring.Owners(position, std::span(owners).first(n));
  }
  EXPECT_EQ(allocations, before);
  EXPECT_GT(allocations, 0u) << "the counter counts";
  EXPECT_GT(sum, 0u);
}

TEST(PointTable, TakesSixteenBytesAPointAtMost) {
  constexpr size_t kEnds = 64;  // what every table has, however small
  for (const size_t count : {2u, 1'023u, 1'024u, 1'025u, 100'000u, 1u << 17}) {
    std::vector<Point> points;
    for (uint64_t i = 0; i < count; ++i) points.emplace_back(HashKey(std::to_string(i)), static_cast<uint32_t>(i));
    const size_t before = allocated_bytes;
    const PointTable table(points);
    EXPECT_LE(allocated_bytes - before, 16 * count + kEnds) << count;
    EXPECT_GE(allocated_bytes - before, 12 * count) << "the counter counts";
    EXPECT_EQ(table.size(), count);
  }
}

}  // namespace
}  // namespace ringd::ring
