// A lookup takes no memory from the heap.
#include <gtest/gtest.h>

#include <array>
#include <string_view>

#include "tests/ring/ring_builder.h"
#include "tests/support/allocations.h"

namespace ringd::ring {
namespace {

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

}  // namespace
}  // namespace ringd::ring
