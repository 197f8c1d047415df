// A closed loop of asynchronous calls: a fixed number in flight, each followed by the next as soon as it is answered.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "grpcpp/client_context.h"
#include "grpcpp/support/status.h"

namespace ringd::bench {

// Runs `start(context, request, response, done)` with `in_flight` calls at a time for `time`, and returns calls per
// second. Leaves the process when a call fails: a figure of failing calls is worth nothing.
template <class Request, class Response>
double CallsPerSecond(int in_flight, std::chrono::milliseconds time, const Request& request,
                      const std::function<void(int slot, grpc::ClientContext*, const Request*, Response*,
                                               std::function<void(grpc::Status)>)>& start) {
  struct Slot {
    std::unique_ptr<grpc::ClientContext> context;
    Response response;
  };
  std::vector<Slot> slots(in_flight);
  std::atomic<bool> stop = false;
  std::atomic<long> calls = 0;
  std::mutex mutex;
  std::condition_variable ended;
  int running = in_flight;

  std::function<void(int)> next = [&](int i) {
    Slot& slot = slots[i];
    slot.context = std::make_unique<grpc::ClientContext>();
    start(i, slot.context.get(), &request, &slot.response, [&, i](const grpc::Status& status) {
      if (!status.ok()) {
        std::fprintf(stderr, "a call failed: %s\n", status.error_message().c_str());
        std::exit(1);
      }
      calls++;
      if (!stop) return next(i);
      std::lock_guard<std::mutex> lock(mutex);
      if (--running == 0) ended.notify_all();
    });
  };
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < in_flight; i++) next(i);
  std::unique_lock<std::mutex> lock(mutex);
  ended.wait_for(lock, time);
  const long counted = calls;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  stop = true;
  ended.wait(lock, [&] { return running == 0; });
  return static_cast<double>(counted) / took.count();
}

}  // namespace ringd::bench
