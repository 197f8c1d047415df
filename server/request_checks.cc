#include "server/request_checks.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fmt/format.h"
#include "google/protobuf/util/time_util.h"
#include "ring/error.h"
#include "ring/ring.h"
#include "server/field_checks.h"
#include "server/history.h"
#include "server/watcher_pages.h"

namespace ringd::server {
namespace {

constexpr size_t kMaxMapBytes = 4'096;
constexpr size_t kMaxReason = 1'024;
constexpr size_t kMaxRequestId = 64;
constexpr uint32_t kMaxWeight = 65'535;
constexpr int kMaxNodePoints = 100'000;  // so that a change of a node fits into any answer, before and after

absl::Status CheckNodeId(std::string_view id) {
  if (id.empty()) return ring::InvalidField(fmt::format("node id is empty, it must have 1..{} bytes", kMaxName));
  return CheckText("node id", id, kMaxName);
}

template <class Map>
absl::Status CheckMap(std::string_view what, const Map& map) {
  size_t bytes = 0;
  for (const auto& [key, value] : map) bytes += key.size() + value.size();
  if (bytes > kMaxMapBytes)
    return ring::InvalidField(fmt::format("{} has {} bytes, the limit is {}", what, bytes, kMaxMapBytes));
  return absl::OkStatus();
}

absl::Status CheckWeight(uint32_t weight) {
  if (weight > kMaxWeight)
    return ring::InvalidField(fmt::format("weight {} is over the limit of {}", weight, kMaxWeight));
  return absl::OkStatus();
}

absl::Status CheckPoints(const v1::Node& node) {
  if (node.points_size() <= kMaxNodePoints) return absl::OkStatus();
  return TooMany(fmt::format("{} points are over the limit of {} a node", node.points_size(), kMaxNodePoints));
}

absl::Status CheckNode(const v1::Node& node) {
  if (absl::Status status = CheckNodeId(node.id()); !status.ok()) return status;
  const absl::Status status =
      FirstOf({CheckWeight(node.weight()), CheckText("address", node.address(), kMaxName),
               CheckText("zone", node.zone(), kMaxName), CheckText("hash_key", node.hash_key(), kMaxName),
               CheckMap("metadata", node.metadata()), CheckPoints(node)});
  return status.ok() ? status : ring::Prefixed(fmt::format("node {}: ", ring::Quote(node.id())), status);
}

absl::Status CheckWaitFor(const v1::MutationOptions& options) {
  if (!options.has_wait_for()) return absl::OkStatus();
  if (options.validate_only())
    return ring::InvalidField("wait_for does not go with validate_only, which changes nothing");
  const double share = options.wait_for().share();
  if (!(share > 0 && share <= 1)) {
    return ring::InvalidField(fmt::format("wait_for.share is {}, it must be above 0 and at most 1", share));
  }
  constexpr int64_t kMaxTimeout = 600;
  const google::protobuf::Duration& timeout = options.wait_for().timeout();
  if (!IsDuration(timeout, kMaxTimeout) || (timeout.seconds() == 0 && timeout.nanos() == 0)) {
    return ring::InvalidField(fmt::format("wait_for.timeout is {} s and {} ns, it must be above 0 and at most {} s",
                                          timeout.seconds(), timeout.nanos(), kMaxTimeout));
  }
  return absl::OkStatus();
}

absl::Status CheckOptions(const v1::MutationOptions& options) {
  if (absl::Status status = CheckWaitFor(options); !status.ok()) return status;
  if (options.request_id().size() > kMaxRequestId) {
    return ring::InvalidField(fmt::format("request_id {} has {} bytes, the limit is {}",
                                          ring::Quote(options.request_id()), options.request_id().size(),
                                          kMaxRequestId));
  }
  if (options.reason().size() > kMaxReason) {
    return ring::InvalidField(fmt::format("reason has {} bytes, the limit is {}", options.reason().size(), kMaxReason));
  }
  return absl::OkStatus();
}

// A ring that is deleted has no version that its watchers could report.
absl::Status CheckNoWaitFor(const v1::MutationOptions& options) {
  return options.has_wait_for() ? ring::InvalidField("wait_for does not go with a DeleteRing") : absl::OkStatus();
}

absl::Status CheckOwners(const auto& request) {
  if (request.has_owners() && (request.owners() == 0 || request.owners() > ring::Ring::kMaxOwners)) {
    return ring::InvalidField(fmt::format("owners is {}, it must be 1..{}", request.owners(), ring::Ring::kMaxOwners));
  }
  return absl::OkStatus();
}

absl::Status CheckKey(std::string_view key, size_t max) {
  if (key.empty()) return ring::InvalidField(fmt::format("key is empty, it must have 1..{} bytes", max));
  if (key.size() > max) {
    return ring::InvalidField(fmt::format("key {} has {} bytes, the limit is {}", ring::Quote(key), key.size(), max));
  }
  return absl::OkStatus();
}

absl::Status CheckTarget(const v1::LookupRequest& request, const RequestLimits& limits) {
  switch (request.target_case()) {
    case v1::LookupRequest::kKey:
      return CheckKey(request.key(), limits.max_key_bytes);
    case v1::LookupRequest::kPosition:
      return absl::OkStatus();
    case v1::LookupRequest::TARGET_NOT_SET:
      break;
  }
  return ring::InvalidField("key is missing");
}

absl::Status CheckKeys(const v1::BatchLookupRequest& request, const RequestLimits& limits) {
  if (static_cast<size_t>(request.keys_size()) > limits.max_batch_keys) {
    return TooMany(fmt::format("{} keys are over the limit of {} a batch", request.keys_size(), limits.max_batch_keys));
  }
  const auto is_good = [&limits](const std::string& key) { return !key.empty() && key.size() <= limits.max_key_bytes; };
  const auto bad = std::find_if_not(request.keys().begin(), request.keys().end(), is_good);
  if (bad == request.keys().end()) return absl::OkStatus();
  return ring::Prefixed(fmt::format("keys[{}]: ", bad - request.keys().begin()), CheckKey(*bad, limits.max_key_bytes));
}

absl::Status CheckHistoryToken(const std::string& token) {
  if (token.empty() || VersionOfToken(token).has_value()) return absl::OkStatus();
  return ring::InvalidField(
      fmt::format("page_token {} is none that ListChanges answered, EPOCH/REVISION", ring::Quote(token)));
}

absl::Status CheckWatchersToken(const std::string& token) {
  if (token.empty() || WatcherOfToken(token).has_value()) return absl::OkStatus();
  return ring::InvalidField(fmt::format("page_token {} is none that ListWatchers answered", ring::Quote(token)));
}

absl::Status CheckDefaultWeight(const auto& request) {
  if (request.has_default_weight() && (request.default_weight() == 0 || request.default_weight() > kMaxWeight)) {
    return ring::InvalidField(
        fmt::format("default_weight is {}, it must be 1..{}", request.default_weight(), kMaxWeight));
  }
  return absl::OkStatus();
}

absl::Status CheckNoExpectedVersion(const v1::MutationOptions& options) {
  if (options.has_expected_version())
    return ring::InvalidField("expected_version must be absent when a ring is created");
  return absl::OkStatus();
}

absl::Status CheckHistoryLimits(const v1::HistoryLimits& history) {
  if (history.has_max_changes() && history.max_changes() == 0) {
    return ring::InvalidField("history_limits.max_changes is 0, it must be at least 1");
  }
  if (history.has_max_age()) {
    using google::protobuf::util::TimeUtil;
    const auto& age = history.max_age();
    if (age.seconds() < 1 || age.seconds() > TimeUtil::kDurationMaxSeconds || age.nanos() < 0 ||
        age.nanos() > 999'999'999) {
      return ring::InvalidField(
          fmt::format("history_limits.max_age is {} s and {} ns, it must be 1..{} s and 0..999999999 ns", age.seconds(),
                      age.nanos(), TimeUtil::kDurationMaxSeconds));
    }
  }
  return absl::OkStatus();
}

// How long ago something was, an hour at most.
absl::Status CheckAgo(const google::protobuf::Duration& ago) {
  constexpr int64_t kMaxAgo = 3'600;
  if (IsDuration(ago, kMaxAgo)) return absl::OkStatus();
  return ring::InvalidField(
      fmt::format("ago is {} s and {} ns, it must be 0..{} s", ago.seconds(), ago.nanos(), kMaxAgo));
}

absl::Status CheckWantedVersion(std::string_view what, const v1::Version& version) {
  if (version.revision() > 0) return absl::OkStatus();
  return ring::InvalidField(fmt::format("{} is {}/0, its revision must be at least 1", what, version.epoch()));
}

absl::Status CheckComparedVersions(const v1::DiffVersionsRequest& request) {
  if (!request.has_from()) return ring::InvalidField("from is missing; the version to compare with is required");
  if (absl::Status status = CheckWantedVersion("from", request.from()); !status.ok()) return status;
  return request.has_to() ? CheckWantedVersion("to", request.to()) : absl::OkStatus();
}

absl::Status CheckOperation(const v1::NodeOperation& operation) {
  switch (operation.operation_case()) {
    case v1::NodeOperation::kAdd:
      return CheckNode(operation.add().node());
    case v1::NodeOperation::kUpdate:
      return CheckNode(operation.update().node());
    case v1::NodeOperation::kRemove:
      return CheckNodeId(operation.remove().node_id());
    case v1::NodeOperation::OPERATION_NOT_SET:
      break;  // the codec says what is wrong with it
  }
  return absl::OkStatus();
}

absl::Status CheckOperations(const v1::ApplyChangesRequest& request, const RequestLimits& limits) {
  if (request.operations().empty()) return ring::InvalidField("operations is empty; at least one is required");
  if (static_cast<size_t>(request.operations_size()) > limits.max_operations) {
    return TooMany(
        fmt::format("{} operations are over the limit of {}", request.operations_size(), limits.max_operations));
  }
  for (int i = 0; i < request.operations_size(); i++) {
    if (absl::Status status = CheckOperation(request.operations(i)); !status.ok()) {
      return ring::Prefixed(fmt::format("operations[{}]: ", i), status);
    }
  }
  return absl::OkStatus();
}

// Every slot once, each of nodes that are named, none of them twice.
absl::Status CheckSlotRanges(const v1::ImportSlotsRequest& request) {
  constexpr uint32_t kSlots = 16'384;
  std::set<std::string_view> nodes;
  for (const v1::Node& node : request.nodes()) nodes.insert(node.id());
  std::vector<bool> told(kSlots);
  for (int i = 0; i < request.ranges_size(); i++) {
    const v1::SlotRange& range = request.ranges(i);
    const auto wrong = [&](const std::string& text) {
      return ring::InvalidField(fmt::format("ranges[{}]: {}..{} {}", i, range.first(), range.last(), text));
    };
    if (range.first() > range.last() || range.last() >= kSlots)
      return wrong(fmt::format("is not in 0..{}", kSlots - 1));
    if (range.node_ids().empty()) return wrong("names no node; one at least must own it");
    if (static_cast<uint32_t>(range.node_ids_size()) > ring::kMaxSlotOwners) {
      return wrong(fmt::format("has {} owners, the most is {}", range.node_ids_size(), ring::kMaxSlotOwners));
    }
    std::set<std::string_view> owners;
    for (const std::string& id : range.node_ids()) {
      if (!nodes.contains(id)) return wrong(fmt::format("names node {}, which is not in nodes", ring::Quote(id)));
      if (!owners.insert(id).second) return wrong(fmt::format("names node {} twice", ring::Quote(id)));
    }
    for (uint32_t slot = range.first(); slot <= range.last(); slot++) {
      if (told[slot]) return wrong(fmt::format("tells slot {} again", slot));
      told[slot] = true;
    }
  }
  const auto missing = std::find(told.begin(), told.end(), false);
  if (missing == told.end()) return absl::OkStatus();
  return ring::InvalidField(fmt::format("slot {} is in none of the ranges", missing - told.begin()));
}

// What does not depend on how many places the ring has.
absl::Status CheckSlotOwners(const v1::ImportSlotsRequest& request) {
  if (!request.ranges().empty()) {
    return ring::InvalidField(fmt::format("ranges and slot_owners are both told, {} and {}; one of them is the table",
                                          request.ranges_size(), request.slot_owners_size()));
  }
  const auto nodes = static_cast<uint32_t>(request.nodes_size());
  for (int i = 0; i < request.slot_owners_size(); i++) {
    if (request.slot_owners(i) <= nodes) continue;
    return ring::InvalidField(
        fmt::format("slot_owners[{}] is {}; of {} nodes it must be 0..{}", i, request.slot_owners(i), nodes, nodes));
  }
  return absl::OkStatus();
}

absl::Status CheckImport(const v1::ImportSlotsRequest& request, const RequestLimits& limits) {
  if (static_cast<size_t>(request.nodes_size()) > limits.max_operations) {
    return TooMany(fmt::format("{} nodes are over the limit of {}", request.nodes_size(), limits.max_operations));
  }
  std::set<std::string_view> ids;
  for (int i = 0; i < request.nodes_size(); i++) {
    absl::Status status = CheckNode(request.nodes(i));
    if (status.ok() && !ids.insert(request.nodes(i).id()).second) {
      status = ring::Error(absl::StatusCode::kInvalidArgument, ring::kDuplicateOperation,
                           fmt::format("node {} comes twice", ring::Quote(request.nodes(i).id())));
    }
    if (!status.ok()) return ring::Prefixed(fmt::format("nodes[{}]: ", i), status);
  }
  return request.slot_owners().empty() ? CheckSlotRanges(request) : CheckSlotOwners(request);
}

// What a request says to be held or applied: each ring once, with a version.
absl::Status CheckPositions(std::string_view what, const auto& positions) {
  std::set<std::string_view> seen;
  for (const v1::HeldRing& one : positions) {
    if (absl::Status status = CheckRingName(one.ring()); !status.ok()) return status;
    if (!seen.insert(one.ring()).second) {
      return ring::InvalidField(fmt::format("ring {} is {} twice", ring::Quote(one.ring()), what));
    }
    if (!one.position().has_version()) {
      return ring::InvalidField(
          fmt::format("the position {} of ring {} has no version", what, ring::Quote(one.ring())));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSelector(const v1::RingSelector& selector, const RequestLimits& limits) {
  switch (selector.selector_case()) {
    case v1::RingSelector::kNames: {
      const auto& rings = selector.names().rings();
      if (rings.empty()) return ring::InvalidField("selector.names names no ring");
      if (static_cast<size_t>(rings.size()) > limits.max_watched_rings) {
        return TooMany(
            fmt::format("{} rings to watch are over the limit of {}", rings.size(), limits.max_watched_rings));
      }
      for (const std::string& name : rings) {
        if (absl::Status status = CheckRingName(name); !status.ok()) return status;
      }
      return absl::OkStatus();
    }
    case v1::RingSelector::kPrefix:
      if (selector.prefix().empty()) return ring::InvalidField("selector.prefix is empty; `all` selects every ring");
      return CheckRingName(selector.prefix());
    case v1::RingSelector::kAll:
      return absl::OkStatus();
    case v1::RingSelector::SELECTOR_NOT_SET:
      break;
  }
  return ring::InvalidField("selector must be one of names, prefix, all");
}

// Tells which rings a selector selects; a selector may name thousands.
class Selection {
 public:
  explicit Selection(const v1::RingSelector& selector)
      : selector_(selector), names_(selector.names().rings().begin(), selector.names().rings().end()) {}
  bool Has(const std::string& ring) const {
    if (selector_.has_names()) return names_.contains(ring);
    return selector_.has_all() || ring.starts_with(selector_.prefix());
  }

 private:
  const v1::RingSelector& selector_;
  const std::set<std::string_view> names_;
};

}  // namespace

absl::Status CheckRequest(const v1::CreateRingRequest& request, const RequestLimits&) {
  return InRing(request.ring(), {CheckDefaultWeight(request), CheckMap("labels", request.labels()),
                                 CheckHistoryLimits(request.history_limits()), CheckOptions(request.options()),
                                 CheckNoExpectedVersion(request.options())});
}

absl::Status CheckRequest(const v1::DeleteRingRequest& request, const RequestLimits&) {
  return InRing(request.ring(), {CheckOptions(request.options()), CheckNoWaitFor(request.options())});
}

absl::Status CheckRequest(const v1::UpdateRingRequest& request, const RequestLimits&) {
  return InRing(request.ring(), {CheckDefaultWeight(request), CheckMap("labels", request.labels()),
                                 CheckHistoryLimits(request.history_limits()), CheckOptions(request.options())});
}

absl::Status CheckRequest(const v1::RestoreVersionRequest& request, const RequestLimits&) {
  return InRing(request.ring(), {CheckWantedVersion("version", request.version()), CheckOptions(request.options())});
}

absl::Status CheckRequest(const v1::AddNodeRequest& request, const RequestLimits&) {
  return InRing(request.ring(), {CheckNode(request.node()), CheckOptions(request.options())});
}

absl::Status CheckRequest(const v1::RemoveNodeRequest& request, const RequestLimits&) {
  return InRing(request.ring(), {CheckNodeId(request.node_id()), CheckOptions(request.options())});
}

absl::Status CheckRequest(const v1::UpdateNodeRequest& request, const RequestLimits&) {
  return InRing(request.ring(), {CheckNode(request.node()), CheckOptions(request.options())});
}

absl::Status CheckRequest(const v1::ApplyChangesRequest& request, const RequestLimits& limits) {
  return InRing(request.ring(), {CheckOperations(request, limits), CheckOptions(request.options())});
}

absl::Status CheckRequest(const v1::ImportSlotsRequest& request, const RequestLimits& limits) {
  return InRing(request.ring(), {CheckImport(request, limits), CheckOptions(request.options())});
}

absl::Status CheckRequest(const v1::GetRingRequest& request, const RequestLimits&) {
  return InRing(request.ring(), {CheckPageSize(request.page_size())});
}

absl::Status CheckRequest(const v1::ListRingsRequest& request, const RequestLimits&) {
  return FirstOf({request.prefix().empty() ? absl::OkStatus() : CheckRingName(request.prefix()),
                  CheckPageSize(request.page_size())});
}

absl::Status CheckRequest(const v1::ListChangesRequest& request, const RequestLimits&) {
  return InRing(request.ring(), {CheckPageSize(request.page_size()), CheckHistoryToken(request.page_token())});
}

absl::Status CheckRequest(const v1::LookupRequest& request, const RequestLimits& limits) {
  return InRing(request.ring(), {CheckOwners(request), CheckTarget(request, limits)});
}

absl::Status CheckRequest(const v1::BatchLookupRequest& request, const RequestLimits& limits) {
  return InRing(request.ring(), {CheckOwners(request), CheckKeys(request, limits)});
}

absl::Status CheckRequest(const v1::ListRangesRequest& request, const RequestLimits&) {
  return InRing(request.ring(), {CheckNodeId(request.node_id()), CheckPageSize(request.page_size())});
}

absl::Status CheckRequest(const v1::DiffVersionsRequest& request, const RequestLimits&) {
  return InRing(request.ring(), {CheckComparedVersions(request)});
}

absl::Status CheckRequest(const v1::ReportWatchRequest& request, const RequestLimits& limits) {
  if (request.watcher().empty()) return ring::InvalidField("watcher is empty; the name that a Watch gave is required");
  if (absl::Status status = CheckText("watcher", request.watcher(), kMaxName); !status.ok()) return status;
  if (request.applied().empty()) return ring::InvalidField("applied is empty; at least one ring is required");
  if (static_cast<size_t>(request.applied_size()) > limits.max_watched_rings) {
    return TooMany(
        fmt::format("{} rings applied are over the limit of {}", request.applied_size(), limits.max_watched_rings));
  }
  if (absl::Status status = CheckPositions("applied", request.applied()); !status.ok()) return status;
  return CheckAgo(request.ago());
}

absl::Status CheckRequest(const v1::ListWatchersRequest& request, const RequestLimits&) {
  return FirstOf({request.ring().empty() ? absl::OkStatus() : CheckRingName(request.ring()),
                  CheckPageSize(request.page_size()), CheckWatchersToken(request.page_token())});
}

absl::Status CheckRequest(const v1::WatchRequest& request, const RequestLimits& limits) {
  if (absl::Status status = CheckSelector(request.selector(), limits); !status.ok()) return status;
  const Selection selection(request.selector());
  if (absl::Status status = CheckPositions("held", request.held()); !status.ok()) return status;
  for (const v1::HeldRing& held : request.held()) {
    if (!selection.Has(held.ring())) {
      return ring::InvalidField(fmt::format("ring {} is held but not selected", ring::Quote(held.ring())));
    }
  }
  return CheckText("watcher", request.watcher(), kMaxName);
}

}  // namespace ringd::server
