#include "ringd/local_ring.h"

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "client/channel.h"
#include "client/credentials.h"
#include "client/local/lookup_counts.h"
#include "client/local/lookup_view.h"
#include "client/local/ring_copy.h"
#include "client/local/thread_cached.h"
#include "client/local/watch_call.h"
#include "client/local/watch_decoder.h"
#include "client/local/watch_machine.h"
#include "client/retry.h"
#include "proto/codec.h"
#include "proto/status_codec.h"
#include "ring/error.h"
#include "ring/mutex.h"

namespace ringd {
namespace {

using Clock = WatchMachine::Clock;

LocalRingState ToState(WatchMachine::State state) {
  switch (state) {
    case WatchMachine::State::kConnecting:
      return LocalRingState::kConnecting;
    case WatchMachine::State::kResyncing:
      return LocalRingState::kResyncing;
    case WatchMachine::State::kInSync:
      return LocalRingState::kInSync;
    case WatchMachine::State::kAbsent:
      return LocalRingState::kAbsent;
    case WatchMachine::State::kDistrusted:
      break;
  }
  return LocalRingState::kDistrusted;
}

LocalRingStatus StatusOf(const WatchMachine& machine) {
  const WatchMachine::Counts& counts = machine.counts();
  LocalRingStatus status{.state = ToState(machine.state()),
                         .problem = machine.problem(),
                         .streams = counts.streams,
                         .snapshots = counts.snapshots,
                         .changes = counts.changes,
                         .rewound = counts.rewound,
                         .checksum_mismatches = counts.checksum_mismatches,
                         .broken_order = counts.broken_order};
  if (const HeldRingPtr& held = machine.held(); held != nullptr) {
    status.version = {.epoch = held->version.epoch, .revision = held->version.revision};
  }
  return status;
}

absl::Status CheckKey(std::string_view key) {
  return key.empty() ? ring::InvalidField("key is empty; a key is required") : absl::OkStatus();
}

// What a call tells of a node.
Node ToNode(Owner owner) {
  return {.id = std::move(owner.id), .address = std::move(owner.address), .zone = std::move(owner.zone)};
}

absl::Status CheckOwners(size_t owners) {
  if (owners >= 1 && owners <= ring::Ring::kMaxOwners) return absl::OkStatus();
  return ring::InvalidField("owners " + std::to_string(owners) + " is not within 1 and 64");
}

// Why a key has no place. REQUIRES that keys.CanPlace(key) says so.
absl::Status NoPlace(const ring::KeyPlace& keys, std::string_view key) {
  return ring::InvalidField("key " + ring::Quote(key) +
                            (keys.has_hash() ? " is no UTF-8, which the ring's hash reads"
                                             : " cannot be looked up, since the hash of a ring of points is not known "
                                               "here; ask for a position"));
}

}  // namespace

// The thread, the streams, and what lookups see.
class LocalRing::Driver {
 public:
  Driver(std::string_view ring, LocalRingOptions options, std::unique_ptr<Credentials> credentials,
         std::unique_ptr<Client> client)
      : ring_(ring),
        options_(std::move(options)),
        credentials_(std::move(credentials)),
        client_(std::move(client)),
        machine_({.silence = kSilence}, SystemRandom(), Clock::now()) {
    Publish();
    thread_ = std::thread([this] { Run(); });
  }

  ~Driver() {
    {
      const MutexLock lock(mutex_);
      stopping_ = true;
    }
    wake_.NotifyOne();
    thread_.join();
  }

  const std::string& ring() const { return ring_; }

  // Valid until the thread that asks does so again.
  ThreadView& view() const { return view_.Get(); }
  std::shared_ptr<const LookupView> SharedView() const { return view_.Share(); }

  LocalRingLookups lookups() const {
    const std::shared_ptr<const RingCopy> copy = SharedView()->copy;
    LookupCounts::Sums sums = counts_->Read(copy == nullptr ? LookupCounts::OfNodes() : *copy->parts().counts);
    return {.ring = sums.ring, .copy = copy, .nodes = std::move(sums.nodes)};
  }

