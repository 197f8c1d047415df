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

}  // namespace

Answer<v1::GetRingResponse> ReadRing(Connection& connection, const std::string& ring) {
  for (int i = 0; i < kTries; ++i) {
    v1::GetRingRequest request;
    request.set_ring(ring);
    Answer<v1::GetRingResponse> joined = connection.Call(&v1::Directory::Stub::GetRing, request);
    bool changed = false;
    while (joined.status.ok() && !changed && !joined.value.next_page_token().empty()) {
      request.set_page_token(joined.value.next_page_token());
      Answer<v1::GetRingResponse> page = connection.Call(&v1::Directory::Stub::GetRing, request);
      joined.status = page.status;
      changed = page.status.ok() && !SameVersion(page.value.version(), joined.value.version());
      joined.value.set_next_page_token(page.value.next_page_token());
      for (v1::Node& node : *page.value.mutable_nodes()) *joined.value.add_nodes() = std::move(node);
    }
    if (!changed) return joined;
  }
  return {grpc::Status(grpc::StatusCode::ABORTED,
                       fmt::format("ring {} changed {} times while its pages were read", Quoted(ring), kTries)),
          {}};
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
