// WatchCalls: how Watch RPCs come in and go. They have completion queues of their own and not the one of gRPC's
// callback API, which the other RPCs use: Debian's gRPC looks through all operations that wait on a queue whenever one
// ends, and a Watch has one that waits for as long as it lives, so ten thousand of them would cost each Lookup, and
// each message of a Watch, some microseconds.
//
// Lifetime: made before the server is built, and destroyed after it.
// Threads: one for each queue, which calls the streams. The other members from any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "grpcpp/completion_queue.h"
#include "grpcpp/server_builder.h"
#include "grpcpp/server_context.h"
#include "grpcpp/support/async_stream.h"
#include "grpcpp/support/byte_buffer.h"
#include "ring/mutex.h"

namespace ringd::server {

class WatchStream;

class WatchCalls {
 public:
  static constexpr int kQueues = 8;
  // Calls that gRPC may take for each queue before the queue's thread asks for more.
  static constexpr int kAwaited = 4;

  // Asks gRPC for the next Watch; the generated service has it.
  using Request =
      std::function<void(grpc::ServerContext*, grpc::ByteBuffer*, grpc::ServerAsyncWriter<grpc::ByteBuffer>*,
                         grpc::ServerCompletionQueue*, void* tag)>;
  // A Watch has come.
  using Begin = std::function<void(WatchStream&)>;

  explicit WatchCalls(grpc::ServerBuilder& builder);
  WatchCalls(const WatchCalls&) = delete;

  // Takes Watches from now on. REQUIRES a server that runs, and Stop after this.
  void Start(Request request, Begin begin);
  // Waits until the last stream has ended. REQUIRES a server that is shut down.
  void Stop();

  // --- Of the streams.

  // Waits for one more Watch on this queue.
  void Await(grpc::ServerCompletionQueue& queue);
  const Request& request() const { return request_; }
  const Begin& begin() const { return begin_; }
  // A stream that was awaited has gone.
  void Ended();

 private:
  static void Serve(grpc::ServerCompletionQueue& queue);

  Request request_;
  Begin begin_;
  std::vector<std::unique_ptr<grpc::ServerCompletionQueue>> queues_;
  std::vector<std::thread> threads_;

  Mutex mutex_;
  CondVar all_ended_;
  size_t streams_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace ringd::server
