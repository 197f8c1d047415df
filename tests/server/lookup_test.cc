// Answers of Lookup and BatchLookup: owners, version, and the size that a batch's answer may have.
#include "server/lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "ring/error.h"

namespace ringd::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A ring "r" at version 7/9 of these nodes.
RingState StateOf(std::vector<ring::Node> nodes, uint32_t points_per_weight = 16) {
  const ring::Settings settings{.placement = ring::HashedSettings{.points_per_weight = points_per_weight}};
  for (ring::Node& node : nodes) node.hash_key = node.id;
  auto ring = ring::Ring::Create(settings, std::move(nodes));
  EXPECT_TRUE(ring.ok()) << ring.status();
  return {.head = {.name = "r", .version = {7, 9}, .settings = settings}, .ring = *std::move(ring), .log = nullptr};
}

RingState ThreeNodes() {
  return StateOf({{.id = "a", .address = "a:1", .weight = 1, .zone = "z1"},
                  {.id = "b", .address = "b:1", .weight = 1, .zone = "z2"},
                  {.id = "c", .address = "c:1", .weight = 1},
                  {.id = "idle", .address = "idle:1", .weight = 0}});
}

v1::LookupRequest KeyRequest(const std::string& key, uint32_t owners) {
  v1::LookupRequest request;
  request.set_ring("r");
  request.set_key(key);
  request.set_owners(owners);
  return request;
}

v1::BatchLookupRequest BatchRequest(int keys, uint32_t owners) {
  v1::BatchLookupRequest request;
  request.set_ring("r");
  for (int i = 0; i < keys; i++) request.add_keys("key-" + std::to_string(i));
  request.set_owners(owners);
  return request;
}

absl::Status AnswerBatch(const RingState& state, const v1::BatchLookupRequest& request,
                         v1::BatchLookupResponse* response) {
  return AnswerBatchLookup(
      state, request, [] { return absl::OkStatus(); }, response);
}

v1::LookupResponse Answer(const RingState& state, const v1::LookupRequest& request) {
  v1::LookupResponse response;
  const absl::Status status = AnswerLookup(state, request, &response);
  EXPECT_TRUE(status.ok()) << status;
  return response;
}

v1::BatchLookupResponse Answer(const RingState& state, const v1::BatchLookupRequest& request) {
  v1::BatchLookupResponse response;
  const absl::Status status = AnswerBatch(state, request, &response);
  EXPECT_TRUE(status.ok()) << status;
  return response;
}

std::vector<std::string> IdsOf(const google::protobuf::RepeatedPtrField<v1::Owner>& owners) {
  std::vector<std::string> ids;
  for (const v1::Owner& owner : owners) ids.push_back(owner.id());
  return ids;
}

// The owners of key `i` of a batch, as the contract says to read them.
std::vector<std::string> OwnersOfKey(const v1::BatchLookupResponse& response, int i) {
  std::vector<std::string> ids;
  const int stride = static_cast<int>(response.owners_per_key());
  for (int j = i * stride; j < (i + 1) * stride; j++) {
    const auto index = static_cast<int>(response.owner_indices(j));
    ids.push_back(index < response.nodes_size() ? response.nodes(index).id() : "no such index");
  }
  return ids;
}

TEST(Lookup, ARingWithoutAWeightedNodeHasNoOwners) {
  for (const RingState& state : {StateOf({}), StateOf({{.id = "idle", .weight = 0}})}) {
    v1::LookupResponse one;
    v1::BatchLookupResponse batch;
    for (const absl::Status& status :
         {AnswerLookup(state, KeyRequest("k", 1), &one), AnswerBatch(state, BatchRequest(1, 1), &batch)}) {
      EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
      EXPECT_EQ(ring::ReasonOf(status), ring::kRingEmpty);
      EXPECT_EQ(std::string(status.message()), "ring \"r\": no node has a weight above 0");
    }
    EXPECT_EQ(Answer(state, BatchRequest(0, 1)).owner_indices_size(), 0) << "no keys are answered with none";
  }
}

