// ChannelPool: the connections of all local copies of a process, so that thousands of copies are no thousands of
// connections.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <string>

#include "client/local/run_loop.h"
#include "grpcpp/channel.h"
#include "grpcpp/security/credentials.h"
#include "ring/mutex.h"

namespace ringd {

class ChannelPool {
 public:
  // Half of what a directory takes on a connection: a copy that changes its connection is on both for a while.
  static constexpr size_t kStreams = 50;

  // What makes connections be the same.
  struct Key {
    std::string endpoint;
    std::shared_ptr<grpc::ChannelCredentials> credentials;
    std::string server_name;

    bool operator==(const Key&) const = default;
  };

 private:
  struct Shared {
    Key key;
    std::shared_ptr<grpc::Channel> channel;
    size_t places = 0;
    bool retired = false;
  };

 public:
  // Room for one stream. The connection goes with its last one; until then nothing else may have the channel. REQUIRES
  // that the pool outlives it.
  class Place {
   public:
    Place(ChannelPool& pool, std::list<Shared>::iterator shared) : pool_(pool), shared_(shared) {}
    ~Place();
    Place(const Place&) = delete;

    const std::shared_ptr<grpc::Channel>& channel() const { return shared_->channel; }
    // Nobody else gets a place on this connection: it failed, or is to be left.
    void Retire();

   private:
    ChannelPool& pool_;
    const std::list<Shared>::iterator shared_;
  };

  // That of this process, which is never destroyed.
  static ChannelPool& OfProcess();

  // A place on a connection of this kind that has one, or on a new one.
  std::shared_ptr<Place> Take(const Key& key);
  size_t connections() const;

 private:
  // Destroys channels that nobody has a place on. gRPC does not bear that its last one is destroyed on a thread of its
  // own, where most places are given back.
  class Sweeper final : public RunLoop::Task {
   public:
    explicit Sweeper(ChannelPool& pool) : pool_(pool) {}
    RunLoop::Clock::time_point Run() override;

   private:
    ChannelPool& pool_;
  };

  const std::shared_ptr<Sweeper> sweeper_ = std::make_shared<Sweeper>(*this);
  mutable Mutex mutex_;
  std::list<Shared> shared_ ABSL_GUARDED_BY(mutex_);
  std::list<Shared> left_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace ringd
