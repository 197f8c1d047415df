// ArenaMessages: where gRPC gets the request and the response of each call of a unary RPC. Both lie on one arena, which
// is the call's own: a message of a thousand strings takes and gives back a few blocks of memory, and not one for each
// string, which is most of what it costs otherwise.
//
// Threads: any; gRPC's. Memory: a call has no more than twice what its messages need, or a block of kFirstBlock bytes.
#pragma once

#include <cstddef>

#include "google/protobuf/arena.h"
#include "grpcpp/support/message_allocator.h"

namespace ringd::server {

template <class Request, class Response>
class ArenaMessages final : public grpc::MessageAllocator<Request, Response> {
 public:
  grpc::MessageHolder<Request, Response>* AllocateMessages() override { return new OfCall(); }

 private:
  static constexpr size_t kFirstBlock = 4 << 10;
  static constexpr size_t kLargestBlock = 64 << 10;

  // Its own, until gRPC releases it.
  class OfCall final : public grpc::MessageHolder<Request, Response> {
   public:
    OfCall() : arena_(Options()) {
      this->set_request(google::protobuf::Arena::CreateMessage<Request>(&arena_));
      this->set_response(google::protobuf::Arena::CreateMessage<Response>(&arena_));
    }
    void Release() override { delete this; }

   private:
    static google::protobuf::ArenaOptions Options() {
      google::protobuf::ArenaOptions options;
      options.start_block_size = kFirstBlock;
      options.max_block_size = kLargestBlock;
      return options;
    }

    google::protobuf::Arena arena_;
  };
};

}  // namespace ringd::server