TEST(Lookup, TheAnswerHoldsTheOwnersTheHashAndTheVersion) {
  const RingState state = ThreeNodes();
  const v1::LookupResponse response = Answer(state, KeyRequest("k", 3));
  EXPECT_EQ(response.version().epoch(), 7u);
  EXPECT_EQ(response.version().revision(), 9u);
  EXPECT_EQ(response.hash(), state.ring.Position("k"));
  EXPECT_FALSE(response.owners_short());
  const std::vector<std::string> ids = IdsOf(response.owners());
  EXPECT_THAT(ids, testing::UnorderedElementsAre("a", "b", "c"));
  EXPECT_EQ(ids[0], state.ring.node(state.ring.Owner(response.hash())).id);
  for (const v1::Owner& owner : response.owners()) {
    EXPECT_EQ(owner.address(), owner.id() + ":1");
    EXPECT_EQ(owner.zone(), owner.id() == "a" ? "z1" : owner.id() == "b" ? "z2" : "");
  }
}

TEST(Lookup, WithoutOwnersOneIsAnsweredAndAPositionStandsForAKey) {
  const RingState state = ThreeNodes();
  v1::LookupRequest request;
  for (const uint64_t position : {uint64_t{0}, state.ring.Position("k"), UINT64_MAX}) {
    request.set_position(position);
    const v1::LookupResponse response = Answer(state, request);
    EXPECT_THAT(IdsOf(response.owners()), ElementsAre(state.ring.node(state.ring.Owner(position)).id));
    EXPECT_EQ(response.hash(), position);
    EXPECT_FALSE(response.owners_short());
  }
  v1::BatchLookupRequest batch = BatchRequest(5, 1);
  batch.clear_owners();
  EXPECT_EQ(Answer(state, batch).owners_per_key(), 1u);
  EXPECT_EQ(Answer(state, batch).owner_indices_size(), 5);
}

TEST(Lookup, FewerWeightedNodesThanWantedIsOwnersShort) {
  const RingState state = ThreeNodes();
  for (const uint32_t wanted : {1u, 2u, 3u, 4u, 64u}) {
    const v1::LookupResponse one = Answer(state, KeyRequest("k", wanted));
    EXPECT_EQ(one.owners_size(), std::min(wanted, 3u));
    EXPECT_EQ(one.owners_short(), wanted > 3);
    const v1::BatchLookupResponse batch = Answer(state, BatchRequest(2, wanted));
    EXPECT_EQ(batch.owners_per_key(), std::min(wanted, 3u));
    EXPECT_EQ(batch.owners_short(), wanted > 3);
  }
}

TEST(Lookup, ABatchAnswersEachKeyAsALookupDoesAndSendsEachNodeOnce) {
  const RingState state = ThreeNodes();
  for (const uint32_t owners : {1u, 2u, 64u}) {
    const v1::BatchLookupRequest request = BatchRequest(200, owners);
    const v1::BatchLookupResponse batch = Answer(state, request);
    EXPECT_EQ(batch.version().epoch(), 7u);
    EXPECT_EQ(batch.version().revision(), 9u);
    ASSERT_EQ(batch.owner_indices_size(), 200 * static_cast<int>(batch.owners_per_key()));
    const std::vector<std::string> nodes = IdsOf(batch.nodes());
    EXPECT_EQ(std::set(nodes.begin(), nodes.end()).size(), nodes.size()) << "a node was sent twice";
    for (int i = 0; i < request.keys_size(); i++) {
      EXPECT_EQ(OwnersOfKey(batch, i), IdsOf(Answer(state, KeyRequest(request.keys(i), owners)).owners()));
    }
  }
}

TEST(Lookup, NodesThatDoNotOccurAreNotSentAndNoKeysAreAnsweredWithNone) {
  const RingState state = ThreeNodes();
  EXPECT_EQ(Answer(state, BatchRequest(1, 1)).nodes_size(), 1);
  const v1::BatchLookupResponse none = Answer(state, BatchRequest(0, 2));
  EXPECT_EQ(none.nodes_size(), 0);
  EXPECT_EQ(none.owner_indices_size(), 0);
  EXPECT_EQ(none.owners_per_key(), 2u);
  EXPECT_EQ(none.version().revision(), 9u);
}

// How often each node was answered as first owner.
std::map<std::string, uint64_t> CountsOf(const RingState& state) {
  std::map<std::string, uint64_t> counts;
  for (size_t i = 0; i < state.ring.node_count(); i++) counts[state.ring.node(i).id] = state.lookups.OfNode(i);
  return counts;
}

