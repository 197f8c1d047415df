#include "server/applied_waits.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "ring/error.h"

namespace ringd::server {
namespace {

absl::Status TooManyWaits() {
  return ring::Error(
      absl::StatusCode::kResourceExhausted, ring::kLimitExceeded,
      fmt::format(
          "the changes that wait_for their watchers would be more than {}, or take more than {} bytes of memory",
          AppliedWaits::kMaxWaits, AppliedWaits::kMaxBytes));
}

absl::Status CallerGone() { return absl::CancelledError("the caller has gone"); }

}  // namespace

AppliedWaits::AppliedWaits(const Directory& directory, Watchers& watchers)
    : directory_(directory), watchers_(watchers), thread_([this] { Run(); }) {}

AppliedWaits::~AppliedWaits() { Stop(); }

absl::StatusOr<AppliedWaits::Place> AppliedWaits::Reserve(size_t bytes) {
  MutexLock lock(mutex_);
  if (reserved_.size() >= kMaxWaits || bytes_ + bytes > kMaxBytes) return TooManyWaits();
  bytes_ += bytes;
  reserved_.emplace(++places_, Reserved{.bytes = bytes});
  return places_;
}

void AppliedWaits::Release(Place place) {
  MutexLock lock(mutex_);
  const auto it = reserved_.find(place);
  bytes_ -= it->second.bytes;
  reserved_.erase(it);
}

void AppliedWaits::Begin(Place place, Want want, Done done) {
  bool cancelled = false;
  {
    MutexLock lock(mutex_);
    cancelled = reserved_.at(place).cancelled;
    if (!cancelled && !stopped_) {
      const Clock::time_point deadline = Clock::now() + want.timeout;
      news_.begun.emplace(place, Waiting{std::move(want), deadline, std::move(done)});
      waiting_++;
      changed_.NotifyOne();
      return;
    }
  }
  Release(place);
  if (cancelled) return done(CallerGone());
  done(OutcomeNow(place, want));
}

void AppliedWaits::Cancel(Place place) {
  MutexLock lock(mutex_);
  const auto it = reserved_.find(place);
  if (it == reserved_.end()) return;
  it->second.cancelled = true;
  news_.cancelled.insert(place);
  changed_.NotifyOne();
}

void AppliedWaits::Published(std::span<const std::string> rings) {
  MutexLock lock(mutex_);
  if (waiting_ == 0) return;
  news_.published.insert(rings.begin(), rings.end());
  changed_.NotifyOne();
}

void AppliedWaits::Reached(std::span<const uint64_t> places) {
  MutexLock lock(mutex_);
  news_.reached.insert(places.begin(), places.end());
  changed_.NotifyOne();
}

void AppliedWaits::Stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    news_.stopping = true;
    changed_.NotifyAll();
  }
  if (thread_.joinable()) thread_.join();
}

void AppliedWaits::Run() {
  std::map<Place, Waiting> waiting;
  bool stopping = false;
  while (!stopping) {
    Clock::time_point deadline = Clock::time_point::max();
    for (const auto& [place, one] : waiting) deadline = std::min(deadline, one.deadline);
    News news = AwaitNews(deadline);
    stopping = news.stopping;
    Follow(news.begun);
    // Each is looked at, since its share may be reached and its ring gone by now.
    for (const auto& [place, one] : news.begun) {
      news.reached.insert(place);
      news.published.insert(one.want.ring);
    }
    waiting.merge(news.begun);
    for (auto& [done, outcome] : TakeEnded(news, waiting)) done(std::move(outcome));
  }
}

AppliedWaits::News AppliedWaits::AwaitNews(Clock::time_point deadline) {
  MutexLock lock(mutex_);
  while (news_.empty() && Clock::now() < deadline) {
    if (deadline == Clock::time_point::max()) {
      changed_.Wait(mutex_);
    } else {
      changed_.WaitUntil(mutex_, deadline);
    }
  }
  return std::exchange(news_, {});
}

void AppliedWaits::Follow(const std::map<Place, Waiting>& begun) {
  std::map<std::string, AppliedTallies::OfRing> by_ring;
  for (const auto& [place, one] : begun) {
    by_ring[one.want.ring].emplace(place, AppliedTally{.version = one.want.version, .share = one.want.share});
  }
  for (const auto& [ring, tallies] : by_ring) watchers_.Follow(ring, tallies);
}

AppliedWaits::Ended AppliedWaits::TakeEnded(const News& news, std::map<Place, Waiting>& waiting) {
  Ended ended;
  const Clock::time_point now = Clock::now();
  for (auto it = waiting.begin(); it != waiting.end();) {
    auto& [place, one] = *it;
    const bool cancelled = news.cancelled.contains(place);
    const bool over = cancelled || news.stopping || one.deadline <= now ||
                      (news.published.contains(one.want.ring) && !IsThere(one.want));
    std::optional<AppliedOutcome> outcome;
    if (over || news.reached.contains(place)) {
      outcome = watchers_.Unfollow(one.want.ring, place, over ? Watchers::If::kAlways : Watchers::If::kReached);
    }
    if (!outcome.has_value()) {
      ++it;
      continue;
    }
    if (cancelled) {
      ended.emplace_back(std::move(one.done), CallerGone());
    } else {
      ended.emplace_back(std::move(one.done), *std::move(outcome));
    }
    Release(place);
    it = waiting.erase(it);
  }
  MutexLock lock(mutex_);
  waiting_ -= ended.size();
  return ended;
}

bool AppliedWaits::IsThere(const Want& want) const {
  const auto state = directory_.Find(want.ring);
  return state.ok() && (*state)->head.version.epoch == want.version.epoch;
}

AppliedOutcome AppliedWaits::OutcomeNow(Place place, const Want& want) {
  watchers_.Follow(want.ring, {{place, AppliedTally{.version = want.version, .share = want.share}}});
  AppliedOutcome outcome = *watchers_.Unfollow(want.ring, place, Watchers::If::kAlways);
  // Streams end by now, and with them those who would have to apply it.
  outcome.reached = false;
  return outcome;
}

}  // namespace ringd::server
