#include "ringd/client.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <random>
#include <thread>
#include <utility>

#include "client/channel.h"
#include "client/credentials.h"
#include "client/messages.h"
#include "client/retry.h"
#include "client/wire_check.h"
#include "proto/status_codec.h"
#include "ring/error.h"
#include "ring/mutex.h"
#include "ringd/v1/directory.grpc.pb.h"

namespace ringd {
namespace {

using std::chrono::milliseconds;

// A ring that changes while its pages are read is read anew, this often.
constexpr int kReadings = 5;
// The directory answers no larger ones.
constexpr size_t kLargestPage = 10'000;

std::string NewRequestId() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::random_device random;
  std::string id = "client-";
  for (int i = 0; i < 4; ++i) {
    uint32_t bits = random();
    for (int digit = 0; digit < 8; ++digit, bits >>= 4) id += kDigits[bits & 0xf];
  }
  return id;
}

template <class Request>
Request NewRequest(std::string_view ring) {
  Request request;
  request.set_ring(ring.data(), ring.size());
  return request;
}

template <class Request>
void SetReadOptions(const LookupOptions& options, Request& request) {
  request.set_owners(options.owners);
  if (options.min_version.has_value()) ToMessage(*options.min_version, request.mutable_min_version());
}

}  // namespace

std::string ErrorReason(const absl::Status& status) { return ring::ReasonOf(status); }

// The calls of a client.
class Client::Calls {
 public:
  Calls(ClientOptions options, std::shared_ptr<Credentials> credentials)
      : options_(std::move(options)), credentials_(std::move(credentials)) {}

  const ClientOptions& options() const { return options_; }

  absl::Status TlsProblem() {
    credentials_->Renew();
    return credentials_->problem();
  }

  template <class Request, class Response>
  using Method = grpc::Status (v1::Directory::Stub::*)(grpc::ClientContext*, const Request&, Response*);

  template <class Request, class Response>
  absl::StatusOr<Response> Call(Method<Request, Response> method, const Request& request, milliseconds timeout) {
    Response response;
    const absl::Status status = Try(request, timeout, [&](v1::Directory::Stub& stub, grpc::ClientContext& context) {
      response.Clear();
      return (stub.*method)(&context, request, &response);
    });
    if (!status.ok()) return status;
    return response;
  }

  // Of an answer of many messages, which come as one: its lists have what all of them had.
  template <class Request, class Response>
  absl::StatusOr<Response> Collect(std::unique_ptr<grpc::ClientReader<Response>> (v1::Directory::Stub::*method)(
                                       grpc::ClientContext*, const Request&),
                                   const Request& request, milliseconds timeout) {
    Response joined;
    const absl::Status status = Try(request, timeout, [&](v1::Directory::Stub& stub, grpc::ClientContext& context) {
      joined.Clear();
      const auto reader = (stub.*method)(&context, request);
      for (Response part; reader->Read(&part);) joined.MergeFrom(part);
      return reader->Finish();
    });
    if (!status.ok()) return status;
    return joined;
  }

  // `request` has the ring and what is looked up.
  absl::StatusOr<LookupResult> Lookup(v1::LookupRequest& request, const LookupOptions& options) {
    SetReadOptions(options, request);
    const auto response = Call(&v1::Directory::Stub::Lookup, request, options_.lookup_timeout);
    if (!response.ok()) return response.status();
    return ToValue(*response, options.owners);
  }

  template <class Request, class Response>
  absl::StatusOr<MutationResult> Change(Method<Request, Response> method, Request request,
                                        const MutationOptions& options) {
    ToMessage(options, request.mutable_options());
    if (options.request_id.empty()) request.mutable_options()->set_request_id(NewRequestId());
    const milliseconds waits = options.wait_for.has_value() ? options.wait_for->timeout : milliseconds(0);
    const absl::StatusOr<Response> response = Call(method, request, options_.change_timeout + waits);
    if (!response.ok()) return response.status();
    MutationResult result{.version = ToValue(response->version()), .movement = ToValue(response->movement())};
    if constexpr (requires { response->previous_version(); }) {
      result.previous_version = ToValue(response->previous_version());
    }
    if constexpr (requires { response->warnings(); }) {
      result.warnings.assign(response->warnings().begin(), response->warnings().end());
    }
    if (response->has_plan()) result.plan = ToValue(response->plan());
    if (response->has_wait_result()) result.waited = ToValue(response->wait_result());
    return result;
  }