  // What a lookup answers where `view` has no owners. `call` asks the directory; its owners live until this thread's
  // next lookup of this ring.
  template <class Call>
  absl::StatusOr<size_t> OwnersWithoutCopy(const LookupView& view, std::span<const Node*> out, Call call) const {
    if (view.state != LocalRingState::kDistrusted) return NoOwner(view);
    thread_local std::map<const Driver*, std::vector<Node>> answers;
    called_lookups_.fetch_add(1, std::memory_order_relaxed);
    absl::StatusOr<LookupResult> result = call(*client_, LookupOptions{.owners = static_cast<uint32_t>(out.size())});
    if (!result.ok()) return result.status();
    std::vector<Node>& nodes = answers[this];
    nodes.clear();
    for (auto& owner : result->owners) nodes.push_back(ToNode(std::move(owner)));
    for (size_t i = 0; i < nodes.size(); ++i) out[i] = &nodes[i];
    return nodes.size();
  }

  // The same of many keys, whose owner each is wanted.
  absl::Status OwnersOfWithoutCopy(const LookupView& view, std::span<const std::string_view> keys,
                                   std::span<const Node*> out) const {
    if (view.state != LocalRingState::kDistrusted) return NoOwner(view);
    constexpr size_t kAtOnce = 10'000;
    // By batch, as `out` points to them.
    thread_local std::map<const Driver*, std::vector<std::vector<Node>>> answers;
    std::vector<std::vector<Node>>& batches = answers[this];
    batches.clear();
    for (size_t first = 0; first < keys.size(); first += kAtOnce) {
      const auto batch = keys.subspan(first, std::min(kAtOnce, keys.size() - first));
      called_lookups_.fetch_add(batch.size(), std::memory_order_relaxed);
      absl::StatusOr<BatchLookupResult> result = client_->BatchLookup(ring_, batch);
      if (!result.ok()) return result.status();
      std::vector<Node>& nodes = batches.emplace_back();
      nodes.reserve(result->nodes.size());
      for (auto& node : result->nodes) nodes.push_back(ToNode(std::move(node)));
      for (size_t i = 0; i < batch.size(); ++i) out[first + i] = &nodes[result->owners(i).front()];
    }
    return absl::OkStatus();
  }

  // Why `view` has no owner.
  absl::Status NoOwner(const LookupView& view) const {
    if (view.copy == nullptr) return view.problem;
    return ring::Error(absl::StatusCode::kFailedPrecondition, ring::kRingEmpty,
                       "ring " + ring::Quote(ring_) + " has no node of weight > 0" +
                           (view.copy->parts().held->ring.total_weight() > 0 ? " with a point" : ""));
  }

  absl::Status WaitReady(std::chrono::milliseconds timeout) const {
    const auto until = Clock::now() + timeout;
    const MutexLock lock(mutex_);
    while (status_.version == Version() && status_.state != LocalRingState::kDistrusted) {
      if (Clock::now() >= until) return status_.problem;
      published_.WaitUntil(mutex_, until);
    }
    return absl::OkStatus();
  }

  LocalRingStatus status() const {
    credentials_->Renew();
    const MutexLock lock(mutex_);
    LocalRingStatus status = status_;
    status.tls_problem = credentials_->problem();
    status.called_lookups = called_lookups_.load(std::memory_order_relaxed);
    if (current_at_ != Clock::time_point::min()) {
      status.age = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - current_at_);
    }
    return status;
  }

 private:
  struct Message {
    WatchCall* call;
    WatchCall::Happening what;
  };

  // --- The thread

  void Run() {
    while (true) {
      const std::optional<Message> message = NextMessage();
      if (stopping_now_) break;
      if (message.has_value()) {
        Take(*message);
      } else {
        Do(machine_.Woken(Clock::now()));
      }
      Publish();
    }
    for (const auto& [call, owned] : calls_) call->Cancel();
    current_ = nullptr;
    while (!calls_.empty()) Take(*NextMessage());
  }

  // The next message; nothing when the machine wants to be woken or the copy is being destroyed. After that it waits
  // for a message, however long it takes.
  std::optional<Message> NextMessage() {
    const MutexLock lock(mutex_);
    while (inbox_.empty()) {
      if (stopping_now_) {
        wake_.Wait(mutex_);
      } else if (stopping_) {
        stopping_now_ = true;
        return std::nullopt;
      } else if (!wake_.WaitUntil(mutex_, machine_.wake_at())) {
        return std::nullopt;
      }
    }
    Message message = std::move(inbox_.front());
    inbox_.pop_front();
    return message;
  }

