// A ring that would be over its limits is refused before its points take memory.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/ring/ring_builder.h"
#include "tests/support/allocations.h"

namespace ringd::ring {
namespace {

// What a refusal may take: the nodes that were asked for, and a text. A point takes 12 bytes and more.
constexpr size_t kBytesPerOperation = 1'000;

// The status of a change, and how many bytes it asked for.
std::pair<absl::Status, size_t> Refused(const Ring& ring, const std::vector<Operation>& operations,
                                        const Limits& limits = {}) {
  const size_t before = support::allocated_bytes;
  const absl::Status status = ring.Apply(operations, limits).status();
  return {status, support::allocated_bytes - before};
}

TEST(Limits, PointsOverTheLimitAreNeverMade) {
  const Ring ring = EmptyRing(SettingsOf(65'536));
  std::vector<Operation> many;
  for (int i = 0; i < 100; ++i) many.push_back(Add("n" + std::to_string(i), 65'535));
  for (const std::vector<Operation>& operations :
       {std::vector<Operation>{Add("a", 65)}, std::vector<Operation>{Add("a", 65'535)}, many}) {
    const auto [status, bytes] = Refused(ring, operations);
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_LT(bytes, kBytesPerOperation * operations.size() + 4'000);
  }
}

TEST(Limits, AWeightThatGrowsOverTheLimitCopiesNoPoints) {
  const Limits limits{.max_nodes = 10, .max_points = 100'000};
  const Ring ring = With(EmptyRing(SettingsOf(1'000)), {Add("a", 50), Add("b", 50)});
  const auto [status, bytes] = Refused(ring, {Reweigh("a", 51)}, limits);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_LT(bytes, kBytesPerOperation + 4'000);
  const size_t before = support::allocated_bytes;
  EXPECT_TRUE(ring.Apply(std::vector<Operation>{Reweigh("a", 49)}, limits).ok());
  EXPECT_GT(support::allocated_bytes - before, 99'000u * 8) << "the counter counts points";
}

TEST(Limits, NodesOverTheLimitGetNoPoints) {
  const Ring ring = EmptyRing(SettingsOf(400));
  std::vector<Operation> operations;
  for (int i = 0; i < 10'001; ++i) operations.push_back(Add("n" + std::to_string(i), 1));
  const auto [status, bytes] = Refused(ring, operations);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_LT(bytes, kBytesPerOperation * operations.size()) << "their points would take " << 10'001 * 400 * 12;
}

}  // namespace
}  // namespace ringd::ring