 private:
  // Calls `attempt`, which sends the request, until it has an outcome; see Retry.
  template <class Attempt>
  absl::Status Try(const google::protobuf::Message& request, milliseconds timeout, Attempt attempt) {
    if (grpc::Status unfit = CheckWire(request); !unfit.ok()) return FromGrpc(unfit);
    const auto deadline = Retry::Clock::now() + timeout;
    const auto system_deadline = std::chrono::system_clock::now() + timeout;
    Retry retry(deadline, SystemRandom());
    while (true) {
      const std::shared_ptr<const Channels> channels = CurrentChannels();
      const size_t current = current_;
      grpc::ClientContext context;
      context.set_deadline(system_deadline);
      const grpc::Status status = Understood(attempt(*channels->stubs[current], context));
      if (status.ok()) return absl::OkStatus();
      const auto pause = retry.After(status, Retry::Clock::now());
      if (!pause.has_value()) return FromGrpc(WithTlsProblem(status));
      // Only who found it unreachable moves on from it, so that many callers do not leave the next one too.
      size_t expected = current;
      current_.compare_exchange_strong(expected, (current + 1) % channels->stubs.size());
      std::this_thread::sleep_for(*pause);
      // Else a channel that has just failed to connect would refuse this attempt without trying.
      grpc::experimental::ChannelResetConnectionBackoff(channels->channels[current_].get());
    }
  }

  // A channel for each endpoint, which connects when it is first called.
  struct Channels {
    std::shared_ptr<grpc::ChannelCredentials> credentials;
    std::vector<std::shared_ptr<grpc::Channel>> channels;
    std::vector<std::unique_ptr<v1::Directory::Stub>> stubs;
  };

  // Those of the newest credentials. Calls that are on their way keep the ones that they have.
  std::shared_ptr<const Channels> CurrentChannels() {
    credentials_->Renew();
    const MutexLock lock(mutex_);
    auto credentials = credentials_->current();
    if (channels_ == nullptr || channels_->credentials != credentials) channels_ = NewChannels(std::move(credentials));
    return channels_;
  }

  std::shared_ptr<const Channels> NewChannels(std::shared_ptr<grpc::ChannelCredentials> credentials) const {
    auto made = std::make_shared<Channels>();
    const std::string server_name = options_.tls.has_value() ? options_.tls->server_name : "";
    for (const std::string& endpoint : options_.endpoints) {
      made->channels.push_back(NewChannel(endpoint, credentials, server_name));
      made->stubs.push_back(v1::Directory::NewStub(made->channels.back()));
    }
    made->credentials = std::move(credentials);
    return made;
  }

  // Who cannot connect wants to know that the files were renewed in vain. What a directory says has a reason.
  grpc::Status WithTlsProblem(const grpc::Status& status) const {
    const absl::Status problem = credentials_->problem();
    const bool not_connected = status.error_code() == grpc::StatusCode::UNAVAILABLE && status.error_details().empty();
    if (problem.ok() || !not_connected) return status;
    return {status.error_code(), status.error_message() + "; " + std::string(problem.message()),
            status.error_details()};
  }

  const ClientOptions options_;
  const std::shared_ptr<Credentials> credentials_;
  std::atomic<size_t> current_ = 0;  // the endpoint that calls go to

