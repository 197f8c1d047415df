#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/retry.h"
#include "client/ringctl/channel.h"
#include "ringd/v1/directory.grpc.pb.h"

namespace ringd::ctl {

// Answer is what a call came to; `value` means something when `status` is OK.
template <typename Response>
struct Answer {
  grpc::Status status;
  Response value;
};

// Connection calls a directory at the first of some endpoints that can be reached, in their order. It connects with the
// first call. What may be tried again is, at the next endpoint, until the timeout of the call; so a mutation must carry
// a request_id. An endpoint has 2 s to be reached, and its part of the timeout where that is less; a call ends with
// UNAVAILABLE when none was, and 2 s have passed; at once with UNAUTHENTICATED when an endpoint is there and TLS fails.
// One thread only.
class Connection {
 public:
  // REQUIRES: `endpoints` is not empty.
  Connection(std::vector<std::string> endpoints, Security security, std::chrono::milliseconds timeout);

  // Call sends a request once it has passed CheckWire, and waits for the answer: so much longer than the timeout as the
  // directory is asked to take.
  template <typename Request, typename Response>
  Answer<Response> Call(grpc::Status (v1::Directory::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                        const Request& request, std::chrono::milliseconds longer = {}) {
    Answer<Response> answer;
    answer.status = Run(request, NewDeadline() + longer, [&](v1::Directory::Stub& stub, grpc::ClientContext& context) {
      answer.value.Clear();
      return (stub.*method)(&context, request, &answer.value);
    });
    return answer;
  }

  // CallStream is Call for an answer of many messages, which come as one: its lists have what all of them had.
  template <typename Request, typename Response>
  Answer<Response> CallStream(std::unique_ptr<grpc::ClientReader<Response>> (v1::Directory::Stub::*method)(
                                  grpc::ClientContext*, const Request&),
                              const Request& request) {
    Answer<Response> answer;
    answer.status = Run(request, NewDeadline(), [&](v1::Directory::Stub& stub, grpc::ClientContext& context) {
      answer.value.Clear();
      const auto reader = (stub.*method)(&context, request);
      for (Response part; reader->Read(&part);) answer.value.MergeFrom(part);
      return reader->Finish();
    });
    return answer;
  }

  // Reach is for calls that the caller drives itself, each with the deadline of NewDeadline: a stub that stays usable
  // after later calls here, or UNAVAILABLE.
  Answer<std::shared_ptr<v1::Directory::Stub>> Reach();

  Clock::time_point NewDeadline() const { return Clock::now() + timeout_; }

 private:
  using Attempt = std::function<grpc::Status(v1::Directory::Stub&, grpc::ClientContext&)>;

  grpc::Status Run(const google::protobuf::Message& request, Clock::time_point deadline, const Attempt& attempt);
  // Why no endpoint was reached: UNAUTHENTICATED when it is for TLS.
  grpc::Status Unreachable(Clock::time_point deadline) const;
  // OK when there is a stub.
  grpc::Status Connect(Clock::time_point deadline);
  bool TryEndpoints(Clock::time_point deadline);

  const std::vector<std::string> endpoints_;
  const Security security_;
  const std::chrono::milliseconds timeout_;
  std::size_t current_ = 0;                    // into endpoints_: the one that stub_ is of, or the next to try
  std::shared_ptr<v1::Directory::Stub> stub_;  // null while not connected
};

}  // namespace ringd::ctl
