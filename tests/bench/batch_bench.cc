// BatchLookup against a service that parses as many keys and answers as many numbers, and against MGET of redis-server.
//
//   batch_bench serve-echo                       the service, in a process of its own; prints its port
//   batch_bench measure RINGD ECHO REDIS_PORT ROUNDS MILLIS
//
// RINGD has the ring of `rpc_bench prepare`. measure takes two peers in turn, round by round. Each has four callers,
// with a connection and one call each. It prints keys per second, the medians, and the medians of the rounds' ratios as
// JSON.
#include <hiredis/hiredis.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "ringd/v1/directory.grpc.pb.h"
#include "server/transport.h"
#include "tests/bench/bench_ring.h"
#include "tests/bench/closed_loop.h"
#include "tests/bench/comparison.h"
#include "tests/bench/echo.grpc.pb.h"

namespace ringd::bench {
namespace {

constexpr int kCallers = 4;

class BatchEchoService final : public BatchEcho::CallbackService {
 public:
  grpc::ServerUnaryReactor* Call(grpc::CallbackServerContext* context, const KeysMessage* request,
                                 NumbersMessage* response) override {
    response->mutable_numbers()->Reserve(request->keys_size());
    for (const std::string& key : request->keys()) response->add_numbers(static_cast<unsigned char>(key.back()));
    auto* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }
};

int ServeEcho() {
  BatchEchoService service;
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

std::vector<std::string> Keys(int count) {
  std::vector<std::string> keys;
  for (int i = 0; i < count; i++) keys.push_back("user:" + std::to_string(100'000 + i));
  return keys;
}

// One stub a caller, on connections of their own.
template <class Service>
std::vector<std::unique_ptr<typename Service::Stub>> Stubs(const std::string& address) {
  std::vector<std::unique_ptr<typename Service::Stub>> stubs;
  for (int i = 0; i < kCallers; i++) stubs.push_back(Service::NewStub(Connect(address, i)));
  return stubs;
}

// Keys per second of calls that carry a request; `start` begins one of a caller's.
template <class Request, class Response>
double KeysPerSecond(std::chrono::milliseconds time, const Request& request,
                     const std::function<void(int caller, grpc::ClientContext*, const Request*, Response*,
                                              std::function<void(grpc::Status)>)>& start) {
  return request.keys_size() * CallsPerSecond<Request, Response>(kCallers, time, request, start);
}

struct FreeReply {
  void operator()(redisReply* reply) const { freeReplyObject(reply); }
};
struct FreeContext {
  void operator()(redisContext* context) const { redisFree(context); }
};

class RedisPeer {
 public:
  // Keys hold names of nodes.
  RedisPeer(int port, const std::vector<std::string>& keys) : keys_(keys.size()) {
    for (int i = 0; i < kCallers; i++) {
      connections_.emplace_back(redisConnect("127.0.0.1", port));
      if (connections_.back() == nullptr || connections_.back()->err != 0) Fail("no redis-server");
    }
    std::vector<std::string> set = {"MSET"};
    for (size_t i = 0; i < keys.size(); i++) {
      set.push_back(keys[i]);
      set.push_back("node-" + std::to_string(i % 100));
      get_.push_back(keys[i]);
    }
    Call(*connections_[0], set, REDIS_REPLY_STATUS);
  }

  double KeysPerSecond(std::chrono::milliseconds time) {
    std::atomic<long> calls = 0;
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> callers;
    for (const auto& connection : connections_) {
      callers.emplace_back([&] {
        while (std::chrono::steady_clock::now() < begin + time) {
          Call(*connection, get_, REDIS_REPLY_ARRAY);
          calls++;
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    return static_cast<double>(calls) * static_cast<double>(keys_) / took.count();
  }

 private:
  [[noreturn]] static void Fail(const char* what) {
    std::fprintf(stderr, "%s\n", what);
    std::_Exit(1);
  }

  static void Call(redisContext& connection, const std::vector<std::string>& command, int wanted) {
    std::vector<const char*> words;
    std::vector<size_t> sizes;
    for (const std::string& word : command) {
      words.push_back(word.data());
      sizes.push_back(word.size());
    }
    const std::unique_ptr<redisReply, FreeReply> reply(static_cast<redisReply*>(
        redisCommandArgv(&connection, static_cast<int>(words.size()), words.data(), sizes.data())));
    if (reply == nullptr || reply->type != wanted) Fail("redis-server refuses");
  }

  const size_t keys_;
  std::vector<std::unique_ptr<redisContext, FreeContext>> connections_;
  std::vector<std::string> get_ = {"MGET"};
};

int Measure(const std::string& ringd, const std::string& echo, int redis_port, int rounds,
            std::chrono::milliseconds time) {
  const auto directory = Stubs<v1::Directory>(ringd);
  const auto echoes = Stubs<BatchEcho>(echo);
  const auto lookups = [&](const std::vector<std::string>& keys) {
    v1::BatchLookupRequest request;
    request.set_ring(kRing);
    request.mutable_keys()->Assign(keys.begin(), keys.end());
    return [&, request] {
      return KeysPerSecond<v1::BatchLookupRequest, v1::BatchLookupResponse>(
          time, request, [&](int caller, auto* context, auto* sent, auto* response, auto done) {
            directory[caller]->async()->BatchLookup(context, sent, response, std::move(done));
          });
    };
  };
  const auto echo_keys = [&](const std::vector<std::string>& keys) {
    KeysMessage request;
    request.mutable_keys()->Assign(keys.begin(), keys.end());
    return [&, request] {
      return KeysPerSecond<KeysMessage, NumbersMessage>(
          time, request, [&](int caller, auto* context, auto* sent, auto* response, auto done) {
            echoes[caller]->async()->Call(context, sent, response, std::move(done));
          });
    };
  };
  const std::vector<std::string> thousand = Keys(1'000), ten_thousand = Keys(10'000);
  RedisPeer redis(redis_port, thousand);
  const auto gets = [&] { return redis.KeysPerSecond(time); };
  lookups(ten_thousand)();
  echo_keys(ten_thousand)();
  gets();
  const Comparison echo_1000 = Compare(rounds, lookups(thousand), echo_keys(thousand));
  const Comparison echo_10000 = Compare(rounds, lookups(ten_thousand), echo_keys(ten_thousand));
  const Comparison mget_1000 = Compare(rounds, lookups(thousand), gets);
  std::printf("{\"echo_1000\": %s, \"echo_10000\": %s, \"mget_1000\": %s}\n", echo_1000.Json().c_str(),
              echo_10000.Json().c_str(), mget_1000.Json().c_str());
  return 0;
}

}  // namespace
}  // namespace ringd::bench

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 1 && words[0] == "serve-echo") return ringd::bench::ServeEcho();
  if (words.size() == 6 && words[0] == "measure") {
    return ringd::bench::Measure(words[1], words[2], std::stoi(words[3]), std::stoi(words[4]),
                                 std::chrono::milliseconds(std::stoi(words[5])));
  }
  std::fprintf(stderr, "batch_bench is run by tests/bench/run.sh; its head says how\n");
  return 2;
}