  Mutex mutex_;
  std::shared_ptr<const Channels> channels_ ABSL_GUARDED_BY(mutex_);
};

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(ClientOptions options) {
  if (options.endpoints.empty()) return absl::InvalidArgumentError("no endpoint is named");
  for (const std::string& endpoint : options.endpoints) {
    if (endpoint.empty()) return absl::InvalidArgumentError("an endpoint is empty");
  }
  if (options.lookup_timeout <= milliseconds(0) || options.change_timeout <= milliseconds(0)) {
    return absl::InvalidArgumentError("a timeout must be above 0");
  }
  auto credentials = Credentials::Shared(options.tls);
  if (!credentials.ok()) return credentials.status();
  return std::unique_ptr<Client>(new Client(std::make_unique<Calls>(std::move(options), *std::move(credentials))));
}

Client::Client(std::unique_ptr<Calls> calls) : calls_(std::move(calls)) {}
Client::~Client() = default;

absl::Status Client::TlsProblem() const { return calls_->TlsProblem(); }

// --- Lookups

absl::StatusOr<LookupResult> Client::Lookup(std::string_view ring, std::string_view key,
                                            const LookupOptions& options) const {
  auto request = NewRequest<v1::LookupRequest>(ring);
  request.set_key(key.data(), key.size());
  return calls_->Lookup(request, options);
}

absl::StatusOr<LookupResult> Client::LookupPosition(std::string_view ring, uint64_t position,
                                                    const LookupOptions& options) const {
  auto request = NewRequest<v1::LookupRequest>(ring);
  request.set_position(position);
  return calls_->Lookup(request, options);
}

absl::StatusOr<BatchLookupResult> Client::BatchLookup(std::string_view ring, std::span<const std::string_view> keys,
                                                      const LookupOptions& options) const {
  auto request = NewRequest<v1::BatchLookupRequest>(ring);
  for (const std::string_view key : keys) request.add_keys(key.data(), key.size());
  SetReadOptions(options, request);
  const auto response = calls_->Call(&v1::Directory::Stub::BatchLookup, request, calls_->options().lookup_timeout);
  if (!response.ok()) return response.status();
  return ToValue(*response, keys.size(), options.owners);
}

// --- Rings

absl::StatusOr<MutationResult> Client::CreateRing(std::string_view ring, const RingSettings& settings,
                                                  const MutationOptions& options) const {
  auto request = NewRequest<v1::CreateRingRequest>(ring);
  if (absl::Status known = ToMessage(settings.placement, request.mutable_placement()); !known.ok()) return known;
  if (settings.default_weight.has_value()) request.set_default_weight(*settings.default_weight);
  request.mutable_labels()->insert(settings.labels.begin(), settings.labels.end());
  return calls_->Change(&v1::Directory::Stub::CreateRing, std::move(request), options);
}

absl::StatusOr<MutationResult> Client::UpdateRing(std::string_view ring, const ringd::UpdateRing& update,
                                                  const MutationOptions& options) const {
  auto request = NewRequest<v1::UpdateRingRequest>(ring);
  ToMessage(update, &request);
  return calls_->Change(&v1::Directory::Stub::UpdateRing, std::move(request), options);
}

absl::StatusOr<MutationResult> Client::DeleteRing(std::string_view ring, const MutationOptions& options) const {
  return calls_->Change(&v1::Directory::Stub::DeleteRing, NewRequest<v1::DeleteRingRequest>(ring), options);
}

absl::StatusOr<RingContent> Client::GetRing(std::string_view ring) const {
  for (int reading = 0; reading < kReadings; ++reading) {
    RingContent content;
    auto request = NewRequest<v1::GetRingRequest>(ring);
    bool changed = false;
    do {
      const auto response = calls_->Call(&v1::Directory::Stub::GetRing, request, calls_->options().change_timeout);
      if (!response.ok()) return response.status();
      const bool first = request.page_token().empty();
      changed = !first && ToValue(response->version()) != content.ring.version;
      if (first) content.ring = ToValue(response->ring());
      for (const v1::Node& node : response->nodes()) {
        content.nodes.push_back(ToValue(node));
        content.shares.push_back(node.share());
      }
      request.set_page_token(response->next_page_token());
    } while (!changed && !request.page_token().empty());
    if (!changed) return content;
  }
  return absl::AbortedError("the ring changes faster than its pages can be read");
}

