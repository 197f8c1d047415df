#include "client/ringctl/connection.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "client/wire_check.h"
#include "proto/status_codec.h"

namespace ringd::ctl {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kReachWithin{2000};
constexpr milliseconds kPauseBetweenRounds{100};

}  // namespace

Connection::Connection(std::vector<std::string> endpoints, milliseconds timeout)
    : endpoints_(std::move(endpoints)), timeout_(timeout) {}

Answer<std::shared_ptr<v1::Directory::Stub>> Connection::Reach() {
  if (Connect(NewDeadline())) return {grpc::Status::OK, stub_};
  return {Unreachable(), nullptr};
}

grpc::Status Connection::Unreachable() const {
  return {grpc::StatusCode::UNAVAILABLE, fmt::format("cannot reach ringd at {}", fmt::join(endpoints_, ", "))};
}

grpc::Status Connection::Run(const google::protobuf::Message& request, const Attempt& attempt) {
  grpc::Status unfit = CheckWire(request);
  if (!unfit.ok()) return unfit;
  const auto deadline = NewDeadline();
  Backoff backoff({.first = milliseconds(50), .longest = milliseconds(1000)}, SystemRandom());
  grpc::Status unavailable = Unreachable();
  while (Connect(deadline)) {
    grpc::ClientContext context;
    context.set_deadline(deadline);
    grpc::Status status = Understood(attempt(*stub_, context));
    if (!MayTryAgain(status)) return status;
    unavailable = std::move(status);
    stub_ = nullptr;
    current_ = (current_ + 1) % endpoints_.size();
    const milliseconds pause = backoff.Next();
    if (Clock::now() + pause >= deadline) break;
    std::this_thread::sleep_for(pause);
  }
  return unavailable;
}

bool Connection::Connect(Clock::time_point deadline) {
  const auto give_up = std::min(deadline, Clock::now() + kReachWithin);
  while (stub_ == nullptr && !TryEndpoints(deadline)) {
    if (Clock::now() + kPauseBetweenRounds >= give_up) return false;
    std::this_thread::sleep_for(kPauseBetweenRounds);
  }
  return true;
}

bool Connection::TryEndpoints(Clock::time_point deadline) {
  for (std::size_t left = endpoints_.size(); left > 0; --left) {
    const std::shared_ptr<grpc::Channel> channel = NewChannel(endpoints_[current_]);
    const auto now = Clock::now();
    if (WaitUntilConnected(*channel, now + (deadline - now) / static_cast<int64_t>(left))) {
      stub_ = v1::Directory::NewStub(channel);
      return true;
    }
    current_ = (current_ + 1) % endpoints_.size();
  }
  return false;
}

}  // namespace ringd::ctl
