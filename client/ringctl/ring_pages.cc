#include "client/ringctl/ring_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "client/ringctl/escape.h"
#include "client/ringctl/version_text.h"

namespace ringd::ctl {
namespace {

constexpr int kTries = 10;
// The directory answers no larger ones.
constexpr uint32_t kLargestPage = 10'000;

// Joins all pages of one version of a ring. `append` moves what a page has to what those before it had.
template <typename Request, typename Response, typename Append>
Answer<Response> ReadPages(Connection& connection,
                           grpc::Status (v1::Directory::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                           const Request& first, Append append) {
  for (int i = 0; i < kTries; ++i) {
    Request request = first;
    Answer<Response> joined = connection.Call(method, request);
    bool changed = false;
    while (joined.status.ok() && !changed && !joined.value.next_page_token().empty()) {
      request.set_page_token(joined.value.next_page_token());
      Answer<Response> page = connection.Call(method, request);
      joined.status = page.status;
      changed = page.status.ok() && !SameVersion(page.value.version(), joined.value.version());
      joined.value.set_next_page_token(page.value.next_page_token());
      append(&page.value, &joined.value);
    }
    if (!changed) return joined;
  }
  return {grpc::Status(grpc::StatusCode::ABORTED,
                       fmt::format("ring {} changed {} times while its pages were read", Quoted(first.ring()), kTries)),
          {}};
}

}  // namespace

Answer<v1::GetRingResponse> ReadRing(Connection& connection, const std::string& ring, bool slot_owners) {
  v1::GetRingRequest request;
  request.set_ring(ring);
  request.set_slot_owners(slot_owners);
  return ReadPages(connection, &v1::Directory::Stub::GetRing, request,
                   [](v1::GetRingResponse* page, v1::GetRingResponse* joined) {
                     for (v1::Node& node : *page->mutable_nodes()) *joined->add_nodes() = std::move(node);
                     joined->mutable_slot_owners()->MergeFrom(page->slot_owners());
                   });
}

Answer<v1::ListRangesResponse> ReadRanges(Connection& connection, const std::string& ring, const std::string& node) {
  v1::ListRangesRequest request;
  request.set_ring(ring);
  request.set_node_id(node);
  request.set_page_size(static_cast<int32_t>(kLargestPage));
  return ReadPages(connection, &v1::Directory::Stub::ListRanges, request,
                   [](v1::ListRangesResponse* page, v1::ListRangesResponse* joined) {
                     joined->mutable_ranges()->MergeFrom(page->ranges());
                   });
}

Answer<v1::DiffVersionsResponse> ReadDiff(Connection& connection, const ComparedVersions& versions) {
  v1::DiffVersionsRequest request;
  request.set_ring(versions.ring);
  *request.mutable_from() = *versions.from;
  if (versions.to) *request.mutable_to() = *versions.to;
  return connection.CallStream(&v1::Directory::Stub::DiffVersions, request);
}

Answer<v1::ListRingsResponse> ReadRings(Connection& connection, const std::string& prefix) {
  v1::ListRingsRequest request;
  request.set_prefix(prefix);
  Answer<v1::ListRingsResponse> joined = connection.Call(&v1::Directory::Stub::ListRings, request);
  while (joined.status.ok() && !joined.value.next_page_token().empty()) {
    request.set_page_token(joined.value.next_page_token());
    Answer<v1::ListRingsResponse> page = connection.Call(&v1::Directory::Stub::ListRings, request);
    joined.status = page.status;
    joined.value.set_next_page_token(page.value.next_page_token());
    for (v1::Ring& ring : *page.value.mutable_rings()) *joined.value.add_rings() = std::move(ring);
  }
  return joined;
}

Answer<v1::ListWatchersResponse> ReadWatchers(Connection& connection, const std::string& ring) {
  v1::ListWatchersRequest request;
  request.set_ring(ring);
  request.set_page_size(static_cast<int32_t>(kLargestPage));
  Answer<v1::ListWatchersResponse> joined = connection.Call(&v1::Directory::Stub::ListWatchers, request);
  while (joined.status.ok() && !joined.value.next_page_token().empty()) {
    request.set_page_token(joined.value.next_page_token());
    Answer<v1::ListWatchersResponse> page = connection.Call(&v1::Directory::Stub::ListWatchers, request);
    joined.status = page.status;
    joined.value.set_next_page_token(page.value.next_page_token());
    for (v1::Watcher& watcher : *page.value.mutable_watchers()) *joined.value.add_watchers() = std::move(watcher);
  }
  return joined;
}

Answer<v1::ListChangesResponse> ReadChanges(Connection& connection, const std::string& ring,
                                            std::optional<uint32_t> limit) {
  v1::ListChangesRequest request;
  request.set_ring(ring);
  Answer<v1::ListChangesResponse> joined;
  do {
    const auto read = static_cast<uint32_t>(joined.value.changes_size());
    if (limit) request.set_page_size(static_cast<int32_t>(std::min(*limit - read, kLargestPage)));
    Answer<v1::ListChangesResponse> page = connection.Call(&v1::Directory::Stub::ListChanges, request);
    if (!page.status.ok()) return page;
    request.set_page_token(page.value.next_page_token());
    if (!joined.value.has_version()) *joined.value.mutable_version() = page.value.version();
    for (v1::ChangeRecord& change : *page.value.mutable_changes()) *joined.value.add_changes() = std::move(change);
  } while (!request.page_token().empty() && (!limit || static_cast<uint32_t>(joined.value.changes_size()) < *limit));
  return joined;
}

}  // namespace ringd::ctl