  void Take(const Message& message) {
    const bool current = message.call == current_;
    if (const auto* done = std::get_if<WatchCall::Done>(&message.what)) {
      calls_.erase(message.call);
      if (!current) return;
      current_ = nullptr;
      endpoint_ = (endpoint_ + 1) % options_.directory.endpoints.size();
      machine_.Ended(FromGrpc(Understood(done->status)), Clock::now());
    } else {
      if (current) Do(machine_.Received(Decode(message.call->response()), Clock::now()));
      message.call->Next();
    }
  }

  void Do(const WatchMachine::Actions& actions) {
    if (actions.close && current_ != nullptr) {
      current_->Cancel();
      current_ = nullptr;
    }
    if (actions.open) Open();
  }

  void Open() {
    v1::WatchRequest request;
    request.mutable_selector()->mutable_names()->add_rings(ring_);
    if (const HeldRingPtr& held = machine_.position(); held != nullptr) {
      v1::HeldRing* out = request.add_held();
      out->set_ring(ring_);
      ToProto(held->version, out->mutable_position()->mutable_version());
      ToProto(held->ring.checksum(), out->mutable_position()->mutable_checksum());
    }
    const std::optional<TlsFiles>& tls = options_.directory.tls;
    credentials_->Renew();
    const auto channel = NewChannel(options_.directory.endpoints[endpoint_], credentials_->current(),
                                    tls.has_value() ? tls->server_name : "");
    auto call = std::make_unique<WatchCall>(v1::Directory::NewStub(channel), std::move(request),
                                            [this](WatchCall* from, WatchCall::Happening what) {
                                              const MutexLock lock(mutex_);
                                              inbox_.push_back({from, std::move(what)});
                                              wake_.NotifyOne();
                                            });
    current_ = call.get();
    calls_.emplace(current_, std::move(call));
  }

  // Shows the machine's state to lookups and to whoever waits for it.
  void Publish() {
    LocalRingStatus status = StatusOf(machine_);
    if (status.state == LocalRingState::kAbsent) {
      status.problem = ring::Error(absl::StatusCode::kNotFound, "RING_NOT_FOUND",
                                   "ring " + ring::Quote(ring_) + " does not exist; the copy waits for it");
    }
    const std::shared_ptr<const LookupView> before = view_.Share();
    const bool changed = machine_.held() != shown_ || status.state != before->state;
    if (changed || status.problem != before->problem) {
      auto view = std::make_shared<LookupView>(
          LookupView{.state = status.state, .problem = status.problem, .copy = before->copy, .counts = counts_});
      if (machine_.held() == nullptr) {
        view->copy = nullptr;
      } else if (machine_.held() != shown_) {
        view->copy = MakeCopy(machine_.held(), before->copy.get());
      }
      view_.Set(std::move(view));
      shown_ = machine_.held();
    }
    {
      const MutexLock lock(mutex_);
      status_ = std::move(status);
      current_at_ = machine_.current_at();
    }
    published_.NotifyAll();
    if (changed && options_.on_change) options_.on_change(this->status());
  }

  const std::string ring_;
  const LocalRingOptions options_;
  const std::unique_ptr<Credentials> credentials_;
  const std::unique_ptr<Client> client_;

  const std::shared_ptr<LookupCounts> counts_ = std::make_shared<LookupCounts>();
  mutable std::atomic<uint64_t> called_lookups_ = 0;
  ThreadCached<LookupView, ThreadView> view_{std::make_shared<LookupView>()};

  // Of the thread alone.
  WatchMachine machine_;
  HeldRingPtr shown_;  // of which view_ has a copy
  bool stopping_now_ = false;
  size_t endpoint_ = 0;
  WatchCall* current_ = nullptr;
  std::map<WatchCall*, std::unique_ptr<WatchCall>> calls_;  // the current one, and cancelled ones that are not done

  mutable Mutex mutex_;
  CondVar wake_;
  mutable CondVar published_;
  std::deque<Message> inbox_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  LocalRingStatus status_ ABSL_GUARDED_BY(mutex_);
  Clock::time_point current_at_ ABSL_GUARDED_BY(mutex_) = Clock::time_point::min();

