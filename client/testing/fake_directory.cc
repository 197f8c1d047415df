#include "ringd/testing/fake_directory.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>

#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "proto/codec.h"
#include "proto/status_codec.h"
#include "ring/error.h"
#include "ring/mutex.h"
#include "ring/ring.h"
#include "ringd/v1/directory.grpc.pb.h"

namespace ringd::testing {
namespace {

constexpr std::chrono::milliseconds kHeartbeat{1'000};
constexpr uint32_t kDefaultWeight = 100;

struct State {
  ring::Version version;
  std::shared_ptr<const ring::Ring> ring;
};

absl::Status NotFound(const std::string& ring) {
  return ring::Error(absl::StatusCode::kNotFound, "RING_NOT_FOUND", "ring " + ring::Quote(ring) + " not found");
}

void ToProto(const std::string& name, const State& state, v1::Ring* out) {
  out->set_name(name);
  ringd::ToProto(state.version, out->mutable_version());
  ringd::ToProto(state.ring->checksum(), out->mutable_checksum());
  ringd::ToProto(state.ring->settings().placement, out->mutable_placement());
  out->set_default_weight(state.ring->settings().default_weight);
  out->set_node_count(static_cast<uint32_t>(state.ring->node_count()));
  out->set_total_weight(state.ring->total_weight());
  out->set_point_count(state.ring->point_count());
  out->set_imbalance(state.ring->table()->BalanceOfNodes().max_ratio);
}

void AddNodes(const ring::Ring& ring, google::protobuf::RepeatedPtrField<v1::Node>* out) {
  for (size_t i = 0; i < ring.node_count(); ++i) ringd::ToProto(ring.node(i), ring.table()->ShareOf(i), out->Add());
}

}  // namespace

// Synchronous: a thread for each stream is what a test can afford.
class FakeDirectory::Service final : public v1::Directory::Service {
 public:
  absl::Status Set(const std::string& name, std::vector<ring::Node> nodes) {
    const MutexLock lock(mutex_);
    auto ring = ring::Ring::Create({.default_weight = kDefaultWeight}, std::move(nodes));
    if (!ring.ok()) return ring::InvalidField(std::string(ring.status().message()));
    Install(name, *std::move(ring));
    return absl::OkStatus();
  }
  void Delete(const std::string& name) {
    const MutexLock lock(mutex_);
    rings_.erase(name);
    ++changes_;
    changed_.NotifyAll();
  }
  ring::Version version(const std::string& name) const {
    const MutexLock lock(mutex_);
    const auto it = rings_.find(name);
    return it == rings_.end() ? ring::Version() : it->second.version;
  }
  void FailWith(const absl::Status& status) {
    const MutexLock lock(mutex_);
    failure_ = status;
  }
  enum class Streams { kOpen, kEnd };
  void SetStreams(Streams streams) {
    const MutexLock lock(mutex_);
    streams_ = streams;
    changed_.NotifyAll();
  }

  // --- Reads

  grpc::Status Lookup(grpc::ServerContext*, const v1::LookupRequest* request, v1::LookupResponse* response) override {
    const auto state = Find(request->ring());
    if (!state.ok()) return ToGrpc(state.status());
    if (!state->ring->HasOwners()) return NoOwners(request->ring());
    const ring::Circle& circle = state->ring->keys().circle();
    const uint64_t position =
        request->has_key() ? state->ring->Position(request->key()) : circle.First(request->position());
    std::vector<uint32_t> owners(std::min<size_t>(Wanted(*request), ring::Ring::kMaxOwners));
    owners.resize(state->ring->Owners(position, owners));
    for (const uint32_t owner : owners) ringd::ToProto(state->ring->node(owner), response->add_owners());
    response->set_hash(circle.Value(position));
    response->set_owners_short(owners.size() < Wanted(*request));
    ringd::ToProto(state->version, response->mutable_version());
    return grpc::Status::OK;
  }

  grpc::Status BatchLookup(grpc::ServerContext*, const v1::BatchLookupRequest* request,
                           v1::BatchLookupResponse* response) override {
    const auto state = Find(request->ring());
    if (!state.ok()) return ToGrpc(state.status());
    if (!state->ring->HasOwners()) return NoOwners(request->ring());
    for (size_t i = 0; i < state->ring->node_count(); ++i) {
      ringd::ToProto(state->ring->node(i), response->add_nodes());
    }
    std::vector<uint32_t> owners(std::min<size_t>(Wanted(*request), ring::Ring::kMaxOwners));
    for (const std::string& key : request->keys()) {
      owners.resize(state->ring->Owners(state->ring->Position(key), owners));
      response->mutable_owner_indices()->Add(owners.begin(), owners.end());
    }
    response->set_owners_per_key(static_cast<uint32_t>(owners.size()));
    response->set_owners_short(owners.size() < Wanted(*request));
    ringd::ToProto(state->version, response->mutable_version());
    return grpc::Status::OK;
  }

