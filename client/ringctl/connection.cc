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
constexpr milliseconds kFindOutWithin{500};  // what is wrong with an endpoint

milliseconds PatienceUntil(Clock::time_point deadline) {
  const auto left = std::chrono::duration_cast<milliseconds>(deadline - Clock::now());
  return std::clamp(left, milliseconds(1), kFindOutWithin);
}

}  // namespace

Connection::Connection(std::vector<std::string> endpoints, Security security, milliseconds timeout)
    : endpoints_(std::move(endpoints)), security_(std::move(security)), timeout_(timeout) {}

Answer<std::shared_ptr<v1::Directory::Stub>> Connection::Reach() {
  grpc::Status connected = Connect(NewDeadline());
  return {std::move(connected), stub_};
}

grpc::Status Connection::Unreachable(Clock::time_point deadline) const {
  for (const std::string& endpoint : endpoints_) {
    const std::string why = security_.WhyRefused(endpoint, PatienceUntil(deadline));
    if (!why.empty()) return {grpc::StatusCode::UNAUTHENTICATED, fmt::format("{}: {}", endpoint, why)};
  }
  return {grpc::StatusCode::UNAVAILABLE, fmt::format("cannot reach ringd at {}", fmt::join(endpoints_, ", "))};
}

grpc::Status Connection::Run(const google::protobuf::Message& request, Clock::time_point deadline,
                             const Attempt& attempt) {
  grpc::Status unfit = CheckWire(request);
  if (!unfit.ok()) return unfit;
  Backoff backoff({.first = milliseconds(50), .longest = milliseconds(1000)}, SystemRandom());
  grpc::Status unavailable;
  while (true) {
    if (grpc::Status connected = Connect(deadline); !connected.ok()) {
      return unavailable.ok() || !MayTryAgain(connected) ? connected : unavailable;
    }
    grpc::ClientContext context;
    context.set_deadline(deadline);
    grpc::Status status = Understood(attempt(*stub_, context));
    if (!MayTryAgain(status)) return status;
    unavailable = std::move(status);
    stub_ = nullptr;
    current_ = (current_ + 1) % endpoints_.size();
    const milliseconds pause = backoff.Next();
    if (Clock::now() + pause >= deadline) return unavailable;
    std::this_thread::sleep_for(pause);
  }
}

grpc::Status Connection::Connect(Clock::time_point deadline) {
  const auto give_up = std::min(deadline, Clock::now() + kReachWithin);
  while (stub_ == nullptr && !TryEndpoints(deadline)) {
    grpc::Status unreachable = Unreachable(deadline);
    if (!MayTryAgain(unreachable) || Clock::now() + kPauseBetweenRounds >= give_up) return unreachable;
    std::this_thread::sleep_for(kPauseBetweenRounds);
  }
  return grpc::Status::OK;
}

bool Connection::TryEndpoints(Clock::time_point deadline) {
  for (std::size_t left = endpoints_.size(); left > 0; --left) {
    const std::shared_ptr<grpc::Channel> channel = NewChannel(endpoints_[current_], security_);
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
