#include "server/history.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "proto/codec.h"
#include "server/page_size.h"
#include "server/responses.h"

namespace ringd::server {
namespace {

// Adds a change to a page that has `bytes` already. False: there is no room for it.
bool AddChange(const ChangeRecord& change, size_t page, size_t* bytes, v1::ListChangesResponse* response) {
  if (static_cast<size_t>(response->changes_size()) == page) return false;
  v1::ChangeRecord* out = response->add_changes();
  ToProto(change, kMaxPageBytes, out);
  *bytes += out->ByteSizeLong();
  if (*bytes <= kMaxPageBytes || response->changes_size() == 1) return true;
  response->mutable_changes()->RemoveLast();
  return false;
}

}  // namespace

std::optional<ring::Version> VersionOfToken(std::string_view token) {
  ring::Version version;
  const char* const end = token.data() + token.size();
  const auto epoch = std::from_chars(token.data(), end, version.epoch);
  if (epoch.ec != std::errc() || epoch.ptr == end || *epoch.ptr != '/') return std::nullopt;
  const auto revision = std::from_chars(epoch.ptr + 1, end, version.revision);
  if (revision.ec != std::errc() || revision.ptr != end || version.revision == 0) return std::nullopt;
  return version;
}

absl::Status AnswerListChanges(const Directory& directory, const RingState& state,
                               const v1::ListChangesRequest& request, const StillWanted& still_wanted,
                               v1::ListChangesResponse* response) {
  const ring::Version head = state.head.version;
  ringd::ToProto(head, response->mutable_version());
  ring::Version last = head;
  if (!request.page_token().empty()) {
    const ring::Version before = *VersionOfToken(request.page_token());
    if (before.epoch != head.epoch) return absl::OkStatus();
    last.revision = std::min(head.revision, before.revision - 1);
  }
  const size_t page = PageSize(request.page_size());
  size_t bytes = 0;
  while (last.revision > 0) {
    if (absl::Status wanted = still_wanted(); !wanted.ok()) return wanted;
    // One more than the page tells whether there is a next one.
    const auto changes =
        directory.ReadEarlierChanges(state.head.name, last, page + 1 - static_cast<size_t>(response->changes_size()));
    if (!changes.ok()) return changes.status();
    if (changes->empty()) break;
    for (const ChangeRecord& change : *changes) {
      if (!AddChange(change, page, &bytes, response)) {
        response->set_next_page_token(ToString(ring::Version{last.epoch, last.revision + 1}));
        return absl::OkStatus();
      }
      last.revision = change.version.revision - 1;
    }
  }
  return absl::OkStatus();
}

}  // namespace ringd::server
