// What would be if nodes were lost.
#include "client/ringctl/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace ringd::ctl {
namespace {

using ::testing::ElementsAre;

void AddNode(const std::string& id, double share, google::protobuf::RepeatedPtrField<v1::Node>* nodes,
             const std::string& zone = "") {
  v1::Node& node = *nodes->Add();
  node.set_id(id);
  node.set_share(share);
  node.set_zone(zone);
}

TEST(Simulation, AZoneIsAllOfItsNodes) {
  v1::GetRingResponse ring;
  AddNode("a", 0, ring.mutable_nodes(), "1");
  AddNode("b", 0, ring.mutable_nodes(), "2");
  AddNode("c", 0, ring.mutable_nodes(), "1");
  AddNode("d", 0, ring.mutable_nodes());
  EXPECT_THAT(LostNodes(ring, {.ring = "r", .nodes = {}, .zone = "1"}), ElementsAre("a", "c"));
  EXPECT_THAT(LostNodes(ring, {.ring = "r", .nodes = {}, .zone = "3"}), ElementsAre());
  EXPECT_THAT(LostNodes(ring, {.ring = "r", .nodes = {"x", "a"}, .zone = ""}), ElementsAre("x", "a"));
}

TEST(Simulation, WhoWouldGrowMostIsFirst) {
  v1::GetRingResponse ring;
  AddNode("big", 0.5, ring.mutable_nodes());
  AddNode("lost", 0.25, ring.mutable_nodes());
  AddNode("none", 0, ring.mutable_nodes());
  AddNode("small", 0.125, ring.mutable_nodes());
  AddNode("weightless", 0, ring.mutable_nodes());
  v1::Plan plan;
  AddNode("big", 0.55, plan.mutable_nodes());
  AddNode("none", 0.2, plan.mutable_nodes());
  AddNode("small", 0.25, plan.mutable_nodes());
  AddNode("weightless", 0, plan.mutable_nodes());
  EXPECT_THAT(LoadsThen(ring, plan), ElementsAre(Load{"none", 0, 0.2, std::numeric_limits<double>::infinity()},
                                                 Load{"small", 0.125, 0.25, 2}, Load{"big", 0.5, 0.55, 0.55 / 0.5}));
}

}  // namespace
}  // namespace ringd::ctl
