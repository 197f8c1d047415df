// The whole directory, from the bytes of a request to its watchers. An input is a sequence of calls on the handlers of
// the service; between them the store may refuse a change, the clock goes on, and the process is killed and started
// anew.
//
// What must hold: a request that is refused changes nothing and is told in plain words; one that is accepted changes
// its ring by one revision, within every limit; a retry is answered alike; a ring is what its nodes say, after a start
// too; lookups and pages agree with the ring; whoever watches is brought to the head.
#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/numeric/int128.h"
#include "proto/status_codec.h"
#include "ring/error.h"
#include "server/log_line.h"
#include "server/request_checks.h"
#include "spdlog/sinks/base_sink.h"
#include "spdlog/spdlog.h"
#include "tests/fuzz/directory_server.h"
#include "tests/fuzz/directory_watchers.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/inputs.h"
#include "tests/fuzz/message_mutator.h"
#include "tests/fuzz/messages.h"

namespace ringd::server {
namespace {

using fuzz::Check;
using fuzz::CheckShowable;
using fuzz::Input;
using Step = fuzz::DirectoryStep;

// --- What holds of a state, by design.md and not by the code that is judged.

void JudgeName(const std::string& text, size_t least) {
  Check(text.size() >= least && text.size() <= 255, "a name of a node is as long as it may be", text);
  for (std::string_view left = text; !left.empty();) {
    const ring::Utf8Char next = ring::ReadUtf8(left);
    Check(next.valid && !ring::IsControl(next.code), "a name of a node is UTF-8 without controls", text);
    left.remove_prefix(next.length);
  }
}

void JudgeNode(const ring::Node& node) {
  JudgeName(node.id, 1);
  JudgeName(node.hash_key, 1);
  JudgeName(node.zone, 0);
  JudgeName(node.address, 0);
  Check(node.weight <= 65'535, "a weight is within its bound", node.id);
  size_t metadata = 0;
  for (const auto& [key, value] : node.metadata) metadata += key.size() + value.size();
  Check(metadata <= 4'096, "metadata is within its bound", node.id);
}

// Those of weight > 0, and in a ring of points with one at least.
std::vector<ring::NodePtr> MayOwnKeys(const RingState& state) {
  const bool points_are_told = std::holds_alternative<ring::PointsSettings>(state.head.settings.placement);
  std::vector<ring::NodePtr> owners;
  for (const ring::NodePtr& node : state.ring.table()->nodes) {
    if (node->weight > 0 && (!points_are_told || !node->points.empty())) owners.push_back(node);
  }
  return owners;
}

void JudgeState(const RingState& state) {
  const ring::NodeTable& table = *state.ring.table();
  Check(!state.head.name.empty() && state.head.name.size() <= 128, "a ring has a name");
  Check(table.nodes.size() <= DirectoryServer::kRingLimits.max_nodes, "nodes are within their limit");
  Check(state.ring.point_count() <= DirectoryServer::kRingLimits.max_points, "points are within their limit");
  std::vector<ring::Node> nodes;
  std::set<std::string> hash_keys;
  absl::uint128 circle = 0;
  for (size_t i = 0; i < table.nodes.size(); ++i) {
    const ring::Node& node = *table.nodes[i];
    JudgeNode(node);
    Check(hash_keys.insert(node.hash_key).second, "hash keys are unique", node.hash_key);
    Check(node.join_number < state.head.next_join_number, "join numbers are given in order", node.id);
    circle += table.arcs[i];
    nodes.push_back(node);
  }
  const std::vector<ring::NodePtr> owners = MayOwnKeys(state);
  Check(circle == (owners.empty() ? absl::uint128(0) : absl::MakeUint128(1, 0)), "shares sum to the whole");
  Check(state.ring.point_count() == ring::PointCount(state.head.settings.placement, owners), "points by weight");
  std::vector<uint32_t> places;
  if (state.ring.slots() != nullptr) {
    places.assign(state.ring.slots()->places().begin(), state.ring.slots()->places().end());
  }
  const auto rebuilt = ring::Ring::Create(state.head.settings, std::move(nodes), state.head.next_join_number,
                                          ring::kUnlimited, std::move(places));
  Check(rebuilt.ok() && rebuilt->checksum() == state.head.checksum && state.ring.checksum() == state.head.checksum,
        "a ring is what its nodes say", state.head.name);
}

// --- What holds of an answer.

void JudgeStatus(const grpc::Status& status) {
  if (status.ok()) return;
  switch (status.error_code()) {
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::NOT_FOUND:
    case grpc::StatusCode::ALREADY_EXISTS:
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::ABORTED:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::UNIMPLEMENTED:
      break;
    default:
      Check(false, "no such code for a caller", status.error_message());
  }
  constexpr size_t kMaxText = 1'024;
  Check(!status.error_message().empty() && status.error_message().size() <= kMaxText, "an error is told in a line");
  CheckShowable(status.error_message());
  const std::string reason = ReasonOf(status);
  Check(!reason.empty() &&
            std::all_of(reason.begin(), reason.end(),
                        [](char c) { return c == '_' || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }),
        "an error has its reason", reason);
}

void JudgeAnswer(const RingState& state, const v1::LookupRequest& request, const v1::LookupResponse& response) {
  const ring::KeyPlace& keys = state.ring.keys();
  const uint64_t position = request.has_key() ? keys(request.key()) : keys.circle().First(request.position());
  const size_t wanted = request.has_owners() ? request.owners() : 1;
  const auto slots = ring::SlotShapeOf(state.head.settings.placement);
  const size_t there = slots ? std::min<size_t>(MayOwnKeys(state).size(), slots->owners)
                             : state.ring.table()->zones.owners();  // presets may leave small weights without a point
  std::set<std::string> ids;
  for (const v1::Owner& owner : response.owners()) ids.insert(owner.id());
  Check(response.hash() == keys.circle().Value(position) &&
            response.owners(0).id() == state.ring.node(state.ring.Owner(position)).id,
        "the first owner is the owner");
  Check(ids.size() == std::min(wanted, there) && ids.size() == static_cast<size_t>(response.owners_size()),
        "owners are distinct, and as many as there are");
  Check(response.owners_short() == (there < wanted), "few are told as few");
}

void JudgeAnswer(const RingState& state, const v1::BatchLookupRequest& request,
                 const v1::BatchLookupResponse& response) {
  const size_t per_key = response.owners_per_key();
  Check(static_cast<size_t>(response.owner_indices_size()) == per_key * static_cast<size_t>(request.keys_size()),
        "each key has its owners");
  for (int key = 0; key < request.keys_size(); ++key) {
    const uint32_t first = response.owner_indices(key * static_cast<int>(per_key));
    const uint64_t position = state.ring.Position(request.keys(key));
    Check(response.nodes(static_cast<int>(first)).id() == state.ring.node(state.ring.Owner(position)).id,
          "the first owner is the owner");
  }
}

void JudgeAnswer(const RingState& state, const v1::GetRingRequest&, const v1::GetRingResponse& response) {
  Check(response.ring().checksum().value() == state.head.checksum, "a ring is shown with its checksum");
  Check(response.ring().node_count() == state.ring.node_count(), "and its number of nodes");
}

bool TakesAwayTooMuch(const RingState& before, const RingState& after) {
  uint64_t taken = 0;
  for (const ring::NodePtr& node : before.ring.table()->nodes) {
    const size_t index = after.ring.Find(node->id);
    const uint32_t left = index == after.ring.node_count() ? 0 : after.ring.node(index).weight;
    if (left < node->weight) taken += node->weight - left;
  }
  const uint64_t total = before.ring.total_weight();
  return taken > total / 2 || (total > 0 && after.ring.total_weight() == 0) ||
         (!MayOwnKeys(before).empty() && MayOwnKeys(after).empty());
}

// Every log line is one line, whatever is in it.
class LineJudge final : public spdlog::sinks::base_sink<std::mutex> {
 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    Check(line.size() > 0 && line[line.size() - 1] == '\n', "a line of the log ends");
    CheckShowable({line.data(), line.size() - 1});
  }
  void flush_() override {}
};

// --- One input.

class Story {
 public:
  void Play(Input input) {
    constexpr int kMostSteps = 24;
    for (int steps = 0; steps < kMostSteps && !input.AtEnd(); ++steps) {
      const auto step = static_cast<Step>(input.Byte() % fuzz::kDirectorySteps);
      Do(step, input.Piece());
    }
  }

 private:
  using Rings = std::map<std::string, RingStatePtr>;

  void Do(Step step, std::string_view bytes) {
    switch (step) {
      case Step::kCreateRing:
        return Call(&DirectoryService::CreateRing, bytes);
      case Step::kDeleteRing:
        return Call(&DirectoryService::DeleteRing, bytes);
      case Step::kAddNode:
        return Call(&DirectoryService::AddNode, bytes);
      case Step::kRemoveNode:
        return Call(&DirectoryService::RemoveNode, bytes);
      case Step::kUpdateNode:
        return Call(&DirectoryService::UpdateNode, bytes);
      case Step::kApplyChanges:
        return Call(&DirectoryService::ApplyChanges, bytes);
      case Step::kGetRing:
        return Call(&DirectoryService::GetRing, bytes);
      case Step::kListRings:
        return Call(&DirectoryService::ListRings, bytes);
      case Step::kLookup:
        return Call(&DirectoryService::Lookup, bytes);
      case Step::kBatchLookup:
        return Call(&DirectoryService::BatchLookup, bytes);
      case Step::kWatch:
        return Watch(bytes);
      case Step::kRefuse:
        return server_.RefuseNextCommit(Input(bytes).Byte() % 2 == 0 ? absl::StatusCode::kUnavailable
                                                                     : absl::StatusCode::kResourceExhausted);
      case Step::kPass:
        return server_.Pass(absl::Seconds(Input(bytes).Number()));
      case Step::kRestart:
        return Restart();
      case Step::kHeartbeat:
        observer_.session().HeartbeatDue();
        return observer_.Read(server_.store());
      case Step::kUpdateRing:
        return Call(&DirectoryService::UpdateRing, bytes);
    }
  }

  Rings All() const {
    Rings rings;
    for (const RingStatePtr& state : server_.directory().List("", "", SIZE_MAX)) rings[state->head.name] = state;
    return rings;
  }

  template <class Request, class Response>
  void Call(DirectoryServer::Handler<Request, Response> handler, std::string_view bytes) {
    Request request;
    if (!fuzz::Parse(bytes, &request)) return;
    const Rings before = All();
    Response response;
    const grpc::Status status = server_.Call(handler, request, &response);
    JudgeStatus(status);
    Check(response.ByteSizeLong() < 4 << 20, "an answer fits a stock client");
    if constexpr (requires { request.options(); }) {
      JudgeMutation(request, response, status, before);
      if (status.ok() && !request.options().validate_only()) Retry(handler, request, response);
    } else {
      Check(All() == before, "a read changes nothing");
      if (status.ok()) JudgeRead(handler, request, response);
    }
  }

  template <class Request, class Response>
  void JudgeMutation(const Request& request, const Response& response, const grpc::Status& status,
                     const Rings& before) {
    const Rings after = All();
    if (!status.ok() || request.options().validate_only()) {
      Check(after == before, "what is not made changes nothing");
      Check(server_.TakePublished().empty(), "and is told to nobody");
      return;
    }
    Rings others_before = before;
    Rings others_after = after;
    others_before.erase(request.ring());
    others_after.erase(request.ring());
    Check(others_before == others_after, "a change is one of its ring");
    const RingStatePtr was = StateIn(before, request.ring());
    const RingStatePtr is = StateIn(after, request.ring());
    Check(after.size() <= DirectoryServer::kMaxRings, "rings are within their limit");
    if (is != nullptr && is != was) JudgeStep(request, response, was, *is);
    if (was != nullptr && is == nullptr) {
      Check(was->ring.node_count() == 0 || request.options().force(), "a ring with nodes is not deleted without force");
    }
    Read();
  }

  template <class Request, class Response>
  void JudgeStep(const Request& request, const Response& response, const RingStatePtr& was, const RingState& is) {
    JudgeState(is);
    const ring::Version version = is.head.version;
    Check(response.version().epoch() == version.epoch && response.version().revision() == version.revision,
          "the answer has the version");
    const auto change = is.log->Get(version.revision);
    Check(change != nullptr && change->record.checksum == is.head.checksum, "the change is kept");
    if (was == nullptr) {
      Check(version.revision == 1 && version.epoch > highest_epoch_, "a ring begins in an epoch of its own");
      highest_epoch_ = version.epoch;
      return;
    }
    Check(version.epoch == was->head.version.epoch && version.revision == was->head.version.revision + 1,
          "a change takes one revision");
    Check(change->record.from_checksum == was->head.checksum, "it leads from what was there");
    Check(request.options().force() || !TakesAwayTooMuch(*was, is), "more than half goes only with force");
    if (request.options().has_expected_version()) {
      Check(request.options().expected_version().revision() == was->head.version.revision, "as was expected");
    }
  }

  // A retry of what was made, or was nothing to make, is answered alike and makes nothing.
  template <class Request, class Response>
  void Retry(DirectoryServer::Handler<Request, Response> handler, const Request& request, const Response& response) {
    if (request.options().request_id().empty()) return;
    const Rings before = All();
    Response again;
    const grpc::Status status = server_.Call(handler, request, &again);
    const bool same = again.version().epoch() == response.version().epoch() &&
                      again.version().revision() == response.version().revision();
    Check(status.ok() && same, "a retry is answered as the first was", status.error_message());
    Check(All() == before, "a retry changes nothing");
  }

  template <class Request, class Response>
  void JudgeRead(DirectoryServer::Handler<Request, Response>, const Request& request, const Response& response) {
    const RingStatePtr state = StateIn(All(), request.ring());
    Check(response.version().revision() == state->head.version.revision, "an answer has its version");
    if (state->ring.HasOwners() || std::is_same_v<Request, v1::GetRingRequest>) JudgeAnswer(*state, request, response);
    if constexpr (std::is_same_v<Request, v1::GetRingRequest>) {
      if (request.page_token().empty()) JudgeNodePages(*state, request, response);
    }
  }

  void JudgeNodePages(const RingState& state, v1::GetRingRequest request, v1::GetRingResponse response) {
    std::vector<std::string> ids;
    while (true) {
      for (const v1::Node& node : response.nodes()) ids.push_back(node.id());
      if (response.next_page_token().empty()) break;
      Check(response.nodes_size() > 0, "a page that has a next one is not empty");
      request.set_page_token(response.next_page_token());
      response.Clear();
      Check(server_.Call(&DirectoryService::GetRing, request, &response).ok(), "a page is answered");
    }
    std::vector<std::string> wanted;
    for (const ring::NodePtr& node : state.ring.table()->nodes) wanted.push_back(node->id);
    Check(ids == wanted, "pages have every node once");
  }

  void JudgeRead(DirectoryServer::Handler<v1::ListRingsRequest, v1::ListRingsResponse>, v1::ListRingsRequest request,
                 v1::ListRingsResponse response) {
    std::vector<std::string> wanted;
    for (const auto& [name, state] : All()) {
      if (name.starts_with(request.prefix()) && name > request.page_token()) wanted.push_back(name);
    }
    std::vector<std::string> names;
    while (true) {
      for (const v1::Ring& ring : response.rings()) names.push_back(ring.name());
      if (response.next_page_token().empty()) break;
      request.set_page_token(response.next_page_token());
      response.Clear();
      Check(server_.Call(&DirectoryService::ListRings, request, &response).ok(), "a page is answered");
    }
    Check(names == wanted, "pages have every ring once");
  }

  void Watch(std::string_view bytes) {
    constexpr size_t kMostGuests = 3;
    v1::WatchRequest request;
    if (!fuzz::Parse(bytes, &request)) return;
    const absl::Status status = CheckRequest(request, DirectoryServer::kRequestLimits);
    JudgeStatus(ToGrpc(status));
    if (!status.ok()) return;
    if (guests_.size() == kMostGuests) guests_.pop_front();
    guests_.emplace_back(server_.directory(), FromProto(request.selector()), FromProto(request.held()));
    guests_.back().Read(server_.store());
  }

  // Every watcher reads what is new.
  void Read() {
    for (const std::string& ring : server_.TakePublished()) {
      observer_.session().Touch(ring);
      for (Guest& guest : guests_) guest.session().Touch(ring);
    }
    observer_.Read(server_.store());
    for (Guest& guest : guests_) guest.Read(server_.store());
  }

  void Restart() {
    const Rings before = All();
    guests_.clear();
    server_.Restart();
    const Rings after = All();
    Check(before.size() == after.size(), "a start finds every ring");
    for (const auto& [name, state] : after) {
      Check(before.contains(name) && before.at(name)->head == state->head, "a start finds a ring as it was", name);
      JudgeState(*state);
    }
    observer_.Connect(server_.directory());
    observer_.Read(server_.store());
  }

  static RingStatePtr StateIn(const Rings& rings, const std::string& ring) {
    const auto found = rings.find(ring);
    return found == rings.end() ? nullptr : found->second;
  }

  DirectoryServer server_;
  Observer observer_{server_.directory()};
  std::deque<Guest> guests_;
  uint64_t highest_epoch_ = 0;
};

const google::protobuf::Message* PrototypeOf(uint8_t kind) {
  switch (static_cast<Step>(kind % fuzz::kDirectorySteps)) {
    case Step::kCreateRing:
      return &v1::CreateRingRequest::default_instance();
    case Step::kDeleteRing:
      return &v1::DeleteRingRequest::default_instance();
    case Step::kAddNode:
      return &v1::AddNodeRequest::default_instance();
    case Step::kRemoveNode:
      return &v1::RemoveNodeRequest::default_instance();
    case Step::kUpdateNode:
      return &v1::UpdateNodeRequest::default_instance();
    case Step::kApplyChanges:
      return &v1::ApplyChangesRequest::default_instance();
    case Step::kGetRing:
      return &v1::GetRingRequest::default_instance();
    case Step::kListRings:
      return &v1::ListRingsRequest::default_instance();
    case Step::kLookup:
      return &v1::LookupRequest::default_instance();
    case Step::kBatchLookup:
      return &v1::BatchLookupRequest::default_instance();
    case Step::kWatch:
      return &v1::WatchRequest::default_instance();
    case Step::kUpdateRing:
      return &v1::UpdateRingRequest::default_instance();
    case Step::kRefuse:
    case Step::kPass:
    case Step::kRestart:
    case Step::kHeartbeat:
      break;
  }
  return nullptr;
}

}  // namespace
}  // namespace ringd::server

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ringd::server;
  static const bool kLogIsJudged = [] {
    spdlog::set_default_logger(std::make_shared<spdlog::logger>("fuzz", std::make_shared<LineJudge>()));
    spdlog::set_formatter(std::make_unique<LineFormatter>(ringd::server::LogFormat::kText, 4'096));
    return true;
  }();
  (void)kLogIsJudged;
  Story().Play({data, size});
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size, unsigned int seed) {
  static constexpr std::array kWords = {"",  "r",  "s",  "t",      "n1",      "n2",   "n3",
                                        "a", "q1", "q2", "weight", "address", "zone", "metadata"};
  return ringd::fuzz::MutateSteps(data, size, max_size, {seed, kWords}, ringd::server::PrototypeOf);
}
