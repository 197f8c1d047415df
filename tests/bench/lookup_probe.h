// Lookups by a process of its own, so that they do not share the threads of a client that is busy otherwise.
#pragma once

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "grpcpp/client_context.h"
#include "ringd/v1/directory.grpc.pb.h"
#include "tests/bench/bench_ring.h"
#include "tests/bench/countdown.h"

namespace ringd::bench {

// A Lookup: when it began, by the clock that all processes share, and what it took.
struct Sample {
  int64_t began;
  int64_t nanos;
};

inline int64_t Nanos(Clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

// Lookups one after the other until stdin ends; then prints them.
inline int RunProbe(const std::string& ringd) {
  std::atomic<bool> stop = false;
  std::thread until_stdin_ends([&] {
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    stop = true;
  });
  const auto stub = v1::Directory::NewStub(Connect(ringd, 0));
  v1::LookupRequest request;
  request.set_ring(kRing);
  request.set_key("user:123456");
  std::vector<Sample> samples;
  while (!stop) {
    v1::LookupResponse response;
    grpc::ClientContext context;
    const auto begin = Clock::now();
    Check(stub->Lookup(&context, request, &response), "Lookup");
    samples.push_back({Nanos(begin), Nanos(Clock::now()) - Nanos(begin)});
    if (samples.size() == 1) {
      std::printf("ready\n");
      std::fflush(stdout);
    }
  }
  for (const Sample& sample : samples) std::printf("%ld %ld\n", sample.began, sample.nanos);
  until_stdin_ends.join();
  return 0;
}

// This program with the argument `probe`, which is to call RunProbe.
class Probe {
 public:
  // Its first Lookup has been answered.
  explicit Probe(const std::string& ringd) {
    int to[2], from[2];
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) std::_Exit(1);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    std::string words[] = {"watch_bench", "probe", ringd};
    char* argv[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
    if (posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv, environ) != 0) std::_Exit(1);
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    stdin_ = to[1];
    stdout_ = fdopen(from[0], "r");
    char ready[8];
    if (std::fgets(ready, sizeof ready, stdout_) == nullptr) std::_Exit(1);
  }

  // Ends it and tells what it has seen.
  std::vector<Sample> End() {
    close(stdin_);
    std::vector<Sample> samples;
    for (Sample sample; std::fscanf(stdout_, "%ld %ld", &sample.began, &sample.nanos) == 2;) samples.push_back(sample);
    std::fclose(stdout_);
    waitpid(pid_, nullptr, 0);
    return samples;
  }

 private:
  pid_t pid_ = 0;
  int stdin_ = -1;
  FILE* stdout_ = nullptr;
};

// Milliseconds of the 99th percentile of what was under way between two times.
inline double P99(const std::vector<Sample>& samples, Clock::time_point first, Clock::time_point last) {
  std::vector<int64_t> times;
  for (const Sample& sample : samples) {
    if (sample.began + sample.nanos > Nanos(first) && sample.began < Nanos(last)) times.push_back(sample.nanos);
  }
  if (times.empty()) {
    std::fprintf(stderr, "the probe asked nothing in that time\n");
    std::_Exit(1);
  }
  std::sort(times.begin(), times.end());
  return static_cast<double>(times[times.size() * 99 / 100]) / 1e6;
}

}  // namespace ringd::bench
