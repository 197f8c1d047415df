// DirectoryServer: the service, the writer and the directory on a memory store, in this process and without gRPC. Its
// clock, its epochs and the moods of its store are the test's.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "server/directory_service.h"
#include "server/memory_store.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/shared.h"

namespace ringd::server {

// What gRPC is to the reactor of a call, which can be a call's own or its context's.
class AnsweredCall final : public grpc::ServerCallbackUnary {
 public:
  explicit AnsweredCall(grpc::ServerUnaryReactor* reactor) : reactor_(reactor) { BindReactor(reactor_); }

  grpc::Status Await() {
    grpc::Status status = *answer_.Await([](const auto& answer) { return answer.has_value(); });
    reactor_->OnDone();
    return status;
  }

  // From any thread, as soon as the reactor is bound.
  void Finish(grpc::Status status) override {
    answer_.Update([&](auto& answer) {
      fuzz::Check(!answer.has_value(), "a call is answered once");
      answer = std::move(status);
    });
  }
  void SendInitialMetadata() override {}

 private:
  grpc::internal::ServerReactor* reactor() override { return reactor_; }
  void CallOnDone() override {}

  grpc::ServerUnaryReactor* const reactor_;
  support::Shared<std::optional<grpc::Status>> answer_;
};

class DirectoryServer {
 public:
  template <class Request, class Response>
  using Handler = grpc::ServerUnaryReactor* (DirectoryService::*)(grpc::CallbackServerContext*, const Request*,
                                                                  Response*);

  // Small limits, so that short inputs meet them.
  static constexpr ring::Limits kRingLimits{.max_nodes = 12, .max_points = 1'024};
  static constexpr size_t kMaxRings = 3;
  static constexpr uint32_t kHistory = 4;
  static constexpr RequestLimits kRequestLimits{
      .max_key_bytes = 64, .max_batch_keys = 16, .max_operations = 8, .max_watched_rings = 4};

  DirectoryServer() { Start(); }
  DirectoryServer(const DirectoryServer&) = delete;

  // As if the process had been killed, and started anew on the same store.
  void Restart() {
    service_.reset();
    writes_.reset();
    applied_waits_.reset();
    watchers_.reset();
    waits_.reset();
    directory_.reset();
    Start();
  }

  template <class Request, class Response>
  grpc::Status Call(Handler<Request, Response> handler, const Request& request, Response* response) {
    grpc::CallbackServerContext context;
    AnsweredCall call(((*service_).*handler)(&context, &request, response));
    return call.Await();
  }

  const Directory& directory() const { return *directory_; }
  Store& store() { return store_; }
  // What was published since this was last asked.
  std::vector<std::string> TakePublished() { return std::exchange(published_, {}); }

  void RefuseNextCommit(absl::StatusCode code) { refuse_next_ = absl::Status(code, "the store refuses"); }
  void Pass(absl::Duration time) { now_ += time; }

 private:
  void Start() {
    DirectoryOptions options{.ring_limits = kRingLimits, .max_rings = kMaxRings, .history_max = kHistory};
    options.clock = [this] { return now_; };
    options.random = [] { return 0; };
    options.on_published = [this](std::span<const std::string> rings) {
      published_.insert(published_.end(), rings.begin(), rings.end());
    };
    auto opened = Directory::Open(store_, std::move(options));
    fuzz::Check(opened.ok(), "what was stored is loaded", opened.status().ToString());
    directory_ = *std::move(opened);
    waits_ = std::make_unique<VersionWaits>(*directory_);
    waits_->Stop();  // a version that is not there is UNAVAILABLE at once
    writes_ = std::make_unique<WriteQueue>(*directory_);
    // Streams are opened without it.
    static MemoryStore unused_store;
    static WatchHub unused_hub(unused_store, {});
    // Nobody has a name, so that a wait for watchers is over at once.
    watchers_ = std::make_unique<Watchers>(*directory_, Watchers::Options());
    applied_waits_ = std::make_unique<AppliedWaits>(*directory_, *watchers_);
    service_ = std::make_unique<DirectoryService>(*directory_, *writes_, *waits_, *applied_waits_, unused_hub,
                                                  *watchers_, authorizer_, kRequestLimits);
  }

  absl::Time now_ = absl::FromUnixSeconds(1'700'000'000);
  absl::Status refuse_next_;
  std::vector<std::string> published_;
  MemoryStore store_{[this](const std::vector<Write>&) { return std::exchange(refuse_next_, absl::OkStatus()); }};
  const Authorizer authorizer_{{}};
  std::unique_ptr<Directory> directory_;
  std::unique_ptr<VersionWaits> waits_;
  std::unique_ptr<Watchers> watchers_;
  std::unique_ptr<AppliedWaits> applied_waits_;
  std::unique_ptr<WriteQueue> writes_;
  std::unique_ptr<DirectoryService> service_;
};

}  // namespace ringd::server
