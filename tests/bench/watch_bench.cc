// One change to many watchers, ringd against etcd, and ringd when all of its watchers come back at once.
//
//   watch_bench prepare RINGD                      makes a ring of 100 nodes x 160 points
//   watch_bench measure RINGD PID ETCD PID WATCHERS ROUNDS
//   watch_bench storm RINGD OTHER_RINGD WATCHERS ROUNDS
//   watch_bench probe RINGD                        Lookups one after the other until stdin ends; storm starts it
//
// measure opens as many streams at each peer, over 100 connections, and makes changes of them in turn, so that what
// disturbs the machine disturbs both. The client is the same: streams of gRPC's callback API, messages parsed, and a
// value in etcd as large as ringd's Change. It prints as JSON, medians with the median of the rounds' ratios:
// milliseconds from just before the mutation until the last stream has it; the same from its answer, which at etcd may
// come last of all; the slowest change of ringd; and the KiB by which each server grew for each stream, which are true
// of servers that had no streams before.
//
// storm cuts the connections of all watchers, makes one change, and lets all come back at once over new connections,
// with the positions that they held. It prints milliseconds until all are in sync, and the 99th percentile of a Lookup
// by another process meanwhile, beside the same with idle watchers, and beside that of the other ringd, which has a
// ring too and nothing else to do: what the machine costs that is busy with the storm.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "grpcpp/client_context.h"
#include "ringd/v1/directory.grpc.pb.h"
#include "tests/bench/bench_ring.h"
#include "tests/bench/comparison.h"
#include "tests/bench/countdown.h"
#include "tests/bench/etcd.grpc.pb.h"
#include "tests/bench/lookup_probe.h"

namespace ringd::bench {
namespace {

constexpr int kConnections = 100;
constexpr char kKey[] = "bench/node-0";

double Millis(Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

// What the streams of one peer have seen.
struct Seen {
  Countdown opened;
  Countdown changed;
  Countdown ended;
  std::atomic<size_t> change_bytes = 0;
};

class RingdStream final : public grpc::ClientReadReactor<v1::WatchResponse> {
 public:
  RingdStream(v1::Directory::Stub& stub, const v1::WatchRequest& request, Seen& seen) : seen_(seen) {
    stub.async()->Watch(&context_, &request, this);
    StartRead(&message_);
    StartCall();
  }
  void Cancel() { context_.TryCancel(); }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (message_.has_change()) {
      seen_.change_bytes = message_.change().ByteSizeLong();
      seen_.changed.Down();
    } else if (message_.has_in_sync() && !message_.in_sync().has_ring()) {
      seen_.opened.Down();
    }
    StartRead(&message_);
  }
  void OnDone(const grpc::Status& status) override {
    if (status.error_code() != grpc::StatusCode::CANCELLED) Check(status, "ringd's Watch");
    seen_.ended.Down();
  }

  Seen& seen_;
  grpc::ClientContext context_;
  v1::WatchResponse message_;
};

class EtcdStream final : public grpc::ClientBidiReactor<etcdserverpb::WatchRequest, etcdserverpb::WatchResponse> {
 public:
  EtcdStream(etcdserverpb::Watch::Stub& stub, const etcdserverpb::WatchRequest& request, Seen& seen) : seen_(seen) {
    stub.async()->Watch(&context_, this);
    StartWrite(&request);
    StartRead(&message_);
    StartCall();
  }
  void Cancel() { context_.TryCancel(); }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return;
    if (message_.events_size() != 0) {
      seen_.changed.Down();
    } else if (message_.created()) {
      seen_.opened.Down();
    }
    StartRead(&message_);
  }
  void OnDone(const grpc::Status& status) override {
    if (status.error_code() != grpc::StatusCode::CANCELLED) Check(status, "etcd's Watch");
    seen_.ended.Down();
  }

  Seen& seen_;
  grpc::ClientContext context_;
  etcdserverpb::WatchResponse message_;
};

// The streams of one peer, over connections of their own.
template <class Service, class Stream, class Request>
class Fleet {
 public:
  // The streams have begun, and Seen::opened counts those that stand.
  Fleet(const std::string& address, int count, Request request) : request_(std::move(request)), count_(count) {
    seen_.opened.Start(count);
    for (int i = 0; i < kConnections; i++) stubs_.push_back(Service::NewStub(Connect(address, i)));
    for (int i = 0; i < count; i++) {
      streams_.push_back(std::make_unique<Stream>(*stubs_[i % kConnections], request_, seen_));
    }
  }
  ~Fleet() {
    seen_.ended.Start(count_);
    for (const auto& stream : streams_) stream->Cancel();
    seen_.ended.Wait("ends of streams");
  }

