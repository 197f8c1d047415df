// Every limit of the contract on requests, at its bound and one beyond, with the code and a text that names what it is
// about: the ring, the node, the value, the bound.
#include "server/request_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "ring/error.h"

namespace ringd::server {
namespace {

using ::testing::HasSubstr;

constexpr RequestLimits kLimits{.max_key_bytes = 8, .max_batch_keys = 3, .max_operations = 3, .max_watched_rings = 3};

// --- A request of each type that is accepted, and one that differs from it.

const v1::Node kNode = [] {
  v1::Node node;
  node.set_id("n1");
  return node;
}();

v1::NodeOperation Adding(const v1::Node& node) {
  v1::NodeOperation operation;
  *operation.mutable_add()->mutable_node() = node;
  return operation;
}

template <class Request>
Request Good() {
  Request request;
  if constexpr (requires { request.set_ring(""); }) request.set_ring("r1");
  if constexpr (requires { request.mutable_node(); }) *request.mutable_node() = kNode;
  if constexpr (requires { request.set_node_id(""); }) request.set_node_id("n1");
  if constexpr (requires { request.add_operations(); }) *request.add_operations() = Adding(kNode);
  if constexpr (requires { request.set_key(""); }) request.set_key("k");
  if constexpr (requires { request.add_keys(); }) request.add_keys("k");
  if constexpr (requires { request.mutable_version(); }) request.mutable_version()->set_revision(1);
  if constexpr (requires { request.mutable_from(); }) request.mutable_from()->set_revision(1);
  if constexpr (requires { request.mutable_selector(); }) request.mutable_selector()->mutable_all();
  return request;
}

template <class Request>
absl::Status With(const std::function<void(Request&)>& edit) {
  Request request = Good<Request>();
  edit(request);
  return CheckRequest(request, kLimits);
}

// What to ask with a ring, a node or options that are edited, of every type of request that has them.
using Edited = std::function<absl::Status(const std::function<void(v1::Node&)>&)>;
using EditedOptions = std::function<absl::Status(const std::function<void(v1::MutationOptions&)>&)>;

template <class... Requests>
std::vector<std::function<absl::Status(const std::string&)>> NamingARing() {
  return {[](const std::string& ring) { return With<Requests>([&](auto& request) { request.set_ring(ring); }); }...};
}

template <class... Requests>
std::vector<EditedOptions> HavingOptions() {
  return {[](const auto& edit) { return With<Requests>([&](auto& r) { edit(*r.mutable_options()); }); }...};
}

const std::vector<Edited> kHavingANode = {
    [](const auto& edit) { return With<v1::AddNodeRequest>([&](auto& r) { edit(*r.mutable_node()); }); },
    [](const auto& edit) { return With<v1::UpdateNodeRequest>([&](auto& r) { edit(*r.mutable_node()); }); },
    [](const auto& edit) {
      return With<v1::ApplyChangesRequest>(
          [&](auto& r) { edit(*r.mutable_operations(0)->mutable_add()->mutable_node()); });
    },
    [](const auto& edit) {
      return With<v1::ApplyChangesRequest>([&](auto& r) {
        *r.mutable_operations(0)->mutable_update()->mutable_node() = kNode;
        edit(*r.mutable_operations(0)->mutable_update()->mutable_node());
      });
    },
};

// --- Verdicts.

void ExpectRefused(const absl::Status& status, absl::StatusCode code, std::string_view reason,
                   const std::vector<std::string>& mentions) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_EQ(ring::ReasonOf(status), reason) << status;
  for (const std::string& mention : mentions) EXPECT_THAT(std::string(status.message()), HasSubstr(mention));
}
void ExpectInvalid(const absl::Status& status, const std::vector<std::string>& mentions) {
  ExpectRefused(status, absl::StatusCode::kInvalidArgument, ring::kInvalidField, mentions);
}
void ExpectTooMany(const absl::Status& status, const std::vector<std::string>& mentions) {
  ExpectRefused(status, absl::StatusCode::kResourceExhausted, ring::kLimitExceeded, mentions);
}

std::string Bytes(size_t count) { return std::string(count, 'x'); }

// C0, DEL and C1; and what looks like them.
const std::vector<std::string> kControls = {
    std::string(1, '\0'), "\x01", "\t", "\n", "\r", "\x1b", "\x1f", "\x7f", "\xc2\x80", "\xc2\x85", "\xc2\x9f"};
const std::vector<std::string> kNoControls = {
    " ",  "~", "\xc2\xa0", "\xc2\xad", "\xc3\x80", "\xc3\x9f", "\xe2\x80\xa8", "\xd0\x80", "\xf0\x9f\x98\x80",
    "\"", "\\"};

// --- Every request.

TEST(RequestChecks, TheDefaultsAreThoseOfTheContract) {
  const RequestLimits limits;
  EXPECT_EQ(limits.max_key_bytes, 4'096u);
  EXPECT_EQ(limits.max_batch_keys, 10'000u);
  EXPECT_EQ(limits.max_operations, 10'000u);
  EXPECT_EQ(limits.max_watched_rings, 10'000u);
}

TEST(RequestChecks, ARingNameHasItsForm) {
  auto checks = NamingARing<v1::CreateRingRequest, v1::DeleteRingRequest, v1::AddNodeRequest, v1::RemoveNodeRequest,
                            v1::UpdateNodeRequest, v1::ApplyChangesRequest, v1::GetRingRequest, v1::LookupRequest,
                            v1::BatchLookupRequest, v1::UpdateRingRequest, v1::RestoreVersionRequest,
                            v1::ListChangesRequest, v1::DiffVersionsRequest>();
  checks.push_back([](const std::string& ring) {
    return With<v1::WatchRequest>([&](auto& r) { r.mutable_selector()->mutable_names()->add_rings(ring); });
  });
  checks.push_back([](const std::string& ring) {
    return With<v1::WatchRequest>([&](auto& r) { r.mutable_selector()->set_prefix(ring); });
  });
  checks.push_back([](const std::string& ring) {
    return With<v1::WatchRequest>([&](auto& r) {
      r.add_held()->set_ring(ring);
      r.mutable_held(0)->mutable_position()->mutable_version();
    });
  });
  for (size_t i = 0; i < checks.size(); i++) {
    SCOPED_TRACE(i);
    for (const std::string& name : {std::string("a"), std::string("Z9"), std::string("0._-a"), Bytes(128)}) {
      EXPECT_TRUE(checks[i](name).ok()) << name << ": " << checks[i](name);
    }
    for (const char* name : {".a", "-a", "_a", "a b", "a/b", "a\n", "\xc3\xa9", "a:b", "a\"", "*"}) {
      ExpectInvalid(checks[i](name), {ring::Quote(name), "[A-Za-z0-9][A-Za-z0-9._-]{0,127}"});
    }
    ExpectInvalid(checks[i](Bytes(129)), {ring::Quote(Bytes(129)), "129 bytes", "{0,127}"});
    ExpectInvalid(checks[i](std::string("a\0", 2)), {"\"a\\x00\""});
    ExpectInvalid(checks[i](""), {"is empty"});
  }
}

TEST(RequestChecks, OptionsOfAMutationHaveTheirLimits) {
  const auto checks =
      HavingOptions<v1::CreateRingRequest, v1::DeleteRingRequest, v1::AddNodeRequest, v1::RemoveNodeRequest,
                    v1::UpdateNodeRequest, v1::ApplyChangesRequest, v1::UpdateRingRequest, v1::RestoreVersionRequest>();
  for (size_t i = 0; i < checks.size(); i++) {
    SCOPED_TRACE(i);
    const auto& check = checks[i];
    EXPECT_TRUE(check([](auto& o) { o.set_request_id(Bytes(64)); }).ok());
    ExpectInvalid(check([](auto& o) { o.set_request_id(Bytes(65)); }), {"ring \"r1\"", "request_id", "65", "64"});
    EXPECT_TRUE(check([](auto& o) { o.set_reason(Bytes(1'024)); }).ok());
    ExpectInvalid(check([](auto& o) { o.set_reason(Bytes(1'025)); }), {"ring \"r1\"", "reason", "1025", "1024"});
    const auto waits = [](auto& o) {
      o.mutable_wait_for()->set_share(1);
      o.mutable_wait_for()->mutable_timeout()->set_seconds(1);
    };
    EXPECT_EQ(check(waits).ok(), i != 1) << "only a DeleteRing does not wait: " << check(waits);
    const absl::Status expected_version = check([](auto& o) { o.mutable_expected_version()->set_revision(1); });
    EXPECT_EQ(expected_version.ok(), i != 0) << "only of a CreateRing it must be absent: " << expected_version;
  }
}

TEST(RequestChecks, AWaitIsForAShareAndATimeOfAChangeThatIsMade) {
  const auto check = [](double share, int64_t seconds, int32_t nanos, bool validate_only = false) {
    return With<v1::RemoveNodeRequest>([&](v1::RemoveNodeRequest& request) {
      v1::MutationOptions& options = *request.mutable_options();
      options.set_validate_only(validate_only);
      options.mutable_wait_for()->set_share(share);
      options.mutable_wait_for()->mutable_timeout()->set_seconds(seconds);
      options.mutable_wait_for()->mutable_timeout()->set_nanos(nanos);
    });
  };
  for (const double share : {std::numeric_limits<double>::denorm_min(), 0.5, 1.0}) EXPECT_TRUE(check(share, 1, 0).ok());
  for (const double share : {0.0, -1.0, 1.0000001, 99.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    ExpectInvalid(check(share, 1, 0), {"ring \"r1\"", "wait_for.share is", "above 0 and at most 1"});
  }
  EXPECT_TRUE(check(1, 0, 1).ok());
  EXPECT_TRUE(check(1, 600, 0).ok());
  for (const auto& [seconds, nanos] : std::vector<std::pair<int64_t, int32_t>>{
           {0, 0}, {600, 1}, {601, 0}, {-1, 0}, {0, -1}, {1, 1'000'000'000}, {INT64_MAX, 0}, {INT64_MIN, 0}}) {
    ExpectInvalid(check(1, seconds, nanos), {"wait_for.timeout is", "at most 600 s"});
  }
  ExpectInvalid(check(1, 1, 0, true), {"wait_for", "validate_only"});
  ExpectInvalid(With<v1::DeleteRingRequest>([](auto& request) {
                  request.mutable_options()->mutable_wait_for()->set_share(1);
                  request.mutable_options()->mutable_wait_for()->mutable_timeout()->set_seconds(1);
                }),
                {"wait_for", "DeleteRing"});
}

// --- Rings.

TEST(RequestChecks, CreateRingHasItsLimits) {
  using Edit = std::function<void(v1::CreateRingRequest&)>;
  const std::vector<Edit> accepted = {
      [](auto&) {},
      [](auto& r) { r.set_default_weight(1); },
      [](auto& r) { r.set_default_weight(65'535); },
      [](auto& r) { (*r.mutable_labels())["key"] = Bytes(4'093); },
      [](auto& r) { r.mutable_history_limits(); },
      [](auto& r) { r.mutable_history_limits()->set_max_changes(1); },
      [](auto& r) { r.mutable_history_limits()->mutable_max_age()->set_seconds(1); },
      [](auto& r) { r.mutable_history_limits()->mutable_max_age()->set_seconds(315'576'000'000); },
  };
  for (size_t i = 0; i < accepted.size(); i++) EXPECT_TRUE(With<v1::CreateRingRequest>(accepted[i]).ok()) << i;
  const struct {
    Edit edit;
    std::vector<std::string> mentions;
  } refused[] = {
      {[](auto& r) { r.set_default_weight(0); }, {"default_weight is 0", "1..65535"}},
      {[](auto& r) { r.set_default_weight(65'536); }, {"default_weight is 65536", "1..65535"}},
      {[](auto& r) { (*r.mutable_labels())["key"] = Bytes(4'094); }, {"labels", "4097", "4096"}},
      {[](auto& r) { r.mutable_options()->mutable_expected_version(); }, {"expected_version must be absent"}},
      {[](auto& r) { r.mutable_history_limits()->set_max_changes(0); }, {"max_changes is 0", "at least 1"}},
      {[](auto& r) { r.mutable_history_limits()->mutable_max_age(); }, {"max_age is 0 s", "1..315576000000"}},
      {[](auto& r) { r.mutable_history_limits()->mutable_max_age()->set_nanos(999'999'999); },
       {"max_age is 0 s and 999999999 ns", "1..315576000000"}},
      {[](auto& r) { r.mutable_history_limits()->mutable_max_age()->set_seconds(-1); }, {"max_age is -1 s"}},
      {[](auto& r) { r.mutable_history_limits()->mutable_max_age()->set_seconds(315'576'000'001); },
       {"max_age is 315576000001 s", "1..315576000000"}},
      {[](auto& r) {
         r.mutable_history_limits()->mutable_max_age()->set_seconds(5);
         r.mutable_history_limits()->mutable_max_age()->set_nanos(-1);
       },
       {"max_age is 5 s and -1 ns", "0..999999999"}},
      {[](auto& r) {
         r.mutable_history_limits()->mutable_max_age()->set_seconds(5);
         r.mutable_history_limits()->mutable_max_age()->set_nanos(1'000'000'000);
       },
       {"max_age is 5 s and 1000000000 ns", "0..999999999"}},
  };
  for (const auto& [edit, mentions] : refused) {
    const absl::Status status = With<v1::CreateRingRequest>(edit);
    ExpectInvalid(status, mentions);
    ExpectInvalid(status, {"ring \"r1\": "});
  }
}

TEST(RequestChecks, APageIsNotNegativeAndAListTakesAnEmptyPrefix) {
  for (const int32_t size : {0, 1, INT32_MAX}) {
    EXPECT_TRUE(With<v1::GetRingRequest>([&](auto& r) { r.set_page_size(size); }).ok());
    EXPECT_TRUE(With<v1::ListRingsRequest>([&](auto& r) { r.set_page_size(size); }).ok());
  }
  for (const int32_t size : {-1, INT32_MIN}) {
    const std::string text = "page_size is " + std::to_string(size);
    ExpectInvalid(With<v1::GetRingRequest>([&](auto& r) { r.set_page_size(size); }), {"ring \"r1\": ", text});
    ExpectInvalid(With<v1::ListRingsRequest>([&](auto& r) { r.set_page_size(size); }), {text});
  }
  EXPECT_TRUE(With<v1::ListRingsRequest>([](auto& r) { r.set_prefix(""); }).ok());
  EXPECT_TRUE(With<v1::ListRingsRequest>([](auto& r) { r.set_prefix(Bytes(128)); }).ok());
  ExpectInvalid(With<v1::ListRingsRequest>([](auto& r) { r.set_prefix(Bytes(129)); }), {"129 bytes"});
  ExpectInvalid(With<v1::ListRingsRequest>([](auto& r) { r.set_prefix("a b"); }), {"\"a b\""});
}

// --- Nodes.

TEST(RequestChecks, ANodeIdHasOneTo255BytesWithoutControlCharacters) {
  std::vector<std::function<absl::Status(const std::string&)>> checks = {
      [](const auto& id) { return With<v1::RemoveNodeRequest>([&](auto& r) { r.set_node_id(id); }); },
      [](const auto& id) {
        return With<v1::ApplyChangesRequest>([&](auto& r) { r.add_operations()->mutable_remove()->set_node_id(id); });
      }};
  for (const Edited& edited : kHavingANode) {
    checks.push_back([&edited](const auto& id) { return edited([&](v1::Node& node) { node.set_id(id); }); });
  }
  for (size_t i = 0; i < checks.size(); i++) {
    SCOPED_TRACE(i);
    EXPECT_TRUE(checks[i]("n").ok());
    EXPECT_TRUE(checks[i](Bytes(255)).ok());
    for (const std::string& character : kNoControls) EXPECT_TRUE(checks[i](character).ok()) << character;
    ExpectInvalid(checks[i](""), {"ring \"r1\": ", "node id is empty, it must have 1..255 bytes"});
    ExpectInvalid(checks[i](Bytes(256)), {"ring \"r1\": ", "node id " + ring::Quote(Bytes(256)), "256", "255"});
    for (const std::string& character : kControls) {
      const std::string id = "a" + character + "b";
      ExpectInvalid(checks[i](id), {"ring \"r1\": ", "node id " + ring::Quote(id), "control characters"});
    }
  }
}

TEST(RequestChecks, TheTextsOfANodeHave255BytesWithoutControlCharacters) {
  const struct {
    std::string name;
    std::function<void(v1::Node&, const std::string&)> set;
  } texts[] = {
      {"address", [](v1::Node& node, const std::string& text) { node.set_address(text); }},
      {"zone", [](v1::Node& node, const std::string& text) { node.set_zone(text); }},
      {"hash_key", [](v1::Node& node, const std::string& text) { node.set_hash_key(text); }},
  };
  for (const auto& [name, set] : texts) {
    for (size_t i = 0; i < kHavingANode.size(); i++) {
      SCOPED_TRACE(name + " " + std::to_string(i));
      const auto check = [&, &set = set](const std::string& text) {
        return kHavingANode[i]([&](v1::Node& node) { set(node, text); });
      };
      EXPECT_TRUE(check("").ok());
      EXPECT_TRUE(check(Bytes(255)).ok());
      ExpectInvalid(check(Bytes(256)), {"ring \"r1\": ", "node \"n1\"", name, "256", "255"});
      for (const std::string& character : kNoControls) EXPECT_TRUE(check(character).ok()) << character;
      for (const std::string& character : kControls) {
        ExpectInvalid(check(character), {"ring \"r1\": ", "node \"n1\"", name, ring::Quote(character), "control"});
      }
    }
  }
}

TEST(RequestChecks, WeightAndMetadataOfANodeHaveTheirLimits) {
  for (size_t i = 0; i < kHavingANode.size(); i++) {
    SCOPED_TRACE(i);
    const Edited& check = kHavingANode[i];
    EXPECT_TRUE(check([](v1::Node&) {}).ok()) << "a weight may be absent";
    for (const uint32_t weight : {0u, 65'535u}) {
      EXPECT_TRUE(check([&](v1::Node& node) { node.set_weight(weight); }).ok());
    }
    for (const uint32_t weight : {65'536u, UINT32_MAX}) {
      ExpectInvalid(check([&](v1::Node& node) { node.set_weight(weight); }),
                    {"ring \"r1\": ", "node \"n1\"", "weight " + std::to_string(weight), "65535"});
    }
    const auto with_metadata = [&](size_t value_bytes) {
      return check([&](v1::Node& node) {
        (*node.mutable_metadata())["k1"] = Bytes(2'000);
        (*node.mutable_metadata())["k2"] = Bytes(value_bytes);
      });
    };
    EXPECT_TRUE(with_metadata(4'096 - 2'004).ok());
    ExpectInvalid(with_metadata(4'097 - 2'004), {"ring \"r1\": ", "node \"n1\"", "metadata", "4097", "4096"});
  }
}

TEST(RequestChecks, AChangeHasAtLeastOneOperationAndNotTooMany) {
  const auto with_operations = [](size_t count) {
    return With<v1::ApplyChangesRequest>([&](auto& r) {
      r.clear_operations();
      for (size_t i = 0; i < count; i++) *r.add_operations() = Adding(kNode);
    });
  };
  ExpectInvalid(with_operations(0), {"ring \"r1\": ", "operations is empty"});
  EXPECT_TRUE(with_operations(1).ok());
  EXPECT_TRUE(with_operations(3).ok());
  ExpectTooMany(with_operations(4), {"ring \"r1\": ", "4 operations", "3"});
}

v1::SlotRange Slots(uint32_t first, uint32_t last, const std::vector<std::string>& owners) {
  v1::SlotRange range;
  range.set_first(first);
  range.set_last(last);
  for (const std::string& owner : owners) range.add_node_ids(owner);
  return range;
}

TEST(RequestChecks, AnImportHasRangesOfEverySlot) {
  const auto with_ranges = [](const std::vector<v1::SlotRange>& ranges) {
    return With<v1::ImportSlotsRequest>([&](auto& r) {
      for (const char* id : {"a", "b"}) r.add_nodes()->set_id(id);
      r.mutable_ranges()->Assign(ranges.begin(), ranges.end());
    });
  };
  EXPECT_TRUE(with_ranges({Slots(100, 16'383, {"b", "a"}), Slots(0, 99, {"a"})}).ok());
  ExpectInvalid(with_ranges({}), {"ring \"r1\": ", "slot 0 is in none of the ranges"});
  ExpectInvalid(with_ranges({Slots(0, 16'384, {"a"})}), {"ranges[0]: 0..16384 is not in 0..16383"});
  ExpectInvalid(with_ranges({Slots(0, 9, {"a"}), Slots(9, 9, {"a"})}), {"ranges[1]: 9..9 tells slot 9 again"});
  ExpectInvalid(with_ranges({Slots(0, 9, {"a", "c"})}), {"ranges[0]: 0..9 names node \"c\", which is not in nodes"});
  ExpectInvalid(with_ranges({Slots(0, 9, {"a", "a"})}), {"ranges[0]: 0..9 names node \"a\" twice"});
  ExpectInvalid(with_ranges({Slots(0, 9, std::vector<std::string>(9, "a"))}),
                {"ranges[0]: 0..9 has 9 owners, the most is 8"});
}

TEST(RequestChecks, AnImportHasRangesOrSlotOwnersOfItsNodes) {
  const auto with_owners = [](const std::vector<uint32_t>& slot_owners, size_t ranges = 0) {
    return With<v1::ImportSlotsRequest>([&](auto& r) {
      for (const char* id : {"a", "b"}) r.add_nodes()->set_id(id);
      r.mutable_slot_owners()->Assign(slot_owners.begin(), slot_owners.end());
      for (size_t i = 0; i < ranges; i++) *r.add_ranges() = Slots(0, 16'383, {"a"});
    });
  };
  EXPECT_TRUE(with_owners({1, 2, 0}).ok()) << "how many there must be the ring says";
  ExpectInvalid(with_owners({1, 3}), {"ring \"r1\": ", "slot_owners[1] is 3; of 2 nodes it must be 0..2"});
  ExpectInvalid(with_owners({1, 2, 0}, 1), {"ring \"r1\": ", "ranges and slot_owners are both told, 1 and 3"});
}

// --- Lookups.

TEST(RequestChecks, UpdateRingHasTheLimitsOfCreateRing) {
  using Request = v1::UpdateRingRequest;
  EXPECT_TRUE(With<Request>([](auto&) {}).ok());
  EXPECT_TRUE(With<Request>([](auto& r) { r.set_default_weight(65'535); }).ok());
  ExpectInvalid(With<Request>([](auto& r) { r.set_default_weight(0); }), {"r1", "default_weight", "0", "65535"});
  ExpectInvalid(With<Request>([](auto& r) { r.set_default_weight(65'536); }), {"r1", "65536", "65535"});
  EXPECT_TRUE(With<Request>([](auto& r) { (*r.mutable_labels())["k"] = Bytes(4'095); }).ok());
  ExpectInvalid(With<Request>([](auto& r) { (*r.mutable_labels())["k"] = Bytes(4'096); }), {"labels", "4097", "4096"});
  ExpectInvalid(With<Request>([](auto& r) { r.mutable_history_limits()->set_max_changes(0); }), {"max_changes", "0"});
  ExpectInvalid(With<Request>([](auto& r) { r.mutable_history_limits()->mutable_max_age(); }), {"max_age", "0 s"});
}

TEST(RequestChecks, AVersionToRestoreHasARevision) {
  using Request = v1::RestoreVersionRequest;
  EXPECT_TRUE(With<Request>([](auto& r) { r.mutable_version()->set_revision(1); }).ok());
  ExpectInvalid(With<Request>([](auto& r) { r.clear_version(); }), {"r1", "version is 0/0"});
  ExpectInvalid(With<Request>([](auto& r) {
                  r.mutable_version()->set_epoch(7);
                  r.mutable_version()->set_revision(0);
                }),
                {"version is 7/0", "at least 1"});
}

TEST(RequestChecks, VersionsToCompareHaveARevisionAndFromIsNamed) {
  using Request = v1::DiffVersionsRequest;
  EXPECT_TRUE(With<Request>([](auto& r) { r.mutable_to()->set_revision(1); }).ok());
  ExpectInvalid(With<Request>([](auto& r) { r.clear_from(); }), {"r1", "from is missing"});
  ExpectInvalid(With<Request>([](auto& r) { r.mutable_from()->set_revision(0); }), {"from is 0/0", "at least 1"});
  ExpectInvalid(With<Request>([](auto& r) { r.mutable_to()->set_epoch(7); }), {"to is 7/0", "at least 1"});
}

TEST(RequestChecks, ATokenOfAHistoryIsOneThatWasAnswered) {
  const auto with = [](const std::string& token) {
    return With<v1::ListChangesRequest>([&](auto& r) { r.set_page_token(token); });
  };
  for (const char* token : {"", "1/1", "18446744073709551615/18446744073709551615"}) {
    EXPECT_TRUE(with(token).ok()) << token;
  }
  for (const char* token : {"x", "1", "1/", "/1", "1/0", "1/-1", "-1/1", "+1/1", " 1/1", "1/1 ", "1/1/1", "1/1x",
                            "18446744073709551616/1", "1/18446744073709551616"}) {
    ExpectInvalid(with(token), {"page_token", token});
  }
  ExpectInvalid(With<v1::ListChangesRequest>([](auto& r) { r.set_page_size(-1); }), {"page_size", "-1"});
}

TEST(RequestChecks, OwnersAreOneTo64) {
  for (const uint32_t owners : {1u, 64u}) {
    EXPECT_TRUE(With<v1::LookupRequest>([&](auto& r) { r.set_owners(owners); }).ok());
    EXPECT_TRUE(With<v1::BatchLookupRequest>([&](auto& r) { r.set_owners(owners); }).ok());
  }
  for (const uint32_t owners : {0u, 65u, UINT32_MAX}) {
    const std::vector<std::string> mentions = {"ring \"r1\": ", "owners is " + std::to_string(owners), "1..64"};
    ExpectInvalid(With<v1::LookupRequest>([&](auto& r) { r.set_owners(owners); }), mentions);
    ExpectInvalid(With<v1::BatchLookupRequest>([&](auto& r) { r.set_owners(owners); }), mentions);
  }
}

TEST(RequestChecks, AKeyIsNotEmptyAndNotTooLong) {
  const auto lookup = [](const std::string& key) { return With<v1::LookupRequest>([&](auto& r) { r.set_key(key); }); };
  const auto batch = [](const std::string& key) {
    return With<v1::BatchLookupRequest>([&](auto& r) { r.add_keys(key); });
  };
  for (const std::string& key : {std::string("x"), std::string(8, '\0'), std::string(8, '\xff')}) {
    EXPECT_TRUE(lookup(key).ok());
    EXPECT_TRUE(batch(key).ok());
  }
  ExpectInvalid(lookup(""), {"ring \"r1\": ", "key is empty, it must have 1..8 bytes"});
  ExpectInvalid(batch(""), {"ring \"r1\": ", "keys[1]: key is empty, it must have 1..8 bytes"});
  ExpectInvalid(lookup("123456789"), {"ring \"r1\": ", "key \"123456789\" has 9 bytes, the limit is 8"});
  ExpectInvalid(batch("123456789"), {"ring \"r1\": ", "keys[1]: key \"123456789\" has 9 bytes, the limit is 8"});
}

TEST(RequestChecks, ALookupHasATarget) {
  EXPECT_TRUE(With<v1::LookupRequest>([](auto& r) { r.set_position(0); }).ok());
  ExpectInvalid(With<v1::LookupRequest>([](auto& r) { r.clear_target(); }), {"ring \"r1\": ", "key is missing"});
}

TEST(RequestChecks, ABatchHasNotTooManyKeys) {
  const auto with_keys = [](size_t count) {
    return With<v1::BatchLookupRequest>([&](auto& r) {
      r.clear_keys();
      for (size_t i = 0; i < count; i++) r.add_keys("k");
    });
  };
  EXPECT_TRUE(with_keys(0).ok());
  EXPECT_TRUE(with_keys(3).ok());
  ExpectTooMany(with_keys(4), {"ring \"r1\": ", "4 keys", "3"});
}

// --- Watches.

v1::WatchRequest WatchOf(const std::vector<std::string>& names) {
  v1::WatchRequest request;
  request.mutable_selector()->mutable_names();
  for (const std::string& name : names) request.mutable_selector()->mutable_names()->add_rings(name);
  return request;
}

v1::WatchRequest Holding(v1::WatchRequest request, const std::vector<std::string>& rings) {
  for (const std::string& ring : rings) {
    v1::HeldRing& held = *request.add_held();
    held.set_ring(ring);
    held.mutable_position()->mutable_version()->set_revision(1);
  }
  return request;
}

TEST(RequestChecks, ASelectorIsNamedAndNamesNotTooManyRings) {
  ExpectInvalid(With<v1::WatchRequest>([](auto& r) { r.clear_selector(); }), {"names, prefix, all"});
  ExpectInvalid(With<v1::WatchRequest>([](auto& r) { r.mutable_selector()->Clear(); }), {"names, prefix, all"});
  ExpectInvalid(CheckRequest(WatchOf({}), kLimits), {"names no ring"});
  EXPECT_TRUE(CheckRequest(WatchOf({"a"}), kLimits).ok());
  EXPECT_TRUE(CheckRequest(WatchOf({"a", "b", "c"}), kLimits).ok());
  ExpectTooMany(CheckRequest(WatchOf({"a", "b", "c", "d"}), kLimits), {"4 rings", "3"});
}

TEST(RequestChecks, AHeldRingIsSelectedOnceAndHasAVersion) {
  v1::WatchRequest prefix;
  prefix.mutable_selector()->set_prefix("a");
  v1::WatchRequest all;
  all.mutable_selector()->mutable_all();
  const struct {
    v1::WatchRequest request;
    std::string refused;  // empty = accepted
  } cases[] = {
      {Holding(WatchOf({"a", "b"}), {"b", "a"}), ""},
      {Holding(WatchOf({"a", "b"}), {"a", "c"}), "ring \"c\" is held but not selected"},
      {Holding(WatchOf({"ab"}), {"a"}), "ring \"a\" is held but not selected"},
      {Holding(WatchOf({"a", "b"}), {"a", "b", "a"}), "ring \"a\" is held twice"},
      {Holding(prefix, {"a", "ab"}), ""},
      {Holding(prefix, {"b"}), "ring \"b\" is held but not selected"},
      {Holding(prefix, {"ab", "ab"}), "ring \"ab\" is held twice"},
      {Holding(all, {"a", "b", "c", "d"}), ""},
      {Holding(all, {"a", "a"}), "ring \"a\" is held twice"},
  };
  for (const auto& [request, refused] : cases) {
    const absl::Status status = CheckRequest(request, kLimits);
    if (refused.empty()) {
      EXPECT_TRUE(status.ok()) << status;
    } else {
      ExpectInvalid(status, {refused});
    }
  }
  v1::WatchRequest versionless = Holding(all, {"a"});
  versionless.mutable_held(0)->mutable_position()->clear_version();
  ExpectInvalid(CheckRequest(versionless, kLimits), {"ring \"a\" has no version"});
  versionless.mutable_held(0)->clear_position();
  ExpectInvalid(CheckRequest(versionless, kLimits), {"ring \"a\" has no version"});
}

TEST(RequestChecks, AWatcherIsNamedIn255Bytes) {
  const auto named = [](const std::string& watcher) {
    return With<v1::WatchRequest>([&](auto& r) { r.set_watcher(watcher); });
  };
  EXPECT_TRUE(named("").ok());
  EXPECT_TRUE(named(Bytes(255)).ok());
  ExpectInvalid(named(Bytes(256)), {"watcher", "256", "255"});
  ExpectInvalid(named("a\nb"), {"watcher \"a\\x0Ab\"", "control characters"});
}

v1::ReportWatchRequest ReportOf(const std::string& watcher, const std::vector<std::string>& rings) {
  v1::ReportWatchRequest request;
  request.set_watcher(watcher);
  for (const std::string& ring : rings) {
    v1::HeldRing* applied = request.add_applied();
    applied->set_ring(ring);
    applied->mutable_position()->mutable_version();
  }
  return request;
}

TEST(RequestChecks, AReportHasANameAndEachRingOnce) {
  const auto check = [](const std::string& watcher, const std::vector<std::string>& rings) {
    return CheckRequest(ReportOf(watcher, rings), kLimits);
  };
  EXPECT_TRUE(check("w", {"a"}).ok());
  EXPECT_TRUE(check(Bytes(255), {"a", "b", "c"}).ok());
  ExpectInvalid(check("", {"a"}), {"watcher is empty"});
  ExpectInvalid(check(Bytes(256), {"a"}), {"watcher", "256", "255"});
  for (const std::string& control : kControls) ExpectInvalid(check("w" + control, {"a"}), {"control characters"});
  for (const std::string& text : kNoControls) EXPECT_TRUE(check("w" + text, {"a"}).ok()) << text;
  ExpectInvalid(check("w", {}), {"applied is empty"});
  ExpectTooMany(check("w", {"a", "b", "c", "d"}), {"4 rings", "3"});
  ExpectInvalid(check("w", {"a", "b", "a"}), {"ring \"a\" is applied twice"});
  ExpectInvalid(check("w", {"a", ""}), {"ring is empty"});
  v1::ReportWatchRequest versionless = ReportOf("w", {"a"});
  versionless.mutable_applied(0)->mutable_position()->clear_version();
  ExpectInvalid(CheckRequest(versionless, kLimits), {"ring \"a\" has no version"});
  versionless.mutable_applied(0)->clear_position();
  ExpectInvalid(CheckRequest(versionless, kLimits), {"ring \"a\" has no version"});
}

TEST(RequestChecks, AReportIsOfTheLastHour) {
  const auto ago = [](int64_t seconds, int32_t nanos) {
    v1::ReportWatchRequest request = ReportOf("w", {"a"});
    request.mutable_ago()->set_seconds(seconds);
    request.mutable_ago()->set_nanos(nanos);
    return CheckRequest(request, kLimits);
  };
  EXPECT_TRUE(ago(0, 0).ok());
  EXPECT_TRUE(ago(0, 1).ok());
  EXPECT_TRUE(ago(3'599, 999'999'999).ok());
  EXPECT_TRUE(ago(3'600, 0).ok());
  ExpectInvalid(ago(3'600, 1), {"ago is 3600 s and 1 ns", "0..3600 s"});
  ExpectInvalid(ago(-1, 0), {"ago is -1 s"});
  ExpectInvalid(ago(0, -1), {"-1 ns"});
  ExpectInvalid(ago(0, 1'000'000'000), {"1000000000 ns"});
  ExpectInvalid(ago(INT64_MAX, 0), {"0..3600 s"});
}

TEST(RequestChecks, ListWatchersTakesARingOrNoneAndItsOwnTokens) {
  const auto check = [](const std::function<void(v1::ListWatchersRequest&)>& edit) {
    return With<v1::ListWatchersRequest>(edit);
  };
  for (const char* ring : {"", "r"}) EXPECT_TRUE(check([&](auto& r) { r.set_ring(ring); }).ok());
  ExpectInvalid(check([](auto& r) { r.set_ring("a b"); }), {"\"a b\""});
  ExpectInvalid(check([](auto& r) { r.set_page_size(-1); }), {"page_size is -1"});
  for (const char* token : {"", "r/1/", "r/1/w", "r/18446744073709551615/a/b"}) {
    EXPECT_TRUE(check([&](auto& r) { r.set_page_token(token); }).ok()) << token;
  }
  for (const char* token : {"r", "r/", "r/1", "/1/w", "r//w", "r/-1/w", "r/x/w", "r/18446744073709551616/w", "\n"}) {
    ExpectInvalid(check([&](auto& r) { r.set_page_token(token); }), {"page_token " + ring::Quote(token)});
  }
}

}  // namespace
}  // namespace ringd::server