  std::thread thread_;
};

absl::StatusOr<std::unique_ptr<LocalRing>> LocalRing::Start(std::string_view ring, LocalRingOptions options) {
  if (ring.empty()) return ring::InvalidField("ring is empty; a ring name is required");
  auto credentials = Credentials::Load(options.directory.tls);
  if (!credentials.ok()) return credentials.status();
  auto client = Client::Connect(options.directory);
  if (!client.ok()) return client.status();
  return std::unique_ptr<LocalRing>(
      new LocalRing(std::make_unique<Driver>(ring, std::move(options), *std::move(credentials), *std::move(client))));
}

LocalRing::LocalRing(std::unique_ptr<Driver> driver) : driver_(std::move(driver)) {}
LocalRing::~LocalRing() = default;

absl::Status LocalRing::WaitReady(std::chrono::milliseconds timeout) const { return driver_->WaitReady(timeout); }

const Node* LocalRing::OwnerInCopy(std::string_view key) const {
  ThreadView& view = driver_->view();
  if (!view.HasOwners() || key.empty() || !view.keys().CanPlace(key)) [[unlikely]]
    return nullptr;
  return view.Owner(key);
}

absl::StatusOr<const Node*> LocalRing::OwnerWithoutCopy(std::string_view key) const {
  const Node* owner = nullptr;
  if (const absl::StatusOr<size_t> found = Owners(key, std::span(&owner, 1)); !found.ok()) return found.status();
  return owner;
}

absl::Status LocalRing::OwnersOf(std::span<const std::string_view> keys, std::span<const Node*> out) const {
  if (out.size() != keys.size()) {
    return ring::InvalidField("out has " + std::to_string(out.size()) + " places for " + std::to_string(keys.size()) +
                              " keys");
  }
  ThreadView& view = driver_->view();
  const auto has_no_place = [&view](std::string_view key) {
    return key.empty() || (view.HasOwners() && !view.keys().CanPlace(key));
  };
  if (const auto bad = std::find_if(keys.begin(), keys.end(), has_no_place); bad != keys.end()) [[unlikely]] {
    return ring::Prefixed("keys[" + std::to_string(bad - keys.begin()) + "]: ",
                          bad->empty() ? CheckKey(*bad) : NoPlace(view.keys(), *bad));
  }
  if (!view.HasOwners()) return driver_->OwnersOfWithoutCopy(view.shared(), keys, out);
  view.OwnersOf(keys, out);
  return absl::OkStatus();
}

absl::StatusOr<size_t> LocalRing::Owners(std::string_view key, std::span<const Node*> out) const {
  if (absl::Status status = CheckKey(key); !status.ok()) return status;
  if (absl::Status status = CheckOwners(out.size()); !status.ok()) return status;
  ThreadView& view = driver_->view();
  if (view.HasOwners()) {
    if (view.keys().CanPlace(key)) return view.Owners(key, out);
    return NoPlace(view.keys(), key);
  }
  return driver_->OwnersWithoutCopy(view.shared(), out, [&](const Client& client, const LookupOptions& options) {
    return client.Lookup(driver_->ring(), key, options);
  });
}

absl::StatusOr<size_t> LocalRing::OwnersAt(uint64_t position, std::span<const Node*> out) const {
  if (absl::Status status = CheckOwners(out.size()); !status.ok()) return status;
  ThreadView& view = driver_->view();
  if (view.HasOwners()) {
    const uint64_t last = view.keys().circle().last_value();
    if (position <= last) return view.OwnersAt(position, out);
    return ring::InvalidField("position " + std::to_string(position) + " is beyond the circle's last, " +
                              std::to_string(last));
  }
  return driver_->OwnersWithoutCopy(view.shared(), out, [&](const Client& client, const LookupOptions& options) {
    return client.LookupPosition(driver_->ring(), position, options);
  });
}

std::shared_ptr<const RingCopy> LocalRing::Copy() const { return driver_->SharedView()->copy; }

const std::string& LocalRing::ring() const { return driver_->ring(); }

LocalRingStatus LocalRing::status() const { return driver_->status(); }

LocalRingLookups LocalRing::lookups() const { return driver_->lookups(); }

}  // namespace ringd
