#include "server/ring_pages.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <string>
#include <string_view>

#include "fmt/format.h"
#include "proto/codec.h"
#include "ring/error.h"
#include "server/page_size.h"
#include "server/responses.h"

namespace ringd::server {
namespace {

using ringd::ToProto;

constexpr size_t kMostBytesOfPlace = 5;
static_assert(kPlacesOfPage * kMostBytesOfPlace <= kMaxPageBytes);

// A token of nodes is the id of the last one. Ids have no control characters: with this one before it, it is the number
// of the place where the next page begins.
constexpr char kPlaceMark = '\x01';

std::string PlaceToken(size_t place) { return kPlaceMark + std::to_string(place); }

// False for a text that is none of a table of so many places. REQUIRES the mark at its beginning.
bool ReadPlaceToken(std::string_view token, size_t places, size_t* place) {
  token.remove_prefix(1);
  const char* end = token.data() + token.size();
  const auto read = std::from_chars(token.data(), end, *place);
  return read.ec == std::errc() && read.ptr == end && *place < places;
}

void AddPlaces(std::span<const uint32_t> places, size_t first, v1::GetRingResponse* response) {
  const size_t count = std::min(kPlacesOfPage, places.size() - first);
  ToProto(places.subspan(first, count), response->mutable_slot_owners());
  if (first + count < places.size()) response->set_next_page_token(PlaceToken(first + count));
}

}  // namespace

absl::Status AnswerGetRing(const RingState& state, const v1::GetRingRequest& request, size_t page,
                           v1::GetRingResponse* response) {
  const std::string& token = request.page_token();
  const bool places_follow = request.slot_owners() && state.ring.slots() != nullptr;
  if (token.starts_with(kPlaceMark)) {
    const std::span<const uint32_t> places = places_follow ? state.ring.slots()->places() : std::span<const uint32_t>();
    size_t first = 0;
    if (!ReadPlaceToken(token, places.size(), &first)) {
      return ring::InvalidField(fmt::format("ring {}: page_token {} was not given by an answer",
                                            ring::Quote(state.head.name), ring::Quote(token)));
    }
    AddPlaces(places, first, response);
  } else {
    const auto& nodes = state.ring.table()->nodes;
    const auto first = std::upper_bound(nodes.begin(), nodes.end(), token,
                                        [](const std::string& id, const ring::NodePtr& node) { return id < node->id; });
    const size_t next = AddNodes(*state.ring.table(), token.empty() ? 0 : static_cast<size_t>(first - nodes.begin()),
                                 page, kMaxPageBytes, response->mutable_nodes());
    if (next < nodes.size()) {
      response->set_next_page_token(nodes[next - 1]->id);
    } else if (places_follow) {
      response->set_next_page_token(PlaceToken(0));
    }
  }
  ToProto(state, response->mutable_ring());
  ToProto(state.head.version, response->mutable_version());
  return absl::OkStatus();
}

}  // namespace ringd::server
