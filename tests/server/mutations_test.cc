// What requests ask for: every field arrives, a fingerprint tells a retry from another request, errors name the ring.
#include "server/mutations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "ring/error.h"

namespace ringd::server {
namespace {

using ::testing::StartsWith;

v1::AddNodeRequest AddRequest(const std::function<void(v1::AddNodeRequest&)>& edit = [](auto&) {}) {
  v1::AddNodeRequest request;
  request.set_ring("r");
  request.mutable_node()->set_id("n1");
  edit(request);
  return request;
}

Mutation Good(const auto& request) {
  auto mutation = ToMutation(request);
  EXPECT_TRUE(mutation.ok()) << mutation.status();
  return *std::move(mutation);
}

TEST(Mutations, OptionsArrive) {
  const Mutation mutation = Good(AddRequest([](auto& request) {
    v1::MutationOptions& options = *request.mutable_options();
    options.set_request_id("id");
    options.set_reason("why");
    options.set_validate_only(true);
    options.set_force(true);
    options.mutable_expected_version()->set_epoch(3);
    options.mutable_expected_version()->set_revision(4);
  }));
  EXPECT_EQ(mutation.ring, "r");
  EXPECT_EQ(mutation.request_id, "id");
  EXPECT_EQ(mutation.reason, "why");
  EXPECT_TRUE(mutation.validate_only && mutation.force);
  EXPECT_EQ(mutation.expected_version, (ring::Version{3, 4}));
  const Mutation plain = Good(AddRequest());
  EXPECT_FALSE(plain.expected_version.has_value() || plain.validate_only || plain.force);
  EXPECT_EQ(plain.request_fingerprint, 0u) << "without a request_id nobody asks for it";
}

TEST(Mutations, AFingerprintIsOfTheContentWithoutTheId) {
  const auto fingerprint = [](const std::string& id, const std::string& zone) {
    return Good(AddRequest([&](auto& request) {
             request.mutable_node()->set_zone(zone);
             request.mutable_options()->set_request_id(id);
           }))
        .request_fingerprint;
  };
  EXPECT_EQ(fingerprint("a", "z"), fingerprint("b", "z"));
  EXPECT_NE(fingerprint("a", "z"), fingerprint("a", "y"));
  v1::RemoveNodeRequest remove;
  remove.set_ring("r");
  remove.mutable_options()->set_request_id("a");
  v1::DeleteRingRequest drop;
  drop.set_ring("r");
  drop.mutable_options()->set_request_id("a");
  EXPECT_NE(Good(remove).request_fingerprint, Good(drop).request_fingerprint) << "equal bytes, another request";
}

TEST(Mutations, EachRequestAsksForItsOwn) {
  v1::CreateRingRequest create;
  create.set_ring("r");
  create.mutable_placement()->mutable_hashed()->set_points_per_weight(7);
  create.set_default_weight(9);
  (*create.mutable_labels())["k"] = "v";
  create.mutable_history_limits()->set_max_changes(5);
  const auto created = std::get<CreateRing>(Good(create).what);
  EXPECT_EQ(std::get<ring::HashedSettings>(created.settings.placement).points_per_weight, 7u);
  EXPECT_EQ(created.settings.default_weight, 9u);
  EXPECT_EQ(created.labels.at("k"), "v");
  EXPECT_EQ(created.history_limits.max_changes, 5u);
  EXPECT_TRUE(std::holds_alternative<DeleteRing>(Good(v1::DeleteRingRequest()).what));
  v1::RemoveNodeRequest remove;
  remove.set_node_id("n9");
  EXPECT_EQ(std::get<ring::RemoveNode>(std::get<ChangeNodes>(Good(remove).what).operations.at(0)).id, "n9");
  v1::UpdateNodeRequest update;
  update.mutable_node()->set_zone("z");
  update.mutable_update_mask()->add_paths("zone");
  EXPECT_EQ(std::get<ring::UpdateNode>(std::get<ChangeNodes>(Good(update).what).operations.at(0)).zone, "z");
  v1::ApplyChangesRequest apply;
  for (const char* id : {"a", "b"}) apply.add_operations()->mutable_add()->mutable_node()->set_id(id);
  const auto operations = std::get<ChangeNodes>(Good(apply).what).operations;
  ASSERT_EQ(operations.size(), 2u);
  EXPECT_EQ(std::get<ring::AddNode>(operations[1]).node.id, "b");
}

TEST(Mutations, AnUpdateOfARingSetsWhatItsMaskNames) {
  v1::UpdateRingRequest request;
  request.set_ring("r");
  request.set_default_weight(9);
  (*request.mutable_labels())["k"] = "v";
  request.mutable_history_limits()->set_max_changes(5);
  const auto named = [&request](const std::vector<std::string>& paths) {
    request.mutable_update_mask()->clear_paths();
    for (const std::string& path : paths) request.mutable_update_mask()->add_paths(path);
    return std::get<UpdateRing>(Good(request).what);
  };
  const UpdateRing weight = named({"default_weight"});
  EXPECT_EQ(weight.default_weight, 9u);
  EXPECT_FALSE(weight.labels.has_value() || weight.max_age.has_value() || weight.max_changes.has_value());
  EXPECT_EQ(named({"labels", "labels"}).labels->at("k"), "v");
  const UpdateRing limits = named({"history_limits"});
  EXPECT_EQ(limits.max_changes, std::optional<uint32_t>(5));
  ASSERT_TRUE(limits.max_age.has_value());
  EXPECT_FALSE(limits.max_age->has_value()) << "named and absent: as the server has it";
  EXPECT_FALSE(named({"history_limits.max_changes"}).max_age.has_value());
  EXPECT_FALSE(named({"history_limits.max_age"}).max_changes.has_value());
  request.clear_default_weight();
  EXPECT_TRUE(ToMutation(request).ok()) << "the mask does not name it";
  request.mutable_update_mask()->add_paths("default_weight");
  EXPECT_TRUE(absl::IsInvalidArgument(ToMutation(request).status()));
}

TEST(Mutations, ARestoreNamesItsVersion) {
  v1::RestoreVersionRequest request;
  request.mutable_version()->set_epoch(3);
  request.mutable_version()->set_revision(4);
  EXPECT_EQ(std::get<RestoreVersion>(Good(request).what).version, (ring::Version{3, 4}));
}

// Slots 0..9 of b and a, all others of a: as ranges in any order, and as slot_owners.
TEST(Mutations, EitherFormOfATableIsItsPlaces) {
  constexpr uint32_t kNobody = ring::SlotTable::kNobody;
  constexpr size_t kOwners = 8;
  v1::ImportSlotsRequest ranges;
  for (const char* id : {"a", "b"}) ranges.add_nodes()->set_id(id);
  v1::ImportSlotsRequest owners = ranges;
  for (const auto& [first, last] : {std::pair(10u, 16'383u), std::pair(0u, 9u)}) {
    v1::SlotRange& range = *ranges.add_ranges();
    range.set_first(first);
    range.set_last(last);
    if (first == 0) range.add_node_ids("b");
    range.add_node_ids("a");
  }
  for (int slot = 0; slot < 16'384; slot++) {
    owners.add_slot_owners(slot < 10 ? 2 : 1);
    owners.add_slot_owners(slot < 10 ? 1 : 0);
    for (size_t rank = 2; rank < kOwners; rank++) owners.add_slot_owners(0);
  }
  const auto by_ranges = std::get<ImportSlots>(Good(ranges).what);
  const auto by_owners = std::get<ImportSlots>(Good(owners).what);
  EXPECT_EQ(by_ranges.nodes.at(1).node.id, "b");
  EXPECT_EQ(by_ranges.places.size(), 16'384 * kOwners);
  EXPECT_EQ(std::vector<uint32_t>(by_ranges.places.begin(), by_ranges.places.begin() + 3),
            (std::vector<uint32_t>{1, 0, kNobody}));
  EXPECT_EQ(by_ranges.places, by_owners.places);
  EXPECT_TRUE(by_ranges.as_ranges);
  EXPECT_FALSE(by_owners.as_ranges);
}

TEST(Mutations, WhatTheCodecRefusesNamesTheRing) {
  v1::CreateRingRequest create;
  create.set_ring("r");
  v1::UpdateNodeRequest update;
  update.set_ring("r");
  v1::ApplyChangesRequest apply;
  apply.set_ring("r");
  apply.add_operations();
  v1::UpdateRingRequest no_mask;
  no_mask.set_ring("r");
  v1::UpdateRingRequest unknown_path = no_mask;
  unknown_path.mutable_update_mask()->add_paths("placement");
  for (const absl::Status& status :
       {ToMutation(create).status(), ToMutation(update).status(), ToMutation(apply).status(),
        ToMutation(no_mask).status(), ToMutation(unknown_path).status()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_EQ(ring::ReasonOf(status), ring::kInvalidField);
    EXPECT_THAT(std::string(status.message()), StartsWith("ring \"r\": "));
  }
}

}  // namespace
}  // namespace ringd::server
