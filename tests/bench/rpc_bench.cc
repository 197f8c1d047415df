// Unary Lookup against a bare echo of the same sizes in the same stack, and that echo with a Lookup's metrics against
// itself without.
//
//   rpc_bench prepare RINGD                      makes a ring of 100 nodes x 160 points, prints the sizes of request
//                                                and response
//   rpc_bench serve-echo RESPONSE_BYTES          the echo, in a process of its own; prints its port
//   rpc_bench measure RINGD ECHO REQUEST_BYTES ROUNDS MILLIS
//
// measure takes two peers in turn, round by round, so that what disturbs the machine disturbs both. It prints the
// medians and the median of the rounds' ratios as JSON.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "grpcpp/create_channel.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "ringd/v1/directory.grpc.pb.h"
#include "server/lookup_counts.h"
#include "server/rpc_metrics.h"
#include "server/transport.h"
#include "server/unary_call.h"
#include "tests/bench/closed_loop.h"
#include "tests/bench/echo.grpc.pb.h"

namespace ringd::bench {
namespace {

constexpr int kInFlight = 32;
constexpr int kChannels = 4;
constexpr char kRing[] = "bench";

class EchoService final : public Echo::CallbackService {
 public:
  explicit EchoService(size_t response_bytes) : payload_(response_bytes, 'x') {}
  grpc::ServerUnaryReactor* Call(grpc::CallbackServerContext* context, const EchoMessage*,
                                 EchoMessage* response) override {
    response->set_payload(payload_);
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  grpc::ServerUnaryReactor* CountedCall(grpc::CallbackServerContext* context, const EchoMessage*,
                                        EchoMessage* response) override {
    const server::UnaryCall call(context->DefaultReactor(), counts_);
    response->set_payload(payload_);
    lookups_.Add(0, 1);
    return call.Finish(absl::OkStatus());
  }

 private:
  const std::string payload_;
  server::RpcCounts counts_;
  const server::LookupCounts lookups_{ring::NodeTable{.nodes = {std::make_shared<ring::Node>()}}};
};

// A message whose payload field adds two bytes of its own.
size_t PayloadBytes(size_t message_bytes) { return message_bytes - 2; }

int ServeEcho(size_t response_bytes) {
  EchoService service(PayloadBytes(response_bytes));
  grpc::ServerBuilder builder;
  server::SetTransport(builder, 1 << 20);
  int port = 0;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  std::printf("%d\n", port);
  std::fflush(stdout);
  server->Wait();
  return 0;
}

std::vector<std::shared_ptr<grpc::Channel>> Channels(const std::string& address) {
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; i < kChannels; i++) {
    grpc::ChannelArguments arguments;
    arguments.SetInt("channel", i);  // else all would share one connection
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    channels.push_back(grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
  }
  return channels;
}

void Check(const grpc::Status& status, const char* what) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s: %s\n", what, status.error_message().c_str());
  std::exit(1);
}

void LoadRing(v1::Directory::Stub& stub) {
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

v1::LookupRequest Request() {
  v1::LookupRequest request;
  request.set_ring(kRing);
  request.set_key("user:123456");
  return request;
}

double LookupsPerSecond(const std::vector<std::shared_ptr<grpc::Channel>>& channels, std::chrono::milliseconds time) {
  std::vector<std::unique_ptr<v1::Directory::Stub>> stubs;
  for (const auto& channel : channels) stubs.push_back(v1::Directory::NewStub(channel));
  return CallsPerSecond<v1::LookupRequest, v1::LookupResponse>(
      kInFlight, time, Request(), [&](int slot, auto* context, auto* request, auto* response, auto done) {
        stubs[slot % kChannels]->async()->Lookup(context, request, response, std::move(done));
      });
}

using EchoMethod = void (Echo::Stub::async::*)(grpc::ClientContext*, const EchoMessage*, EchoMessage*,
                                               std::function<void(grpc::Status)>);
constexpr EchoMethod kCall = &Echo::Stub::async::Call;
constexpr EchoMethod kCountedCall = &Echo::Stub::async::CountedCall;

double EchoesPerSecond(const std::vector<std::shared_ptr<grpc::Channel>>& channels, size_t request_bytes,
                       EchoMethod method, std::chrono::milliseconds time) {
  std::vector<std::unique_ptr<Echo::Stub>> stubs;
  for (const auto& channel : channels) stubs.push_back(Echo::NewStub(channel));
  EchoMessage message;
  message.set_payload(std::string(PayloadBytes(request_bytes), 'x'));
  return CallsPerSecond<EchoMessage, EchoMessage>(
      kInFlight, time, message, [&](int slot, auto* context, auto* request, auto* response, auto done) {
        (stubs[slot % kChannels]->async()->*method)(context, request, response, std::move(done));
      });
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Loads the ring and prints the sizes that the echo shall have.
int Prepare(const std::string& ringd) {
  const auto stub = v1::Directory::NewStub(Channels(ringd)[0]);
  LoadRing(*stub);
  v1::LookupResponse response;
  grpc::ClientContext context;
  Check(stub->Lookup(&context, Request(), &response), "Lookup");
  std::printf("%zu %zu\n", Request().ByteSizeLong(), response.ByteSizeLong());
  return 0;
}

struct Comparison {
  double one;
  double other;
  double ratio;  // the median of the rounds' ratios: the two medians may come from different rounds
};

Comparison Compare(int rounds, const std::function<double()>& one, const std::function<double()>& other) {
  std::vector<double> ones, others, ratios;
  for (int round = 0; round < rounds; round++) {
    // In turn the first and the second of their round, so that no one of them has the better place.
    const bool other_first = round % 2 == 0;
    if (other_first) others.push_back(other());
    ones.push_back(one());
    if (!other_first) others.push_back(other());
    ratios.push_back(ones.back() / others.back());
  }
  return {Median(ones), Median(others), Median(ratios)};
}

int Measure(const std::string& ringd, const std::string& echo, size_t request_bytes, int rounds,
            std::chrono::milliseconds time) {
  const auto ringd_channels = Channels(ringd);
  const auto echo_channels = Channels(echo);
  const auto lookups = [&] { return LookupsPerSecond(ringd_channels, time); };
  const auto echoes = [&] { return EchoesPerSecond(echo_channels, request_bytes, kCall, time); };
  const auto counted = [&] { return EchoesPerSecond(echo_channels, request_bytes, kCountedCall, time); };
  lookups();
  echoes();
  const Comparison lookup = Compare(rounds, lookups, echoes);
  const Comparison metrics = Compare(rounds, counted, echoes);
  std::printf("{\"lookup\": [%.0f, %.0f, %.3f], \"metrics\": [%.0f, %.0f, %.3f]}\n", lookup.one, lookup.other,
              lookup.ratio, metrics.one, metrics.other, metrics.ratio);
  return 0;
}

}  // namespace
}  // namespace ringd::bench

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 2 && words[0] == "serve-echo") return ringd::bench::ServeEcho(std::stoul(words[1]));
  if (words.size() == 2 && words[0] == "prepare") return ringd::bench::Prepare(words[1]);
  if (words.size() == 6 && words[0] == "measure") {
    return ringd::bench::Measure(words[1], words[2], std::stoul(words[3]), std::stoi(words[4]),
                                 std::chrono::milliseconds(std::stoi(words[5])));
  }
  std::fprintf(stderr, "rpc_bench is run by tests/bench/run.sh; its head says how\n");
  return 2;
}