  grpc::Status GetRing(grpc::ServerContext*, const v1::GetRingRequest* request,
                       v1::GetRingResponse* response) override {
    const auto state = Find(request->ring());
    if (!state.ok()) return ToGrpc(state.status());
    ToProto(request->ring(), *state, response->mutable_ring());
    AddNodes(*state->ring, response->mutable_nodes());
    ringd::ToProto(state->version, response->mutable_version());
    return grpc::Status::OK;
  }

  // --- Changes

  grpc::Status AddNode(grpc::ServerContext*, const v1::AddNodeRequest* request,
                       v1::AddNodeResponse* response) override {
    return Change(request->ring(), FromProto(request->node()), response);
  }
  grpc::Status RemoveNode(grpc::ServerContext*, const v1::RemoveNodeRequest* request,
                          v1::RemoveNodeResponse* response) override {
    return Change(request->ring(), ring::RemoveNode{.id = request->node_id()}, response);
  }
  grpc::Status UpdateNode(grpc::ServerContext*, const v1::UpdateNodeRequest* request,
                          v1::UpdateNodeResponse* response) override {
    const auto update = FromProto(request->node(), request->update_mask());
    return update.ok() ? Change(request->ring(), *update, response) : ToGrpc(update.status());
  }

  // --- Watch: a snapshot of each named ring, and another whenever it has changed.

  grpc::Status Watch(grpc::ServerContext* context, const v1::WatchRequest* request,
                     grpc::ServerWriter<v1::WatchResponse>* writer) override {
    if (absl::Status failure = Failure(); !failure.ok()) return ToGrpc(failure);
    std::map<std::string, std::optional<ring::Version>> told;
    for (const v1::HeldRing& held : request->held()) told[held.ring()] = FromProto(held.position().version());
    bool first = true;
    while (!context->IsCancelled()) {
      const uint64_t seen = changes();
      for (const std::string& name : request->selector().names().rings()) {
        if (!Tell(name, first, told[name], writer)) return grpc::Status::OK;
      }
      first = false;
      const Woken woken = AwaitChange(seen);
      if (woken == Woken::kByEnd) return {grpc::StatusCode::UNAVAILABLE, "the directory is being stopped"};
      if (woken == Woken::kByTime) {
        v1::WatchResponse heartbeat;
        heartbeat.mutable_heartbeat();
        if (!writer->Write(heartbeat)) return grpc::Status::OK;
      }
    }
    return grpc::Status::OK;
  }

 private:
  template <class Request>
  static size_t Wanted(const Request& request) {
    return request.has_owners() ? request.owners() : 1;
  }

  static grpc::Status NoOwners(const std::string& ring) {
    return ToGrpc(ring::Error(absl::StatusCode::kFailedPrecondition, ring::kRingEmpty,
                              "ring " + ring::Quote(ring) + " has no node of weight > 0"));
  }

  uint64_t changes() const {
    const MutexLock lock(mutex_);
    return changes_;
  }

  enum class Woken { kByChange, kByTime, kByEnd };
  // Waits for another change than those that were seen, for the streams' end, or until it is time for a heartbeat.
  Woken AwaitChange(uint64_t seen) {
    const auto heartbeat = std::chrono::steady_clock::now() + kHeartbeat;
    const MutexLock lock(mutex_);
    while (streams_ == Streams::kOpen && changes_ == seen) {
      if (!changed_.WaitUntil(mutex_, heartbeat)) return Woken::kByTime;
    }
    return streams_ == Streams::kEnd ? Woken::kByEnd : Woken::kByChange;
  }

  absl::Status Failure() const {
    const MutexLock lock(mutex_);
    return failure_;
  }

  absl::StatusOr<State> Find(const std::string& name) const {
    const MutexLock lock(mutex_);
    if (!failure_.ok()) return failure_;
    const auto it = rings_.find(name);
    if (it == rings_.end()) return NotFound(name);
    return it->second;
  }

  void Install(const std::string& name, ring::Ring ring) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    State& state = rings_[name];
    state.version = state.ring == nullptr ? ring::Version{.epoch = ++epoch_, .revision = 1}
                                          : ring::Version{state.version.epoch, state.version.revision + 1};
    state.ring = std::make_shared<const ring::Ring>(std::move(ring));
    ++changes_;
    changed_.NotifyAll();
  }

