#include "ringd/local_ring.h"

#include <algorithm>
#include <map>
#include <utility>

#include "client/credentials.h"
#include "client/local/copy_driver.h"
#include "client/local/fork.h"
#include "client/local/lookup_view.h"
#include "client/local/ring_copy.h"
#include "ring/error.h"
#include "ring/utf8.h"

namespace ringd {
namespace {

absl::Status CheckKey(std::string_view key) {
  return key.empty() ? ring::InvalidField("key is empty; a key is required") : absl::OkStatus();
}

// What a call tells of a node.
Node ToNode(Owner owner) {
  return {.id = std::move(owner.id), .address = std::move(owner.address), .zone = std::move(owner.zone)};
}

absl::Status CheckWatcher(std::string_view name) {
  constexpr size_t kMost = 255;
  if (name.size() > kMost) {
    return ring::InvalidField("watcher " + ring::Quote(name) + " has " + std::to_string(name.size()) +
                              " bytes, the limit is 255");
  }
  for (std::string_view rest = name; !rest.empty();) {
    const ring::Utf8Char first = ring::ReadUtf8(rest);
    if (!first.valid) return ring::InvalidField("watcher " + ring::Quote(name) + " is no UTF-8");
    if (ring::IsControl(first.code)) {
      return ring::InvalidField("watcher " + ring::Quote(name) + " has control characters");
    }
    rest.remove_prefix(first.length);
  }
  return absl::OkStatus();
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

// The copy, and the calls that take its place where it has none.
class LocalRing::Driver final : public CopyDriver {
 public:
  Driver(std::string_view ring, LocalRingOptions options, std::shared_ptr<Credentials> credentials,
         std::unique_ptr<Client> client)
      : CopyDriver(ring, std::move(options), std::move(credentials)), client_(std::move(client)) {}

  // What a lookup answers where `view` has no owners. `call` asks the directory; its owners live until this thread's
  // next lookup of this ring.
  template <class Call>
  absl::StatusOr<size_t> OwnersWithoutCopy(const LookupView& view, std::span<const Node*> out, Call call) const {
    if (absl::Status status = CheckCalls(view); !status.ok()) return status;
    thread_local std::map<const Driver*, std::vector<Node>> answers;
    CountCalled(1);
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
    if (absl::Status status = CheckCalls(view); !status.ok()) return status;
    constexpr size_t kAtOnce = 10'000;
    // By batch, as `out` points to them.
    thread_local std::map<const Driver*, std::vector<std::vector<Node>>> answers;
    std::vector<std::vector<Node>>& batches = answers[this];
    batches.clear();
    for (size_t first = 0; first < keys.size(); first += kAtOnce) {
      const auto batch = keys.subspan(first, std::min(kAtOnce, keys.size() - first));
      CountCalled(batch.size());
      absl::StatusOr<BatchLookupResult> result = client_->BatchLookup(ring(), batch);
      if (!result.ok()) return result.status();
      std::vector<Node>& nodes = batches.emplace_back();
      nodes.reserve(result->nodes.size());
      for (auto& node : result->nodes) nodes.push_back(ToNode(std::move(node)));
      for (size_t i = 0; i < batch.size(); ++i) out[first + i] = &nodes[result->owners(i).front()];
    }
    return absl::OkStatus();
  }

 private:
  // OK where calls take the place of the copy; else why it has no owner.
  absl::Status CheckCalls(const LookupView& view) const {
    if (view.state == LocalRingState::kDistrusted) return forked() ? status().problem : absl::OkStatus();
    if (view.copy == nullptr) return view.problem;
    return ring::Error(absl::StatusCode::kFailedPrecondition, ring::kRingEmpty,
                       "ring " + ring::Quote(ring()) + " has no node of weight > 0" +
                           (view.copy->parts().held->ring.total_weight() > 0 ? " with a point" : ""));
  }

  const std::unique_ptr<Client> client_;
};

absl::StatusOr<std::unique_ptr<LocalRing>> LocalRing::Start(std::string_view ring, LocalRingOptions options) {
  if (ring.empty()) return ring::InvalidField("ring is empty; a ring name is required");
  if (absl::Status status = CheckWatcher(options.watcher); !status.ok()) return status;
  if (ForkLocks::Generation() > 0) {
    return absl::FailedPreconditionError("this process was forked from one that has local copies, without an exec");
  }
  auto credentials = Credentials::Shared(options.directory.tls);
  if (!credentials.ok()) return credentials.status();
  auto client = Client::Connect(options.directory);
  if (!client.ok()) return client.status();
  auto driver = std::make_shared<Driver>(ring, std::move(options), *std::move(credentials), *std::move(client));
  driver->Start();
  return std::unique_ptr<LocalRing>(new LocalRing(std::move(driver)));
}

LocalRing::LocalRing(std::shared_ptr<Driver> driver) : driver_(std::move(driver)) {}

LocalRing::~LocalRing() {
  if (driver_->forked()) {
    // What gRPC has under way here ends with the process; its threads are the parent's.
    static auto* const left = new std::vector<std::shared_ptr<Driver>>;
    left->push_back(driver_);
  } else {
    driver_->Stop();
  }
}

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

const RingCopy* LocalRing::ThreadCopy() const { return driver_->view().shared().copy.get(); }

const std::string& LocalRing::ring() const { return driver_->ring(); }

LocalRingStatus LocalRing::status() const { return driver_->status(); }

LocalRingLookups LocalRing::lookups() const { return driver_->lookups(); }

}  // namespace ringd
