#include "server/directory_service.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "fmt/format.h"
#include "proto/codec.h"
#include "proto/status_codec.h"
#include "ring/error.h"
#include "server/caller.h"
#include "server/history.h"
#include "server/log_line.h"
#include "server/lookup.h"
#include "server/mutations.h"
#include "server/page_size.h"
#include "server/range_pages.h"
#include "server/responses.h"
#include "server/ring_pages.h"
#include "server/unary_call.h"
#include "server/version_diff.h"
#include "server/waiting_call.h"
#include "server/watch_stream.h"
#include "server/watcher_pages.h"
#include "spdlog/spdlog.h"

namespace ringd::server {
namespace {

using ringd::FromProto;
using ringd::ToProto;

constexpr auto kMaxVersionWait = std::chrono::seconds(3);

template <class Response>
void Fill(const MutationResult& result, Response* response) {
  ToProto(result.version, response->mutable_version());
  if constexpr (requires { response->mutable_previous_version(); }) {
    ToProto(result.previous_version, response->mutable_previous_version());
  }
  ToProto(result.movement, response->mutable_movement());
  if constexpr (requires { response->add_warnings(); }) {
    for (const std::string& warning : result.warnings) response->add_warnings(warning);
  }
  if (result.plan.has_value()) ToProto(*result.plan, response->mutable_plan());
}

// The node that a request is about; nothing where it is about none or about many.
template <class Request>
std::optional<std::string> NodeOf(const Request& request) {
  if constexpr (requires { request.node(); }) return request.node().id();
  if constexpr (requires { request.node_id(); }) return request.node_id();
  return std::nullopt;
}

const google::protobuf::ServiceDescriptor& Service() {
  return *v1::LookupRequest::descriptor()->file()->FindServiceByName("Directory");
}

// The RPC that has this request; each has one of its own.
template <class Request>
const google::protobuf::MethodDescriptor& MethodOf() {
  int method = 0;
  while (Service().method(method)->input_type() != Request::descriptor()) method++;
  return *Service().method(method);
}

// One line for each change of state, and none for requests that change nothing.
template <class Request>
void LogChange(const Request& request, const std::string& actor, const MutationResult& result) {
  LogFields fields = {{"ring", request.ring()}};
  if (const auto node = NodeOf(request); node.has_value()) fields.push_back({"node", *node});
  fields.push_back({"epoch", result.version.epoch});
  fields.push_back({"revision", result.version.revision});
  if (result.previous_version != result.version) fields.push_back({"from_revision", result.previous_version.revision});
  fields.push_back({"actor", actor});
  if (!request.options().reason().empty()) fields.push_back({"reason", request.options().reason()});
  if (request.options().force()) fields.push_back({"force", "true"});
  LogEvent(spdlog::level::info, MethodOf<Request>().name(), fields);
}

std::vector<RpcMetrics::Method> Methods() {
  std::vector<RpcMetrics::Method> methods;
  for (int i = 0; i < Service().method_count(); i++) {
    const google::protobuf::MethodDescriptor& method = *Service().method(i);
    methods.push_back({.service = Service().full_name(),
                       .name = method.name(),
                       .kind = method.server_streaming() ? RpcKind::kServerStream : RpcKind::kUnary});
  }
  return methods;
}

// How many keys a read looks up.
uint64_t KeysOf(const v1::GetRingRequest&) { return 0; }
uint64_t KeysOf(const v1::ListRangesRequest&) { return 0; }
uint64_t KeysOf(const v1::LookupRequest&) { return 1; }
uint64_t KeysOf(const v1::BatchLookupRequest& request) { return static_cast<uint64_t>(request.keys_size()); }

// What a request takes of memory: with what is free on the arena that it may lie on.
size_t BytesOf(const google::protobuf::Message& request) {
  const google::protobuf::Arena* arena = request.GetArena();
  return request.SpaceUsedLong() + (arena == nullptr ? 0 : arena->SpaceAllocated() - arena->SpaceUsed());
}

// A stream that ends at once.
template <class Response>
class RefusedStream final : public grpc::ServerWriteReactor<Response> {
 public:
  RefusedStream(RpcCounts& counts, const absl::Status& status) {
    const grpc::Status answer = ToGrpc(status);
    counts.Started();
    counts.Handled(answer.error_code());
    this->Finish(answer);
  }
  void OnDone() override { delete this; }
};

// Not OK when nobody waits for the answer any more.
absl::Status CheckWanted(const grpc::CallbackServerContext& context) {
  if (std::chrono::system_clock::now() >= context.deadline()) {
    return absl::DeadlineExceededError("the deadline passed before it was done");
  }
  return context.IsCancelled() ? absl::CancelledError("the caller has gone") : absl::OkStatus();
}

AppliedWaits::Want ToWant(const std::string& ring, const ring::Version& version, const v1::WaitFor& wait_for) {
  return {.ring = ring,
          .version = version,
          .share = wait_for.share(),
          .timeout = std::chrono::seconds(wait_for.timeout().seconds()) +
                     std::chrono::nanoseconds(wait_for.timeout().nanos())};
}

// A name for the connection that a call came on. All callers on a unix socket have the same: gRPC does not tell them
// apart.
std::string ConnectionOf(const grpc::CallbackServerContext& context) {
  std::string peer = context.peer();
  return peer.starts_with("unix:") ? std::string(WatchHub::kUnixConnections) : peer;
}

}  // namespace

DirectoryService::DirectoryService(const Directory& directory, WriteQueue& writes, VersionWaits& waits,
                                   AppliedWaits& applied_waits, WatchHub& hub, Watchers& watchers,
                                   const Authorizer& authorizer, const RequestLimits& limits)
    : directory_(directory),
      writes_(writes),
      waits_(waits),
      applied_waits_(applied_waits),
      hub_(hub),
      watchers_(watchers),
      authorizer_(authorizer),
      limits_(limits),
      rpcs_(Methods()) {
  SetMessageAllocatorFor_BatchLookup(&batch_messages_);
}

template <class Request>
RpcCounts& DirectoryService::CountsOf(const Request&) {
  static const int method = MethodOf<Request>().index();
  return rpcs_.of(method);
}

template <class Request>
absl::Status DirectoryService::Authorize(Context context, const Request&) const {
  // Who calls is asked for only where it matters: that costs more than a lookup.
  static const bool everybody = RightFor(MethodOf<Request>().name()) == Right::kRead;
  return everybody ? absl::OkStatus() : authorizer_.Check(CallerOf(*context), MethodOf<Request>().name());
}

template <class Request>
absl::Status DirectoryService::NotServed(Context context, const Request& request) const {
  if (absl::Status status = Authorize(context, request); !status.ok()) return status;
  return ring::Error(absl::StatusCode::kUnimplemented, ring::kNotServedYet,
                     fmt::format("{} is not served yet by this version of ringd", MethodOf<Request>().name()));
}

template <class Request>
absl::Status DirectoryService::Check(Context context, const Request& request) {
  if (absl::Status status = Authorize(context, request); !status.ok()) return status;
  if (draining_) {
    refused_++;
    return Stopping();
  }
  if (absl::Status status = CheckWanted(*context); !status.ok()) return status;
  return CheckRequest(request, limits_);
}

// --- Mutations

template <class Request, class Response>
DirectoryService::Unary DirectoryService::Mutate(Context context, const Request& request, Response* response) {
  WaitingCall* waiting = request.options().has_wait_for() ? new WaitingCall : nullptr;
  const UnaryCall call(waiting != nullptr ? waiting : context->DefaultReactor(), CountsOf(request));
  if (absl::Status status = Check(context, request); !status.ok()) return call.Finish(status);
  auto mutation = ToMutation(request);
  if (!mutation.ok()) return call.Finish(mutation.status());
  mutation->actor = CallerOf(*context).Actor();
  mutation->still_wanted = [context] { return CheckWanted(*context); };
  const std::string actor = mutation->actor;
  std::optional<AppliedWaits::Place> place;
  if (waiting != nullptr) {
    const auto reserved = applied_waits_.Reserve(request.SpaceUsedLong());
    if (!reserved.ok()) return call.Finish(reserved.status());
    place = *reserved;
    waiting->cancel = [this, place] { applied_waits_.Cancel(*place); };
  }
  writes_.Submit({.mutation = *std::move(mutation),
                  .done = [this, actor, call, place, &request, response](absl::StatusOr<MutationResult> result) {
                    if (result.ok()) {
                      Fill(*result, response);
                      const bool changed =
                          result->version != result->previous_version || std::is_same_v<Request, v1::DeleteRingRequest>;
                      const bool now = !result->plan.has_value() && !result->repeated;
                      if (changed && now) LogChange(request, actor, *result);
                      if (place.has_value()) return AwaitApplied(call, *place, request, result->version, response);
                    }
                    if (place.has_value()) applied_waits_.Release(*place);
                    call.Finish(result.status());
                  }});
  return call.reactor();
}

template <class Request, class Response>
void DirectoryService::AwaitApplied(const UnaryCall& call, AppliedWaits::Place place, const Request& request,
                                    const ring::Version& version, Response* response) {
  applied_waits_.Begin(place, ToWant(request.ring(), version, request.options().wait_for()),
                       [call, response](absl::StatusOr<AppliedOutcome> outcome) {
                         if (outcome.ok()) ToProto(*outcome, response->mutable_wait_result());
                         call.Finish(outcome.status());
                       });
}

DirectoryService::Unary DirectoryService::CreateRing(Context context, const v1::CreateRingRequest* request,
                                                     v1::CreateRingResponse* response) {
  return Mutate(context, *request, response);
}

DirectoryService::Unary DirectoryService::UpdateRing(Context context, const v1::UpdateRingRequest* request,
                                                     v1::UpdateRingResponse* response) {
  return Mutate(context, *request, response);
}

DirectoryService::Unary DirectoryService::RestoreVersion(Context context, const v1::RestoreVersionRequest* request,
                                                         v1::RestoreVersionResponse* response) {
  return Mutate(context, *request, response);
}

DirectoryService::Unary DirectoryService::ImportSlots(Context context, const v1::ImportSlotsRequest* request,
                                                      v1::ImportSlotsResponse* response) {
  return Mutate(context, *request, response);
}

DirectoryService::Unary DirectoryService::DeleteRing(Context context, const v1::DeleteRingRequest* request,
                                                     v1::DeleteRingResponse* response) {
  return Mutate(context, *request, response);
}

DirectoryService::Unary DirectoryService::AddNode(Context context, const v1::AddNodeRequest* request,
                                                  v1::AddNodeResponse* response) {
  return Mutate(context, *request, response);
}

DirectoryService::Unary DirectoryService::RemoveNode(Context context, const v1::RemoveNodeRequest* request,
                                                     v1::RemoveNodeResponse* response) {
  return Mutate(context, *request, response);
}

DirectoryService::Unary DirectoryService::UpdateNode(Context context, const v1::UpdateNodeRequest* request,
                                                     v1::UpdateNodeResponse* response) {
  return Mutate(context, *request, response);
}

DirectoryService::Unary DirectoryService::ApplyChanges(Context context, const v1::ApplyChangesRequest* request,
                                                       v1::ApplyChangesResponse* response) {
  return Mutate(context, *request, response);
}

// --- Reads

template <class Request, class Answer>
DirectoryService::Unary DirectoryService::Read(Context context, const Request& request, Answer answer) {
  WaitingCall* waiting = request.has_min_version() ? new WaitingCall : nullptr;
  const UnaryCall call(waiting != nullptr ? waiting : context->DefaultReactor(), CountsOf(request));
  if (absl::Status status = Check(context, request); !status.ok()) return call.Finish(status);
  const auto finish = [this, call, &request, answer](const absl::StatusOr<RingStatePtr>& state) {
    if (absl::IsNotFound(state.status())) unknown_ring_lookups_ += KeysOf(request);
    call.Finish(state.ok() ? answer(**state) : state.status());
  };
  auto state = directory_.Find(request.ring());
  if (state.ok() && waiting != nullptr && (*state)->head.version < FromProto(request.min_version())) {
    const auto left = context->deadline() - std::chrono::system_clock::now();
    const VersionWaits::Ticket ticket =
        waits_.Wait(request.ring(), FromProto(request.min_version()),
                    VersionWaits::Clock::now() + std::min<std::chrono::nanoseconds>(left, kMaxVersionWait),
                    BytesOf(request), finish);
    waiting->cancel = [this, ticket] { waits_.Cancel(ticket); };
  } else {
    finish(state);
  }
  return call.reactor();
}

DirectoryService::Unary DirectoryService::Lookup(Context context, const v1::LookupRequest* request,
                                                 v1::LookupResponse* response) {
  return Read(context, *request,
              [request, response](const RingState& state) { return AnswerLookup(state, *request, response); });
}

DirectoryService::Unary DirectoryService::BatchLookup(Context context, const v1::BatchLookupRequest* request,
                                                      v1::BatchLookupResponse* response) {
  return Read(context, *request, [context, request, response](const RingState& state) {
    return AnswerBatchLookup(
        state, *request, [context] { return CheckWanted(*context); }, response);
  });
}

DirectoryService::Unary DirectoryService::GetRing(Context context, const v1::GetRingRequest* request,
                                                  v1::GetRingResponse* response) {
  return Read(context, *request, [request, response](const RingState& state) {
    return AnswerGetRing(state, *request, PageSize(request->page_size()), response);
  });
}

DirectoryService::Unary DirectoryService::ListRanges(Context context, const v1::ListRangesRequest* request,
                                                     v1::ListRangesResponse* response) {
  return Read(context, *request, [request, response](const RingState& state) {
    return AnswerListRanges(state, *request, PageSize(request->page_size()), response);
  });
}

DirectoryService::Unary DirectoryService::ListRings(Context context, const v1::ListRingsRequest* request,
                                                    v1::ListRingsResponse* response) {
  const UnaryCall call(context->DefaultReactor(), CountsOf(*request));
  if (absl::Status status = Check(context, *request); !status.ok()) return call.Finish(status);
  const size_t page = PageSize(request->page_size());
  // One more than the page tells whether there is a next one.
  const auto states = directory_.List(request->prefix(), request->page_token(), page + 1);
  size_t bytes = 0;
  for (const RingStatePtr& state : states) {
    if (static_cast<size_t>(response->rings_size()) == page || bytes > kMaxPageBytes) {
      response->set_next_page_token(response->rings(response->rings_size() - 1).name());
      break;
    }
    v1::Ring* ring = response->add_rings();
    ToProto(*state, ring);
    bytes += ring->ByteSizeLong();
  }
  response->set_server_version(RINGD_VERSION);
  return call.Finish(absl::OkStatus());
}

DirectoryService::Unary DirectoryService::ListChanges(Context context, const v1::ListChangesRequest* request,
                                                      v1::ListChangesResponse* response) {
  const UnaryCall call(context->DefaultReactor(), CountsOf(*request));
  if (absl::Status status = Check(context, *request); !status.ok()) return call.Finish(status);
  const auto state = directory_.Find(request->ring());
  if (!state.ok()) return call.Finish(state.status());
  return call.Finish(AnswerListChanges(
      directory_, **state, *request, [context] { return CheckWanted(*context); }, response));
}

grpc::ServerWriteReactor<v1::DiffVersionsResponse>* DirectoryService::DiffVersions(
    Context context, const v1::DiffVersionsRequest* request) {
  const auto still_wanted = [this, context] { return draining_ ? Stopping() : CheckWanted(*context); };
  const auto open = [&]() -> absl::StatusOr<std::unique_ptr<VersionDiff>> {
    if (absl::Status status = Check(context, *request); !status.ok()) return status;
    const auto state = directory_.Find(request->ring());
    if (!state.ok()) return state.status();
    if (!diffs_.Enter()) {
      return ring::Error(
          absl::StatusCode::kResourceExhausted, ring::kLimitExceeded,
          fmt::format("{} DiffVersions are under way, the most is {}", DiffStreams::kMost, DiffStreams::kMost));
    }
    auto made = VersionDiff::Open(directory_, **state, *request, still_wanted);
    if (!made.ok()) diffs_.Leave();
    return made;
  };
  auto diff = open();
  if (!diff.ok()) return new RefusedStream<v1::DiffVersionsResponse>(CountsOf(*request), diff.status());
  return new DiffStream(*std::move(diff), CountsOf(*request), diffs_, still_wanted);
}

grpc::ServerWriteReactor<grpc::ByteBuffer>* DirectoryService::Watch(Context context, const grpc::ByteBuffer* bytes) {
  v1::WatchRequest request;
  grpc::ByteBuffer copy = *bytes;  // of references: reading a message empties the buffer
  const bool read = grpc::SerializationTraits<v1::WatchRequest>::Deserialize(&copy, &request).ok();
  absl::Status status = read ? Check(context, request) : ring::InvalidField("the message is no WatchRequest");
  if (!status.ok()) return new RefusedStream<grpc::ByteBuffer>(CountsOf(request), status);
  return WatchStream::Start({directory_, hub_, watchers_, messages_, CountsOf(request)}, context->c_call(),
                            ConnectionOf(*context),
                            {.name = request.watcher(),
                             .peer = context->peer(),
                             .since = absl::Now(),
                             .selector = FromProto(request.selector())},
                            FromProto(request.held()));
}

DirectoryService::Unary DirectoryService::ReportWatch(Context context, const v1::ReportWatchRequest* request,
                                                      v1::ReportWatchResponse*) {
  const UnaryCall call(context->DefaultReactor(), CountsOf(*request));
  if (absl::Status status = Check(context, *request); !status.ok()) return call.Finish(status);
  return call.Finish(AnswerReportWatch(*request, watchers_));
}

DirectoryService::Unary DirectoryService::ListWatchers(Context context, const v1::ListWatchersRequest* request,
                                                       v1::ListWatchersResponse* response) {
  const UnaryCall call(context->DefaultReactor(), CountsOf(*request));
  if (absl::Status status = Check(context, *request); !status.ok()) return call.Finish(status);
  return call.Finish(AnswerListWatchers(directory_, watchers_, *request, PageSize(request->page_size()), response));
}

// --- Not served yet

grpc::ServerWriteReactor<v1::BackupResponse>* DirectoryService::Backup(Context context,
                                                                       const v1::BackupRequest* request) {
  return new RefusedStream<v1::BackupResponse>(CountsOf(*request), NotServed(context, *request));
}

}  // namespace ringd::server
