// A plan is what then happens: over random histories of rings of every kind, the answer with validate_only, and that of
// the change right after it.
#include <gtest/gtest.h>

#include <random>

#include "tests/server/test_directory.h"

namespace ringd::server {
namespace {

Mutation AddPoints(const std::string& ring, const std::string& id, uint32_t weight, std::vector<uint64_t> points) {
  return Change(ring, {ring::AddNode{.node = {.id = id, .weight = weight, .points = std::move(points)}}});
}

class PlanProperty : public ::testing::TestWithParam<ring::Placement> {};

TEST_P(PlanProperty, APlanIsWhatThenHappens) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&random](uint32_t bound) { return static_cast<uint32_t>(random() % bound); };
    TestDirectory directory;
    directory.Do({.ring = "r", .what = CreateRing{.settings = {.placement = GetParam(), .default_weight = 1}}});
    for (int step = 0; step < 40; ++step) {
      const std::vector<std::string> nodes = directory.Nodes("r");
      Mutation mutation = Add("r", "10.0.0." + std::to_string(step), below(4));
      if (std::holds_alternative<ring::PointsSettings>(GetParam())) {
        mutation = AddPoints("r", "10.0.0." + std::to_string(step), below(4), {below(99), 100 + below(99)});
      }
      if (const uint32_t what = below(10); what < 3 && !nodes.empty()) {
        mutation = Change("r", {RemoveOp(nodes[below(static_cast<uint32_t>(nodes.size()))])});
      } else if (what < 6 && !nodes.empty()) {
        mutation = Change("r", {WeightOp(nodes[below(static_cast<uint32_t>(nodes.size()))], below(5))});
      } else if (what == 6) {
        mutation = Restore("r", {1, 1 + below(static_cast<uint32_t>(directory.State("r")->head.version.revision))});
      }
      const MutationResult planned = directory.Do(Checked(mutation));
      const MutationResult done = directory.Do(Forced(mutation));
      const RingStatePtr now = directory.State("r");
      ASSERT_EQ(planned.movement, done.movement) << "seed " << seed << ", step " << step;
      ASSERT_EQ(planned.warnings, done.warnings);
      ASSERT_EQ(planned.plan->state->head.checksum, now->head.checksum) << "seed " << seed << ", step " << step;
      ASSERT_EQ(planned.plan->state->head.version, now->head.version);
    }
  }
}

ring::PresetSettings SmallEnvoy() {
  ring::PresetSettings settings = ring::DefaultsOf(ring::Preset::kEnvoyRingHash);
  settings.minimum_ring_size = 64;
  settings.maximum_ring_size = 512;
  return settings;
}

INSTANTIATE_TEST_SUITE_P(Placements, PlanProperty,
                         ::testing::Values(ring::HashedSettings{}, ring::DefaultsOf(ring::Preset::kKetamaWeighted),
                                           SmallEnvoy(), ring::SlotsSettings{.slot_bits = 10, .hash_tag = ""},
                                           ring::SlotsSettings{.slot_bits = 10, .owners = 2, .hash_tag = ""},
                                           ring::PointsSettings{.last_position = 199}));

}  // namespace
}  // namespace ringd::server
