#pragma once

#include <chrono>
#include <functional>

namespace ringd::ctl {

// Backoff gives the pauses between tries: twice as long each time up to a longest one, each shortened by up to a half
// at random so that many clients do not come back together. Not thread-safe.
class Backoff {
 public:
  // `random` answers numbers in [0, 1).
  Backoff(std::chrono::milliseconds first, std::chrono::milliseconds longest, std::function<double()> random);

  std::chrono::milliseconds Next();

  // Reset is called after progress: the next pause is a first one again.
  void Reset();

 private:
  const std::chrono::milliseconds first_;
  const std::chrono::milliseconds longest_;
  const std::function<double()> random_;
  std::chrono::milliseconds next_;
};

// SystemRandom is a source for Backoff, seeded by the system.
std::function<double()> SystemRandom();

}  // namespace ringd::ctl
