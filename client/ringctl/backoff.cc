#include "client/ringctl/backoff.h"

#include <algorithm>
#include <random>
#include <utility>

namespace ringd::ctl {

Backoff::Backoff(std::chrono::milliseconds first, std::chrono::milliseconds longest, std::function<double()> random)
    : first_(first), longest_(longest), random_(std::move(random)), next_(first) {}

std::chrono::milliseconds Backoff::Next() {
  const double shortened = static_cast<double>(next_.count()) * (1 - random_() / 2);
  next_ = std::min(next_ * 2, longest_);
  return std::chrono::milliseconds(static_cast<std::chrono::milliseconds::rep>(shortened));
}

void Backoff::Reset() { next_ = first_; }

std::function<double()> SystemRandom() {
  return [engine = std::mt19937_64(std::random_device()())]() mutable {
    return std::uniform_real_distribution<double>(0, 1)(engine);
  };
}

}  // namespace ringd::ctl
