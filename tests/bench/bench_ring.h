// What the benches of a served ring share: connections, the ring that they ask, and who changes it.
//
// All of it leaves the process when a call fails: a figure of failing calls is worth nothing.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "grpcpp/create_channel.h"
#include "ringd/v1/directory.grpc.pb.h"

namespace ringd::bench {

inline constexpr char kRing[] = "bench";

// Channels of different numbers have connections of their own.
inline std::shared_ptr<grpc::Channel> Connect(const std::string& address, int number) {
  grpc::ChannelArguments arguments;
  arguments.SetInt("channel", number);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

inline void Check(const grpc::Status& status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", what, status.error_message().c_str());
  std::_Exit(1);
}

// Makes the ring: 100 nodes x 160 points.
inline void LoadRing(v1::Directory::Stub& stub) {
  v1::CreateRingRequest create;
  create.set_ring(kRing);
  create.mutable_placement()->mutable_hashed()->set_points_per_weight(160);
  create.set_default_weight(1);
  v1::CreateRingResponse created;
  grpc::ClientContext create_context;
  Check(stub.CreateRing(&create_context, create, &created), "CreateRing");
  v1::ApplyChangesRequest apply;
  apply.set_ring(kRing);
  for (int i = 0; i < 100; i++) {
    v1::Node* node = apply.add_operations()->mutable_add()->mutable_node();
    node->set_id("node-" + std::to_string(i));
    node->set_address("10.0.0." + std::to_string(i) + ":7000");
  }
  v1::ApplyChangesResponse applied;
  grpc::ClientContext apply_context;
  Check(stub.ApplyChanges(&apply_context, apply, &applied), "ApplyChanges");
}

// Changes the weight of one node, to and fro. One thread.
class RingWriter {
 public:
  explicit RingWriter(std::shared_ptr<grpc::Channel> channel)
      : stub_(v1::Directory::NewStub(std::move(channel))), weight_(Weight()) {}

  void Change() {
    v1::UpdateNodeRequest request;
    request.set_ring(kRing);
    request.mutable_node()->set_id(kNode);
    request.mutable_node()->set_weight(weight_ = 3 - weight_);
    request.mutable_update_mask()->add_paths("weight");
    v1::UpdateNodeResponse response;
    grpc::ClientContext context;
    Check(stub_->UpdateNode(&context, request, &response), "UpdateNode");
  }

 private:
  static constexpr char kNode[] = "node-0";

  // The weight that the node has.
  uint32_t Weight() const {
    v1::GetRingRequest request;
    request.set_ring(kRing);
    v1::GetRingResponse response;
    grpc::ClientContext context;
    Check(stub_->GetRing(&context, request, &response), "GetRing");
    for (const v1::Node& node : response.nodes()) {
      if (node.id() == kNode) return node.weight();
    }
    std::fprintf(stderr, "the ring has no %s\n", kNode);
    std::_Exit(1);
  }

  const std::unique_ptr<v1::Directory::Stub> stub_;
  uint32_t weight_;
};

}  // namespace ringd::bench