  Seen& seen() { return seen_; }
  int count() const { return count_; }

 private:
  const Request request_;
  const int count_;
  Seen seen_;
  std::vector<std::unique_ptr<typename Service::Stub>> stubs_;
  std::vector<std::unique_ptr<Stream>> streams_;
};
using RingdFleet = Fleet<v1::Directory, RingdStream, v1::WatchRequest>;
using EtcdFleet = Fleet<etcdserverpb::Watch, EtcdStream, etcdserverpb::WatchRequest>;

v1::WatchRequest RingRequest() {
  v1::WatchRequest request;
  request.mutable_selector()->mutable_names()->add_rings(kRing);
  return request;
}

etcdserverpb::WatchRequest KeyRequest() {
  etcdserverpb::WatchRequest request;
  request.mutable_create_request()->set_key(kKey);
  return request;
}

v1::Ring RingNow(const std::string& ringd) {
  v1::GetRingRequest request;
  request.set_ring(kRing);
  v1::GetRingResponse response;
  grpc::ClientContext context;
  Check(v1::Directory::NewStub(Connect(ringd, kConnections))->GetRing(&context, request, &response), "GetRing");
  return response.ring();
}

class EtcdWriter {
 public:
  explicit EtcdWriter(const std::string& address) : stub_(etcdserverpb::KV::NewStub(Connect(address, kConnections))) {}

  void Change(size_t bytes) {
    etcdserverpb::PutRequest request;
    request.set_key(kKey);
    request.set_value(std::string(bytes, 'x'));
    etcdserverpb::PutResponse response;
    grpc::ClientContext context;
    Check(stub_->Put(&context, request, &response), "Put");
  }