TEST(Lookup, TheFirstOwnerOfEachKeyIsCountedAndNoOther) {
  const RingState state = ThreeNodes();
  std::map<std::string, uint64_t> expected = CountsOf(state);
  for (const uint32_t owners : {1u, 2u, 64u}) {
    for (int i = 0; i < 20; i++) {
      expected[Answer(state, KeyRequest("one-" + std::to_string(i), owners)).owners(0).id()]++;
    }
    EXPECT_EQ(CountsOf(state), expected);
    const v1::BatchLookupResponse batch = Answer(state, BatchRequest(500, owners));
    for (int i = 0; i < 500; i++) expected[OwnersOfKey(batch, i)[0]]++;
    EXPECT_EQ(CountsOf(state), expected) << "a batch with " << owners << " owners a key";
  }
  EXPECT_EQ(state.lookups.OfRing(), 3u * (20 + 500));
  EXPECT_EQ(expected["idle"], 0u);
}

// 5,489 nodes of 519 bytes, the last of them 23 bytes shorter, and 640,000 indices of 2 bytes are 4 MiB less 64 KiB.
RingState StateWithAnAnswerOf(size_t bytes_over_the_limit) {
  std::vector<ring::Node> nodes;
  for (int i = 0; i < 5'489; i++) {
    const std::string number = std::to_string(10'000 + i);
    nodes.push_back({.id = std::string(250, 'n') + number, .address = std::string(255, 'a'), .weight = 1});
  }
  nodes.back().address.resize(255 - 23 + bytes_over_the_limit);
  return StateOf(std::move(nodes), 1);
}

TEST(Lookup, ABatchWhoseAnswerPassesTheLimitOfBytesIsRefused) {
  const v1::BatchLookupRequest largest = BatchRequest(10'000, 64);
  {
    const v1::BatchLookupResponse response = Answer(StateWithAnAnswerOf(0), largest);
    EXPECT_EQ(response.nodes_size(), 5'489);
    EXPECT_LT(response.ByteSizeLong(), size_t{4} << 20) << "a stock client would refuse it";
  }
  const RingState over = StateWithAnAnswerOf(1);
  v1::BatchLookupResponse response;
  const absl::Status status = AnswerBatch(over, largest, &response);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_EQ(over.lookups.OfRing(), 0u) << "what was not answered is not counted";
  EXPECT_EQ(ring::ReasonOf(status), ring::kLimitExceeded);
  EXPECT_EQ(std::string(status.message()),
            "ring \"r\": the answer would have about 4128769 bytes, the limit is 4128768; ask for fewer keys");
  // What a batch leaves behind for the next one on its thread is clean, also after a refusal and for a smaller ring.
  const v1::BatchLookupRequest small = BatchRequest(100, 2);
  for (const RingState& state : {over, ThreeNodes()}) {
    const v1::BatchLookupResponse next = Answer(state, small);
    for (int i = 0; i < small.keys_size(); i++) {
      EXPECT_EQ(OwnersOfKey(next, i), IdsOf(Answer(state, KeyRequest(small.keys(i), 2)).owners()));
    }
  }
}

// A walk to several owners may pass nearly all points of a ring, so that 256 of them could hold up a drain.
TEST(Lookup, ABatchForSeveralOwnersIsAskedBeforeEachKey) {
  int asked = 0;
  v1::BatchLookupResponse response;
  const auto still_wanted = [&] {
    return ++asked < 3 ? absl::OkStatus() : absl::CancelledError("the caller has gone");
  };
  EXPECT_TRUE(absl::IsCancelled(AnswerBatchLookup(ThreeNodes(), BatchRequest(10, 2), still_wanted, &response)));
  EXPECT_EQ(response.owner_indices_size(), 2 * 2);
}

// B122 (grpc/grpc#10418): what nobody waits for any more is not worked on to its end.
TEST(Lookup, ABatchThatIsNoLongerWantedIsGivenUpOnTheWay) {
  const RingState state = ThreeNodes();
  for (const int looks : {1, 2, 10}) {
    int asked = 0;
    v1::BatchLookupResponse response;
    const absl::Status status = AnswerBatchLookup(
        state, BatchRequest(10'000, 1),
        [&] { return ++asked < looks ? absl::OkStatus() : absl::CancelledError("the caller has gone"); }, &response);
    EXPECT_TRUE(absl::IsCancelled(status)) << status;
    EXPECT_EQ(asked, looks) << "it went on";
    EXPECT_LT(response.owner_indices_size(), looks * 1'000);
  }
  EXPECT_EQ(state.lookups.OfRing(), 0u) << "what was not answered is not counted";
  EXPECT_EQ(Answer(state, BatchRequest(1'000, 1)).owner_indices_size(), 1'000) << "nothing is left behind";
}

}  // namespace
}  // namespace ringd::server
