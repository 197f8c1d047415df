#include "client/local/channel_pool.h"

#include <algorithm>

#include "client/channel.h"

namespace ringd {

ChannelPool& ChannelPool::OfProcess() {
  static auto* const pool = new ChannelPool;
  return *pool;
}

std::shared_ptr<ChannelPool::Place> ChannelPool::Take(const Key& key) {
  const MutexLock lock(mutex_);
  auto shared = std::find_if(shared_.begin(), shared_.end(), [&key](const Shared& candidate) {
    return !candidate.retired && candidate.places < kStreams && candidate.key == key;
  });
  if (shared == shared_.end()) {
    shared_.push_front({.key = key, .channel = NewChannel(key.endpoint, key.credentials, key.server_name)});
    shared = shared_.begin();
  }
  shared->places++;
  return std::make_shared<Place>(*this, shared);
}

size_t ChannelPool::connections() const {
  const MutexLock lock(mutex_);
  return shared_.size();
}

ChannelPool::Place::~Place() {
  {
    const MutexLock lock(pool_.mutex_);
    if (--shared_->places > 0) return;
    pool_.left_.splice(pool_.left_.begin(), pool_.shared_, shared_);
  }
  RunLoop::OfProcess().Wake(pool_.sweeper_);
}

RunLoop::Clock::time_point ChannelPool::Sweeper::Run() {
  std::list<Shared> left;  // destroyed without the lock
  const MutexLock lock(pool_.mutex_);
  left.swap(pool_.left_);
  return RunLoop::Clock::time_point::max();
}

void ChannelPool::Place::Retire() {
  const MutexLock lock(pool_.mutex_);
  shared_->retired = true;
}

}  // namespace ringd