 private:
  const std::unique_ptr<etcdserverpb::KV::Stub> stub_;
};

double ResidentKib(const std::string& pid) {
  std::ifstream status("/proc/" + pid + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::stod(line.substr(6));
  }
  std::fprintf(stderr, "no process %s\n", pid.c_str());
  std::_Exit(1);
}

// What a change took, in milliseconds, until all streams had it.
struct Delivery {
  double from_call;
  double from_answer;
};

template <class Fleet, class Change>
Delivery Deliver(Fleet& fleet, const Change& change) {
  fleet.seen().changed.Start(fleet.count());
  const auto called = Clock::now();
  change();
  const auto answered = Clock::now();
  const auto all = fleet.seen().changed.Wait("deliveries of a change");
  return {Millis(all - called), Millis(all - answered)};
}

template <class Fleet, class Request>
std::unique_ptr<Fleet> Open(const std::string& address, int count, const Request& request) {
  auto fleet = std::make_unique<Fleet>(address, count, request);
  fleet->seen().opened.Wait("streams that stand");
  return fleet;
}

int Measure(const std::string& ringd, const std::string& ringd_pid, const std::string& etcd,
            const std::string& etcd_pid, int watchers, int rounds) {
  RingWriter ringd_writer(Connect(ringd, kConnections));
  EtcdWriter etcd_writer(etcd);
  ringd_writer.Change();
  etcd_writer.Change(1);

  const double ringd_before = ResidentKib(ringd_pid), etcd_before = ResidentKib(etcd_pid);
  const auto ringd_fleet = Open<RingdFleet>(ringd, watchers, RingRequest());
  const auto etcd_fleet = Open<EtcdFleet>(etcd, watchers, KeyRequest());
  const double ringd_each = (ResidentKib(ringd_pid) - ringd_before) / watchers;
  const double etcd_each = (ResidentKib(etcd_pid) - etcd_before) / watchers;

  const auto change_ringd = [&] { return Deliver(*ringd_fleet, [&] { ringd_writer.Change(); }); };
  change_ringd();
  const size_t bytes = ringd_fleet->seen().change_bytes;
  const auto change_etcd = [&] { return Deliver(*etcd_fleet, [&] { etcd_writer.Change(bytes); }); };
  change_etcd();
  Comparison from_call;
  std::vector<double> ringd_from_answer, etcd_from_answer;
  double ringd_slowest = 0;
  for (int round = 0; round < rounds; round++) {
    // In turn the first and the second of their round, so that no one of them has the better place.
    Delivery one, other;
    if (round % 2 == 0) one = change_ringd();
    other = change_etcd();
    if (round % 2 != 0) one = change_ringd();
    from_call.AddRound(one.from_call, other.from_call);
    ringd_from_answer.push_back(one.from_answer);
    etcd_from_answer.push_back(other.from_answer);
    ringd_slowest = std::max(ringd_slowest, one.from_call);
  }
  Comparison kib_each;
  kib_each.AddRound(ringd_each, etcd_each);
  std::printf(
      "{\"watchers\": %d, \"change_bytes\": %zu, \"from_call\": %s, \"from_answer\": [%.3f, %.3f], \"slowest\": %.1f, "
      "\"kib_each\": %s}\n",
      watchers, bytes, from_call.Json().c_str(), Median(ringd_from_answer), Median(etcd_from_answer), ringd_slowest,
      kib_each.Json().c_str());
  return 0;
}

// What one storm did, in milliseconds.
struct StormRound {
  double in_sync;
  double p99;
  double p99_before;
};

// Lookups are asked of `probed`.
StormRound RunStorm(const std::string& ringd, const std::string& probed, std::unique_ptr<RingdFleet>& fleet,
                    RingWriter& writer) {
  const int watchers = fleet->count();
  const v1::Ring held = RingNow(ringd);
  v1::WatchRequest request = RingRequest();
  v1::HeldRing& ring = *request.add_held();
  ring.set_ring(kRing);
  *ring.mutable_position()->mutable_version() = held.version();
  *ring.mutable_position()->mutable_checksum() = held.checksum();

  Probe probe(probed);
  const auto begin_idle = Clock::now();
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const auto end_idle = Clock::now();
  fleet.reset();
  writer.Change();
  const auto begin = Clock::now();
  fleet = std::make_unique<RingdFleet>(ringd, watchers, request);
  const auto end = fleet->seen().opened.Wait("watchers in sync");
  const std::vector<Sample> samples = probe.End();
  return {Millis(end - begin), P99(samples, begin, end), P99(samples, begin_idle, end_idle)};
}

int Storm(const std::string& ringd, const std::string& other_ringd, int watchers, int rounds) {
  RingWriter writer(Connect(ringd, kConnections));
  auto fleet = Open<RingdFleet>(ringd, watchers, RingRequest());
  std::vector<double> in_sync;
  Comparison idle, elsewhere;
  for (int round = 0; round < rounds; round++) {
    const StormRound here = RunStorm(ringd, ringd, fleet, writer);
    const StormRound there = RunStorm(ringd, other_ringd, fleet, writer);
    in_sync.push_back(here.in_sync);
    idle.AddRound(here.p99, here.p99_before);
    elsewhere.AddRound(here.p99, there.p99);
  }
  std::printf("{\"watchers\": %d, \"in_sync\": %.1f, \"lookup_p99\": %s, \"lookup_p99_elsewhere\": %s}\n", watchers,
              Median(in_sync), idle.Json().c_str(), elsewhere.Json().c_str());
  return 0;
}

int Prepare(const std::string& ringd) {
  LoadRing(*v1::Directory::NewStub(Connect(ringd, 0)));
  return 0;
}

}  // namespace
}  // namespace ringd::bench

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 2 && words[0] == "prepare") return ringd::bench::Prepare(words[1]);
  if (words.size() == 2 && words[0] == "probe") return ringd::bench::RunProbe(words[1]);
  if (words.size() == 5 && words[0] == "storm") {
    return ringd::bench::Storm(words[1], words[2], std::stoi(words[3]), std::stoi(words[4]));
  }
  if (words.size() == 7 && words[0] == "measure") {
    return ringd::bench::Measure(words[1], words[2], words[3], words[4], std::stoi(words[5]), std::stoi(words[6]));
  }
  std::fprintf(stderr, "watch_bench is run by tests/bench/run.sh; its head says how\n");
  return 2;
}
