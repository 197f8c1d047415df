// Unary Lookup against a bare echo of the same sizes in the same stack, that echo with a Lookup's metrics against
// itself without, and the 99th percentile of Lookup while the ring changes 100 times a second against that of a ring at
// rest, and against the same while the ring of another ringd changes so: what the machine costs that is busy with it.
//
//   rpc_bench prepare RINGD                      makes a ring of 100 nodes x 160 points, prints the sizes of request
//                                                and response
//   rpc_bench serve-echo RESPONSE_BYTES          the echo, in a process of its own; prints its port
//   rpc_bench measure RINGD OTHER_RINGD ECHO REQUEST_BYTES ROUNDS MILLIS
//
// measure takes two peers in turn, round by round, so that what disturbs the machine disturbs both. It prints the
// medians and the median of the rounds' ratios as JSON.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "ringd/v1/directory.grpc.pb.h"
#include "server/lookup_counts.h"
#include "server/rpc_metrics.h"
#include "server/transport.h"
#include "server/unary_call.h"
#include "tests/bench/bench_ring.h"
#include "tests/bench/closed_loop.h"
#include "tests/bench/comparison.h"
#include "tests/bench/echo.grpc.pb.h"

namespace ringd::bench {
namespace {

constexpr int kInFlight = 32;
constexpr int kChannels = 4;

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
  for (int i = 0; i < kChannels; i++) channels.push_back(Connect(address, i));
  return channels;
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

// The 99th percentile of Lookups one after the other, in milliseconds.
double LookupP99(v1::Directory::Stub& stub, std::chrono::milliseconds time) {
  std::vector<double> millis;
  const v1::LookupRequest request = Request();
  const auto end = std::chrono::steady_clock::now() + time;
  for (auto begin = std::chrono::steady_clock::now(); begin < end;) {
    v1::LookupResponse response;
    grpc::ClientContext context;
    Check(stub.Lookup(&context, request, &response), "Lookup");
    const auto answered = std::chrono::steady_clock::now();
    millis.push_back(std::chrono::duration<double, std::milli>(answered - begin).count());
    begin = answered;
  }
  const auto p99 = millis.begin() + static_cast<std::ptrdiff_t>(millis.size() * 99 / 100);
  std::nth_element(millis.begin(), p99, millis.end());
  return *p99;
}

// The same while another thread changes a ring 100 times a second, or as often as the disk allows: `changes` counts
// what was made.
double LookupP99UnderChanges(v1::Directory::Stub& stub, RingWriter& writer, std::chrono::milliseconds time,
                             long& changes) {
  std::atomic<bool> stop = false;
  std::thread changing([&] {
    for (auto next = std::chrono::steady_clock::now(); !stop; next += std::chrono::milliseconds(10)) {
      std::this_thread::sleep_until(next);
      writer.Change();
      changes++;
    }
  });
  const double p99 = LookupP99(stub, time);
  stop = true;
  changing.join();
  return p99;
}

int Measure(const std::string& ringd, const std::string& other_ringd, const std::string& echo, size_t request_bytes,
            int rounds, std::chrono::milliseconds time) {
  const auto ringd_channels = Channels(ringd);
  const auto echo_channels = Channels(echo);
  const auto lookups = [&] { return LookupsPerSecond(ringd_channels, time); };
  const auto echoes = [&] { return EchoesPerSecond(echo_channels, request_bytes, kCall, time); };
  const auto counted = [&] { return EchoesPerSecond(echo_channels, request_bytes, kCountedCall, time); };
  lookups();
  echoes();
  const Comparison lookup = Compare(rounds, lookups, echoes);
  const Comparison metrics = Compare(rounds, counted, echoes);

  const auto stub = v1::Directory::NewStub(ringd_channels[0]);
  RingWriter writer(ringd_channels[1]), other_writer(Connect(other_ringd, 0));
  const int p99_rounds = (rounds + 9) / 10;
  const std::chrono::milliseconds p99_time = 10 * time;
  long changes = 0, other_changes = 0;
  const auto p99_here = [&] { return LookupP99UnderChanges(*stub, writer, p99_time, changes); };
  const Comparison p99_idle = Compare(p99_rounds, p99_here, [&] { return LookupP99(*stub, p99_time); });
  const Comparison p99_elsewhere = Compare(
      p99_rounds, p99_here, [&] { return LookupP99UnderChanges(*stub, other_writer, p99_time, other_changes); });
  const double changes_per_second =
      static_cast<double>(changes) / std::chrono::duration<double>(2 * p99_rounds * p99_time).count();
  std::printf(
      "{\"lookup\": %s, \"metrics\": %s, \"p99_under_changes\": %s, \"p99_elsewhere\": %s, "
      "\"changes_per_second\": %.1f}\n",
      lookup.Json().c_str(), metrics.Json().c_str(), p99_idle.Json().c_str(), p99_elsewhere.Json().c_str(),
      changes_per_second);
  return 0;
}

}  // namespace
}  // namespace ringd::bench

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 2 && words[0] == "serve-echo") return ringd::bench::ServeEcho(std::stoul(words[1]));
  if (words.size() == 2 && words[0] == "prepare") return ringd::bench::Prepare(words[1]);
  if (words.size() == 7 && words[0] == "measure") {
    return ringd::bench::Measure(words[1], words[2], words[3], std::stoul(words[4]), std::stoi(words[5]),
                                 std::chrono::milliseconds(std::stoi(words[6])));
  }
  std::fprintf(stderr, "rpc_bench is run by tests/bench/run.sh; its head says how\n");
  return 2;
}