absl::StatusOr<std::vector<RingInfo>> Client::ListRings(std::string_view prefix) const {
  std::vector<RingInfo> rings;
  v1::ListRingsRequest request;
  request.set_prefix(prefix.data(), prefix.size());
  do {
    const auto response = calls_->Call(&v1::Directory::Stub::ListRings, request, calls_->options().change_timeout);
    if (!response.ok()) return response.status();
    for (const v1::Ring& ring : response->rings()) rings.push_back(ToValue(ring));
    request.set_page_token(response->next_page_token());
  } while (!request.page_token().empty());
  return rings;
}

// --- History

absl::StatusOr<std::vector<ChangeRecord>> Client::ListChanges(std::string_view ring, size_t max) const {
  std::vector<ChangeRecord> changes;
  auto request = NewRequest<v1::ListChangesRequest>(ring);
  while (changes.size() < max) {
    request.set_page_size(static_cast<int32_t>(std::min(max - changes.size(), kLargestPage)));
    const auto response = calls_->Call(&v1::Directory::Stub::ListChanges, request, calls_->options().change_timeout);
    if (!response.ok()) return response.status();
    for (const v1::ChangeRecord& change : response->changes()) changes.push_back(ToValue(change));
    request.set_page_token(response->next_page_token());
    if (request.page_token().empty()) break;
  }
  return changes;
}

absl::StatusOr<VersionDiff> Client::DiffVersions(std::string_view ring, const Version& from,
                                                 const std::optional<Version>& to) const {
  auto request = NewRequest<v1::DiffVersionsRequest>(ring);
  ToMessage(from, request.mutable_from());
  if (to.has_value()) ToMessage(*to, request.mutable_to());
  const auto joined = calls_->Collect(&v1::Directory::Stub::DiffVersions, request, calls_->options().change_timeout);
  if (!joined.ok()) return joined.status();
  return ToValue(*joined);
}

absl::StatusOr<MutationResult> Client::RestoreVersion(std::string_view ring, const Version& version,
                                                      const MutationOptions& options) const {
  auto request = NewRequest<v1::RestoreVersionRequest>(ring);
  ToMessage(version, request.mutable_version());
  return calls_->Change(&v1::Directory::Stub::RestoreVersion, std::move(request), options);
}

// --- Nodes

absl::StatusOr<MutationResult> Client::AddNode(std::string_view ring, const Node& node,
                                               const MutationOptions& options) const {
  auto request = NewRequest<v1::AddNodeRequest>(ring);
  ToMessage(node, request.mutable_node());
  return calls_->Change(&v1::Directory::Stub::AddNode, std::move(request), options);
}

absl::StatusOr<MutationResult> Client::RemoveNode(std::string_view ring, std::string_view node_id,
                                                  const MutationOptions& options) const {
  auto request = NewRequest<v1::RemoveNodeRequest>(ring);
  request.set_node_id(node_id.data(), node_id.size());
  return calls_->Change(&v1::Directory::Stub::RemoveNode, std::move(request), options);
}

absl::StatusOr<MutationResult> Client::UpdateNode(std::string_view ring, const ringd::UpdateNode& update,
                                                  const MutationOptions& options) const {
  auto request = NewRequest<v1::UpdateNodeRequest>(ring);
  ToMessage(update, request.mutable_node(), request.mutable_update_mask());
  return calls_->Change(&v1::Directory::Stub::UpdateNode, std::move(request), options);
}

absl::StatusOr<MutationResult> Client::ApplyChanges(std::string_view ring, std::span<const Operation> operations,
                                                    const MutationOptions& options) const {
  auto request = NewRequest<v1::ApplyChangesRequest>(ring);
  for (const Operation& operation : operations) ToMessage(operation, request.add_operations());
  return calls_->Change(&v1::Directory::Stub::ApplyChanges, std::move(request), options);
}

}  // namespace ringd
