// Backoff: the pauses between tries. Each is `factor` times as long as the one before, up to a longest one, and is
// shortened by up to `jitter` of itself at random, so that many clients do not come back together.
//
// Not thread-safe.
#pragma once

#include <chrono>
#include <functional>

namespace ringd {

class Backoff {
 public:
  struct Policy {
    std::chrono::milliseconds first;
    std::chrono::milliseconds longest;
    double factor = 2;
    double jitter = 0.5;
  };

  // `random` answers numbers in [0, 1).
  Backoff(const Policy& policy, std::function<double()> random);

  std::chrono::milliseconds Next();

  // After progress: the next pause is a first one again.
  void Reset();

 private:
  const Policy policy_;
  const std::function<double()> random_;
  double next_millis_;
};

// A source for Backoff, seeded by the system. Not thread-safe.
std::function<double()> SystemRandom();

}  // namespace ringd
