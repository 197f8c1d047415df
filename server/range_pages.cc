#include "server/range_pages.h"

#include <charconv>
#include <cstdint>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "proto/codec.h"
#include "ring/error.h"
#include "ring/ranges.h"

namespace ringd::server {
namespace {

// A token is the value where the next page begins. False for a text that is none.
bool ReadToken(const std::string& token, uint64_t last, uint64_t* value) {
  const char* end = token.data() + token.size();
  const auto read = std::from_chars(token.data(), end, *value);
  return read.ec == std::errc() && read.ptr == end && *value <= last;
}

}  // namespace

absl::Status AnswerListRanges(const RingState& state, const v1::ListRangesRequest& request, size_t page,
                              v1::ListRangesResponse* response) {
  const ring::Ring& ring = state.ring;
  const ring::Circle& circle = ring.keys().circle();
  const size_t node = ring.Find(request.node_id());
  if (node == ring.node_count()) {
    return ring::Error(
        absl::StatusCode::kNotFound, ring::kNodeNotFound,
        fmt::format("ring {}: node {} not found", ring::Quote(state.head.name), ring::Quote(request.node_id())));
  }
  uint64_t from = 0;
  if (!request.page_token().empty() && !ReadToken(request.page_token(), circle.last_value(), &from)) {
    return ring::InvalidField(fmt::format("ring {}: page_token {} was not given by an answer",
                                          ring::Quote(state.head.name), ring::Quote(request.page_token())));
  }
  // One more than the page tells whether there is a next one.
  std::vector<ring::Range> ranges = ring::RangesOf(ring, node, circle.First(from), page + 1);
  if (ranges.size() > page) {
    response->set_next_page_token(std::to_string(circle.Value(ranges.back().first)));
    ranges.pop_back();
  }
  for (const ring::Range& range : ranges) {
    v1::Range* out = response->add_ranges();
    out->set_first(circle.Value(range.first));
    out->set_last(circle.Value(range.last));
  }
  ToProto(state.head.version, response->mutable_version());
  return absl::OkStatus();
}

}  // namespace ringd::server
