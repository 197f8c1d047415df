#include "client/backoff.h"

#include <algorithm>
#include <random>
#include <utility>

namespace ringd {

Backoff::Backoff(const Policy& policy, std::function<double()> random)
    : policy_(policy), random_(std::move(random)), next_millis_(static_cast<double>(policy.first.count())) {}

std::chrono::milliseconds Backoff::Next() {
  const double pause = next_millis_ * (1 - random_() * policy_.jitter);
  next_millis_ = std::min(next_millis_ * policy_.factor, static_cast<double>(policy_.longest.count()));
  return std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(pause));
}

void Backoff::Reset() { next_millis_ = static_cast<double>(policy_.first.count()); }

std::function<double()> SystemRandom() {
  return [engine = std::mt19937_64(std::random_device()())]() mutable {
    return std::uniform_real_distribution<double>(0, 1)(engine);
  };
}

}  // namespace ringd
