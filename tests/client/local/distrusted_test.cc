// A copy that cannot be made to agree with the directory: it says so, and lookups are calls.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "ring/checksum.h"
#include "ringd/local_ring.h"
#include "ringd/v1/directory.grpc.pb.h"

namespace ringd {
namespace {

// Tells a snapshot with a checksum that it does not have, and answers each key by its last byte.
class OtherDirectory final : public v1::Directory::Service {
 public:
  grpc::Status Watch(grpc::ServerContext*, const v1::WatchRequest*,
                     grpc::ServerWriter<v1::WatchResponse>* writer) override {
    v1::WatchResponse response;
    v1::Snapshot& snapshot = *response.mutable_snapshot();
    snapshot.mutable_ring()->set_name("r");
    snapshot.mutable_ring()->mutable_version()->set_epoch(7);
    snapshot.mutable_ring()->mutable_version()->set_revision(1);
    snapshot.mutable_ring()->mutable_checksum()->set_algorithm(ring::kChecksumAlgorithm);
    snapshot.mutable_ring()->mutable_checksum()->set_value(1);
    snapshot.mutable_ring()->mutable_placement()->mutable_hashed();
    v1::Node& node = *snapshot.add_nodes();
    node.set_id("n");
    node.set_hash_key("n");
    node.set_weight(1);
    snapshot.set_last(true);
    writer->Write(response);
    stopped.wait();
    return grpc::Status::CANCELLED;
  }
  grpc::Status Lookup(grpc::ServerContext*, const v1::LookupRequest* request, v1::LookupResponse* response) override {
    response->add_owners()->set_id(request->key().substr(request->key().size() - 1));
    return grpc::Status::OK;
  }
  grpc::Status BatchLookup(grpc::ServerContext*, const v1::BatchLookupRequest* request,
                           v1::BatchLookupResponse* response) override {
    batches.push_back(request->keys_size());
    if (batches.size() == refused_batch) return {grpc::StatusCode::INVALID_ARGUMENT, "not this one"};
    for (char digit = '0'; digit <= '9'; ++digit) response->add_nodes()->set_id(std::string(1, digit));
    for (const std::string& key : request->keys()) response->add_owner_indices(key.back() - '0');
    response->set_owners_per_key(1);
    return grpc::Status::OK;
  }

  std::vector<int> batches;  // by one client, one after the other
  size_t refused_batch = 0;  // its number, from 1; 0 = none
  std::promise<void> stop;
  const std::shared_future<void> stopped = stop.get_future().share();
};

TEST(Distrusted, LookupsAreCalls) {
  OtherDirectory service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  {
    auto ring = *LocalRing::Start("r", {.directory = {.endpoints = {"127.0.0.1:" + std::to_string(port)}}});
    ASSERT_EQ(ring->WaitReady(std::chrono::seconds(20)), absl::OkStatus());
    EXPECT_EQ(ring->status().state, LocalRingState::kDistrusted);
    EXPECT_EQ(ring->status().checksum_mismatches, 2u);
    EXPECT_EQ(ring->Copy(), nullptr);
    EXPECT_EQ((*ring->Owner("key4"))->id, "4");

    // More than one call takes.
    std::vector<std::string> texts;
    for (int i = 0; i < 25'000; ++i) texts.push_back("user:" + std::to_string(i));
    const std::vector<std::string_view> keys(texts.begin(), texts.end());
    std::vector<const Node*> owners(keys.size());
    ASSERT_EQ(ring->OwnersOf(keys, owners), absl::OkStatus());
    for (size_t i = 0; i < keys.size(); ++i) ASSERT_EQ(owners[i]->id, texts[i].substr(texts[i].size() - 1)) << i;
    EXPECT_EQ(service.batches, (std::vector<int>{10'000, 10'000, 5'000}));
    EXPECT_EQ(ring->status().called_lookups, 25'001u);

    service.refused_batch = 5;  // the second of the next three
    EXPECT_EQ(ring->OwnersOf(keys, owners).code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(service.batches.size(), 5u) << "the third is not asked for";
  }
  service.stop.set_value();
  server->Shutdown();
}

}  // namespace
}  // namespace ringd
