#include "server/watcher_pages.h"

#include <charconv>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "google/protobuf/util/time_util.h"
#include "proto/codec.h"
#include "server/page_size.h"

namespace ringd::server {
namespace {

// RING/STREAM/NAME: a ring's name has no slash, the watcher's may have.
std::string TokenOf(const WatcherRow::Key& key) { return fmt::format("{}/{}/{}", key.ring, key.stream, key.name); }

void ToProto(const Directory& directory, const WatcherRow& row, v1::Watcher* out) {
  out->set_name(row.key.name);
  out->set_peer(row.peer);
  out->set_ring(row.key.ring);
  if (row.sent.has_value()) ringd::ToProto(*row.sent, out->mutable_sent());
  if (row.applied.has_value()) ringd::ToProto(*row.applied, out->mutable_applied());
  *out->mutable_since() = google::protobuf::util::TimeUtil::MicrosecondsToTimestamp(absl::ToUnixMicros(row.since));
  const auto state = directory.Find(row.key.ring);
  if (!state.ok()) return;
  const ring::Version& head = (*state)->head.version;
  ringd::ToProto(head, out->mutable_head());
  out->set_behind(Behind(head, row.applied.has_value() ? row.applied : row.sent));
}

}  // namespace

std::optional<WatcherRow::Key> WatcherOfToken(std::string_view token) {
  const size_t slash = token.find('/');
  if (slash == 0 || slash == std::string_view::npos) return std::nullopt;
  WatcherRow::Key key{.ring = std::string(token.substr(0, slash))};
  const char* const end = token.data() + token.size();
  const auto number = std::from_chars(token.data() + slash + 1, end, key.stream);
  if (number.ec != std::errc() || number.ptr == end || *number.ptr != '/') return std::nullopt;
  key.name.assign(number.ptr + 1, end);
  return key;
}

absl::Status AnswerReportWatch(const v1::ReportWatchRequest& request, Watchers& watchers) {
  std::vector<std::pair<std::string, ring::Version>> positions;
  positions.reserve(static_cast<size_t>(request.applied_size()));
  for (const v1::HeldRing& held : request.applied()) {
    positions.emplace_back(held.ring(), FromProto(held.position().version()));
  }
  const auto ago = std::chrono::seconds(request.ago().seconds()) + std::chrono::nanoseconds(request.ago().nanos());
  return watchers.Report(request.watcher(), positions, ago);
}

absl::Status AnswerListWatchers(const Directory& directory, const Watchers& watchers,
                                const v1::ListWatchersRequest& request, size_t page,
                                v1::ListWatchersResponse* response) {
  const std::optional<std::string> ring = request.ring().empty() ? std::nullopt : std::optional(request.ring());
  const WatcherRow::Key after = WatcherOfToken(request.page_token()).value_or(WatcherRow::Key{});
  // One more than the page tells whether there is a next one.
  const std::vector<WatcherRow> rows = watchers.List(ring, after, page + 1);
  if (rows.empty() && ring.has_value() && request.page_token().empty()) {
    const auto state = directory.Find(*ring);
    if (!state.ok()) return state.status();
  }
  size_t bytes = 0;
  for (size_t i = 0; i < rows.size(); i++) {
    if (i == page || bytes > kMaxPageBytes) {
      response->set_next_page_token(TokenOf(rows[i - 1].key));
      break;
    }
    ToProto(directory, rows[i], response->add_watchers());
    bytes += response->watchers().rbegin()->ByteSizeLong();
  }
  return absl::OkStatus();
}

}  // namespace ringd::server