  template <class Response>
  grpc::Status Change(const std::string& name, ring::Operation operation, Response* response) {
    const MutexLock lock(mutex_);
    if (!failure_.ok()) return ToGrpc(failure_);
    const auto it = rings_.find(name);
    if (it == rings_.end()) return ToGrpc(NotFound(name));
    ringd::ToProto(it->second.version, response->mutable_previous_version());
    auto applied = it->second.ring->Apply(std::span(&operation, 1));
    if (!applied.ok()) return ToGrpc(applied.status());
    ringd::ToProto(ring::Compare(*it->second.ring, applied->ring), response->mutable_movement());
    if (!applied->deltas.empty()) Install(name, std::move(applied->ring));
    ringd::ToProto(it->second.version, response->mutable_version());
    return grpc::Status::OK;
  }

  // Tells what a stream does not know of a ring yet. False when the stream is broken.
  bool Tell(const std::string& name, bool first, std::optional<ring::Version>& told,
            grpc::ServerWriter<v1::WatchResponse>* writer) {
    std::optional<State> state;
    {
      const MutexLock lock(mutex_);
      if (const auto it = rings_.find(name); it != rings_.end()) state = it->second;
    }
    v1::WatchResponse message;
    if (!state.has_value()) {
      if (!first && !told.has_value()) return true;
      if (told.has_value()) {
        message.mutable_deleted()->set_ring(name);
      } else {
        message.mutable_absent()->set_ring(name);
      }
      told.reset();
      return writer->Write(message);
    }
    if (told == state->version && !first) return true;
    if (told != state->version) {
      ToProto(name, *state, message.mutable_snapshot()->mutable_ring());
      AddNodes(*state->ring, message.mutable_snapshot()->mutable_nodes());
      message.mutable_snapshot()->set_last(true);
      if (!writer->Write(message)) return false;
    }
    told = state->version;
    message.mutable_in_sync()->set_ring(name);
    ringd::ToProto(state->version, message.mutable_in_sync()->mutable_version());
    return writer->Write(message);
  }

  mutable Mutex mutex_;
  CondVar changed_;
  std::map<std::string, State> rings_ ABSL_GUARDED_BY(mutex_);
  uint64_t epoch_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t changes_ ABSL_GUARDED_BY(mutex_) = 0;  // of any ring
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  Streams streams_ ABSL_GUARDED_BY(mutex_) = Streams::kOpen;
};

struct FakeDirectory::Parts {
  Service service;
  std::string endpoint = "127.0.0.1:0";
  Mutex mutex;
  std::unique_ptr<grpc::Server> server ABSL_GUARDED_BY(mutex);  // null while stopped
};

FakeDirectory::FakeDirectory() : parts_(std::make_unique<Parts>()) { Start(); }
FakeDirectory::~FakeDirectory() { Stop(); }

const std::string& FakeDirectory::endpoint() const { return parts_->endpoint; }

absl::Status FakeDirectory::SetRing(std::string_view ring, const std::vector<Node>& nodes) {
  std::vector<ring::Node> values;
  values.reserve(nodes.size());
  for (const Node& node : nodes) {
    values.push_back({.id = node.id,
                      .address = node.address,
                      .weight = node.weight.value_or(kDefaultWeight),
                      .zone = node.zone,
                      .hash_key = node.hash_key.empty() ? node.id : node.hash_key,
                      .metadata = node.metadata});
  }
  return parts_->service.Set(std::string(ring), std::move(values));
}

void FakeDirectory::DeleteRing(std::string_view ring) { parts_->service.Delete(std::string(ring)); }

Version FakeDirectory::version(std::string_view ring) const {
  const ring::Version version = parts_->service.version(std::string(ring));
  return {.epoch = version.epoch, .revision = version.revision};
}

void FakeDirectory::Stop() {
  const MutexLock lock(parts_->mutex);
  if (parts_->server == nullptr) return;
  parts_->service.SetStreams(Service::Streams::kEnd);
  parts_->server->Shutdown(std::chrono::system_clock::now());
  parts_->server.reset();
}

void FakeDirectory::Start() {
  const MutexLock lock(parts_->mutex);
  if (parts_->server != nullptr) return;
  parts_->service.SetStreams(Service::Streams::kOpen);
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(parts_->endpoint, grpc::InsecureServerCredentials(), &port);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  builder.RegisterService(&parts_->service);
  parts_->server = builder.BuildAndStart();
  if (parts_->server == nullptr) {
    std::fprintf(stderr, "FakeDirectory cannot listen on %s\n", parts_->endpoint.c_str());
    std::abort();
  }
  parts_->endpoint = "127.0.0.1:" + std::to_string(port);
}

void FakeDirectory::FailWith(const absl::Status& status) { parts_->service.FailWith(status); }

}  // namespace ringd::testing
