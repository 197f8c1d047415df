// DirectoryService: the RPCs of ringd.v1.Directory. Each handler has four beats: check the request, delegate, convert
// the answer, stamp the version.
//
// Threads: gRPC's callback threads. Reads are answered on them at once; mutations go through the WriteQueue and are
// answered on its thread, those with wait_for after a wait in AppliedWaits; a read with min_version waits in
// VersionWaits.
#pragma once

#include <atomic>
#include <string>

#include "ringd/v1/directory.grpc.pb.h"
#include "server/applied_waits.h"
#include "server/arena_messages.h"
#include "server/auth.h"
#include "server/diff_stream.h"
#include "server/directory.h"
#include "server/request_checks.h"
#include "server/rpc_metrics.h"
#include "server/unary_call.h"
#include "server/version_waits.h"
#include "server/watch_hub.h"
#include "server/watch_messages.h"
#include "server/watchers.h"
#include "server/write_queue.h"

namespace ringd::server {

// Watch takes and gives bytes, so that one message can be sent on many streams without being made anew for each.
class DirectoryService final : public v1::Directory::WithRawCallbackMethod_Watch<v1::Directory::CallbackService> {
 public:
  // All must outlive the service.
  DirectoryService(const Directory& directory, WriteQueue& writes, VersionWaits& waits, AppliedWaits& applied_waits,
                   WatchHub& hub, Watchers& watchers, const Authorizer& authorizer, const RequestLimits& limits);

  // From now on every call is answered UNAVAILABLE.
  void Drain() { draining_ = true; }
  // How many calls were answered so.
  uint64_t refused() const { return refused_; }

  // What is counted of all calls, and the keys that were asked for in rings that are not there.
  const RpcMetrics& rpcs() const { return rpcs_; }
  uint64_t unknown_ring_lookups() const { return unknown_ring_lookups_; }

  using Unary = grpc::ServerUnaryReactor*;
  using Context = grpc::CallbackServerContext*;

  Unary CreateRing(Context context, const v1::CreateRingRequest* request, v1::CreateRingResponse* response) override;
  Unary UpdateRing(Context context, const v1::UpdateRingRequest* request, v1::UpdateRingResponse* response) override;
  Unary RestoreVersion(Context context, const v1::RestoreVersionRequest* request,
                       v1::RestoreVersionResponse* response) override;
  Unary DeleteRing(Context context, const v1::DeleteRingRequest* request, v1::DeleteRingResponse* response) override;
  Unary AddNode(Context context, const v1::AddNodeRequest* request, v1::AddNodeResponse* response) override;
  Unary RemoveNode(Context context, const v1::RemoveNodeRequest* request, v1::RemoveNodeResponse* response) override;
  Unary UpdateNode(Context context, const v1::UpdateNodeRequest* request, v1::UpdateNodeResponse* response) override;
  Unary ApplyChanges(Context context, const v1::ApplyChangesRequest* request,
                     v1::ApplyChangesResponse* response) override;
  Unary ImportSlots(Context context, const v1::ImportSlotsRequest* request, v1::ImportSlotsResponse* response) override;

  Unary GetRing(Context context, const v1::GetRingRequest* request, v1::GetRingResponse* response) override;
  Unary ListRanges(Context context, const v1::ListRangesRequest* request, v1::ListRangesResponse* response) override;
  Unary ListRings(Context context, const v1::ListRingsRequest* request, v1::ListRingsResponse* response) override;
  Unary ListChanges(Context context, const v1::ListChangesRequest* request, v1::ListChangesResponse* response) override;
  Unary Lookup(Context context, const v1::LookupRequest* request, v1::LookupResponse* response) override;
  Unary BatchLookup(Context context, const v1::BatchLookupRequest* request, v1::BatchLookupResponse* response) override;

  grpc::ServerWriteReactor<v1::DiffVersionsResponse>* DiffVersions(Context context,
                                                                   const v1::DiffVersionsRequest* request) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Watch(Context context, const grpc::ByteBuffer* request) override;
  Unary ReportWatch(Context context, const v1::ReportWatchRequest* request, v1::ReportWatchResponse*) override;
  Unary ListWatchers(Context context, const v1::ListWatchersRequest* request,
                     v1::ListWatchersResponse* response) override;

  // Not served yet: UNIMPLEMENTED, with a text that says so.
  grpc::ServerWriteReactor<v1::BackupResponse>* Backup(Context, const v1::BackupRequest* request) override;

 private:
  // The counts of the RPC that has this request.
  template <class Request>
  RpcCounts& CountsOf(const Request&);

  // Whether the caller may ask for it.
  template <class Request>
  absl::Status Authorize(Context context, const Request& request) const;

  // Whether the request may be served: the caller may ask and still waits, the server is not draining, and CheckRequest
  // accepts it.
  template <class Request>
  absl::Status Check(Context context, const Request& request);

  // What a request gets that the contract has and this build does not serve.
  template <class Request>
  absl::Status NotServed(Context context, const Request& request) const;

  // Queues the mutation that a request asks for, and answers when it is done.
  template <class Request, class Response>
  Unary Mutate(Context context, const Request& request, Response* response);

  // Answers a mutation, which made this version, once its watchers have applied it or its time has passed.
  template <class Request, class Response>
  void AwaitApplied(const UnaryCall& call, AppliedWaits::Place place, const Request& request,
                    const ring::Version& version, Response* response);

  // Calls `answer` with the ring's state once it is at the request's min_version, and finishes with what it returns.
  template <class Request, class Answer>
  Unary Read(Context context, const Request& request, Answer answer);

  const Directory& directory_;
  WriteQueue& writes_;
  VersionWaits& waits_;
  AppliedWaits& applied_waits_;
  WatchHub& hub_;
  Watchers& watchers_;
  const Authorizer& authorizer_;
  const RequestLimits limits_;
  RpcMetrics rpcs_;
  DiffStreams diffs_;
  WatchMessages messages_;
  ArenaMessages<v1::BatchLookupRequest, v1::BatchLookupResponse> batch_messages_;
  std::atomic<bool> draining_ = false;
  std::atomic<uint64_t> refused_ = 0;
  std::atomic<uint64_t> unknown_ring_lookups_ = 0;
};

}  // namespace ringd::server
