// Writes the inputs that fuzzing begins from: make_corpus DIR, which is tests/fuzz/corpus. They are checked in; run it
// again when the messages have grown. Files that it does not name are left alone: they are inputs that went wrong once.
#include <google/protobuf/text_format.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "proto/codec.h"
#include "proto/serialize.h"
#include "proto/status_codec.h"
#include "ring/error.h"
#include "server/storage_codec.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/inputs.h"
#include "tests/server/store_test_data.h"

namespace ringd {
namespace {

using fuzz::CodecKind;
using fuzz::CopyStep;
using fuzz::DirectoryStep;
using fuzz::Output;
using fuzz::RecordKind;
using fuzz::SavedStep;

class Corpus {
 public:
  Corpus(const std::filesystem::path& dir, const std::string& target) : dir_(dir / target) {
    std::filesystem::create_directories(dir_);
  }
  void Write(const std::string& name, const std::string& bytes) const {
    std::ofstream(dir_ / name, std::ios::binary) << bytes;
  }

 private:
  const std::filesystem::path dir_;
};

// The bytes of a message that is given as text.
template <class Message>
std::string Bytes(const std::string& text) {
  Message message;
  fuzz::Check(google::protobuf::TextFormat::ParseFromString(text, &message), "the text is a message", text);
  return SerializeDeterministic(message);
}

template <class Enum>
uint8_t NumberOf(Enum value) {
  return static_cast<uint8_t>(value);
}

// --- directory

// Of the first ring: the time at which a DirectoryServer begins, in milliseconds, above 20 random bits that are 0.
const std::string kEpoch = std::to_string(uint64_t{1'700'000'000'000} << 20);

class Steps {
 public:
  template <class Request>
  Steps& Call(DirectoryStep step, const std::string& text) {
    out_.Byte(NumberOf(step)).Piece(Bytes<Request>(text));
    return *this;
  }
  Steps& Create(const std::string& rest = "") {
    return Call<v1::CreateRingRequest>(DirectoryStep::kCreateRing, "ring: 'r' placement { hashed {} } " + rest);
  }
  Steps& Add(const std::string& node, const std::string& options = "") {
    return Call<v1::AddNodeRequest>(DirectoryStep::kAddNode,
                                    "ring: 'r' node { " + node + " } options { " + options + " }");
  }
  Steps& Update(const std::string& node, const std::string& paths, const std::string& options = "") {
    return Call<v1::UpdateNodeRequest>(DirectoryStep::kUpdateNode, "ring: 'r' node { " + node + " } update_mask { " +
                                                                       paths + " } options { " + options + " }");
  }
  Steps& Apply(const std::string& operations) {
    return Call<v1::ApplyChangesRequest>(DirectoryStep::kApplyChanges, "ring: 'r' " + operations);
  }
  Steps& Watch(const std::string& request) { return Call<v1::WatchRequest>(DirectoryStep::kWatch, request); }
  Steps& Control(DirectoryStep step) {
    out_.Byte(NumberOf(step)).Number(0);
    return *this;
  }
  Steps& Refuse(uint8_t how) {
    out_.Byte(NumberOf(DirectoryStep::kRefuse)).Number(1).Byte(how);
    return *this;
  }
  Steps& Pass(uint16_t seconds) {
    out_.Byte(NumberOf(DirectoryStep::kPass)).Number(2).Number(seconds);
    return *this;
  }
  const std::string& bytes() const { return out_.bytes(); }

 private:
  Output out_;
};

void WriteDirectory(const Corpus& corpus) {
  const std::string three =
      "operations { add { node { id: 'n1' weight: 3 zone: 'a' } } } "
      "operations { add { node { id: 'n2' weight: 2 zone: 'b' } } } "
      "operations { add { node { id: 'n3' weight: 2 } } }";
  corpus.Write(
      "add-update-remove",
      Steps()
          .Create("default_weight: 2 labels { key: 'team' value: 'storage' } history_limits { max_changes: 2 }")
          .Add("id: 'n1' address: '10.0.0.1:7000' zone: 'a' metadata { key: 'rack' value: 'r1' }",
               "request_id: 'q1' reason: 'first'")
          .Add("id: 'n2' weight: 3 hash_key: 'old'", "expected_version { epoch: " + kEpoch + " revision: 2 }")
          .Update("id: 'n1' weight: 1", "paths: 'weight' paths: 'zone'", "force: true request_id: 'q2'")
          .Call<v1::RemoveNodeRequest>(DirectoryStep::kRemoveNode,
                                       "ring: 'r' node_id: 'n2' options { force: true request_id: 'q3' }")
          .Control(DirectoryStep::kHeartbeat)
          .Control(DirectoryStep::kRestart)
          .Add("id: 'n2' weight: 3 hash_key: 'old'")
          .Call<v1::DeleteRingRequest>(DirectoryStep::kDeleteRing, "ring: 'r' options { request_id: 'q4' }")
          .Call<v1::DeleteRingRequest>(DirectoryStep::kDeleteRing, "ring: 'r' options { force: true request_id: 'q5' }")
          .Create()
          .bytes());
  corpus.Write("reads", Steps()
                            .Create()
                            .Apply(three)
                            .Call<v1::LookupRequest>(DirectoryStep::kLookup, "ring: 'r' key: 'user:17' owners: 2")
                            .Call<v1::LookupRequest>(DirectoryStep::kLookup,
                                                     "ring: 'r' position: 9 min_version { epoch: 1 revision: 9 }")
                            .Call<v1::BatchLookupRequest>(DirectoryStep::kBatchLookup,
                                                          "ring: 'r' keys: 'a' keys: 'b' keys: 'c' owners: 3")
                            .Call<v1::GetRingRequest>(DirectoryStep::kGetRing, "ring: 'r' page_size: 2")
                            .Call<v1::ListRingsRequest>(DirectoryStep::kListRings, "prefix: 'r' page_size: 1")
                            .bytes());
  corpus.Write("watches",
               Steps()
                   .Watch("selector { prefix: 'r' } watcher: 'w'")
                   .Create()
                   .Apply(three)
                   .Watch("selector { names { rings: 'r' rings: 'other' } } "
                          "held { ring: 'r' position { version { epoch: " +
                          kEpoch + " revision: 1 } } }")
                   .Watch("selector { all {} } held { ring: 'r' position { version { epoch: " + kEpoch +
                          " revision: 1 } checksum { algorithm: 1 value: 7 } } }")
                   .Add("id: 'n4' weight: 1")
                   .Control(DirectoryStep::kHeartbeat)
                   .Call<v1::DeleteRingRequest>(DirectoryStep::kDeleteRing, "ring: 'r' options { force: true }")
                   .bytes());
  corpus.Write(
      "plans-and-guards",
      Steps()
          .Create("options { validate_only: true }")
          .Create()
          .Apply(three + " options { validate_only: true }")
          .Apply(three)
          .Update("id: 'n1' weight: 0", "paths: 'weight'")
          .Apply("operations { remove { node_id: 'n1' } } operations { remove { node_id: 'n2' } } "
                 "options { validate_only: true }")
          .Apply("operations { remove { node_id: 'n1' } } operations { update { node { id: 'n2' } update_mask "
                 "{ paths: 'metadata' paths: 'address' } } } operations { add { node { id: 'n1b' hash_key: 'n1' "
                 "} } } options { force: true }")
          .bytes());
  corpus.Write("refusals", Steps()
                               .Create("options { request_id: 'q' }")
                               .Refuse(0)
                               .Add("id: 'n1' weight: 1", "request_id: 'q1'")
                               .Refuse(1)
                               .Add("id: 'n1' weight: 1", "request_id: 'q1'")
                               .Add("id: 'n1' weight: 1", "request_id: 'q1'")
                               .Add("id: 'n1' weight: 2", "request_id: 'q1'")
                               .Pass(60'000)
                               .Add("id: '' weight: 70000")
                               .Add("id: 'n\\n2\\033[2J'")
                               .Call<v1::UpdateRingRequest>(DirectoryStep::kUpdateRing, "ring: 'r' default_weight: 1")
                               .bytes());
  corpus.Write("points", Steps()
                             .Call<v1::CreateRingRequest>(DirectoryStep::kCreateRing,
                                                          "ring: 'r' placement { points { last_position: 999 } }")
                             .Add("id: 'n1' weight: 1 points: 7 points: 900")
                             .Add("id: 'n2' weight: 1 points: 900 points: 0")
                             .Add("id: 'n3' weight: 1 points: 1000")
                             .Call<v1::LookupRequest>(DirectoryStep::kLookup, "ring: 'r' position: 8 owners: 2")
                             .bytes());
  corpus.Write("points-of-nobody",
               Steps()
                   .Call<v1::CreateRingRequest>(DirectoryStep::kCreateRing, "ring: 'r' placement { points {} }")
                   .Add("id: 'n1' weight: 1")
                   .Add("id: 'n2' weight: 0 points: 7")
                   .Update("id: 'n1' points: 9", "paths: 'points'")
                   .Update("id: 'n1'", "paths: 'points'")
                   .Update("id: 'n1'", "paths: 'points'", "force: true")
                   .Call<v1::LookupRequest>(DirectoryStep::kLookup, "ring: 'r' position: 8")
                   .bytes());
  corpus.Write("slots", Steps()
                            .Call<v1::CreateRingRequest>(DirectoryStep::kCreateRing,
                                                         "ring: 'r' placement { slots { slot_bits: 10 owners: 2 } }")
                            .Add("id: 'n2' weight: 2")
                            .Add("id: 'n1' weight: 3")
                            .Add("id: 'n3' weight: 2")
                            .Call<v1::LookupRequest>(DirectoryStep::kLookup, "ring: 'r' key: 'k' owners: 3")
                            .bytes());
  corpus.Write("limits",
               Steps()
                   .Create("default_weight: 65535 ")
                   .Add("id: 'n1'")
                   .Call<v1::CreateRingRequest>(DirectoryStep::kCreateRing,
                                                "ring: 's' placement { hashed { points_per_weight: 65536 } }")
                   .Call<v1::CreateRingRequest>(DirectoryStep::kCreateRing, "ring: 't' placement { slots {} }")
                   .Call<v1::CreateRingRequest>(DirectoryStep::kCreateRing,
                                                "ring: 'u' placement { hashed { points_per_weight: 1 } }")
                   .Call<v1::CreateRingRequest>(DirectoryStep::kCreateRing,
                                                "ring: 'v' placement { hashed { points_per_weight: 1 } }")
                   .bytes());
}

// --- local_copy

class Stream {
 public:
  Stream& Say(const std::string& text) {
    out_.Byte(NumberOf(CopyStep::kReceive)).Piece(Bytes<v1::WatchResponse>(text));
    return *this;
  }
  Stream& Lose(uint8_t code) {
    out_.Byte(NumberOf(CopyStep::kLose)).Number(1).Byte(code);
    return *this;
  }
  Stream& Pass(uint16_t millis) {
    out_.Byte(NumberOf(CopyStep::kPass)).Number(2).Number(millis);
    return *this;
  }
  const std::string& bytes() const { return out_.bytes(); }

 private:
  Output out_;
};

// A snapshot or change as a directory would tell it, but for its nodes, which are given as text; the checksum is that
// of the nodes in `after`.
std::string Told(uint64_t revision, const std::vector<ring::Node>& after) {
  const auto ring = ring::Ring::Create({}, after);
  return "version { epoch: 7 revision: " + std::to_string(revision) +
         " } checksum { algorithm: 1 value: " + std::to_string(ring->checksum()) + " } ";
}

void WriteLocalCopy(const Corpus& corpus) {
  const std::string settings = "name: 'r' placement { hashed {} } default_weight: 100 ";
  const std::string one = "id: 'n1' weight: 3 hash_key: 'n1' zone: 'a'";
  const std::string two = "id: 'n2' weight: 2 hash_key: 'n2' metadata { key: 'rack' value: 'r1' }";
  const ring::Node first{.id = "n1", .weight = 3, .zone = "a", .hash_key = "n1"};
  const ring::Node second{.id = "n2", .weight = 2, .hash_key = "n2", .metadata = {{"rack", "r1"}}};
  const std::string snapshot =
      "snapshot { ring { " + settings + Told(5, {first}) + "} nodes { " + one + " } last: true }";
  const std::string in_sync = "in_sync { ring: 'r' version { epoch: 7 revision: 5 } }";
  const std::string added =
      "change { ring: 'r' from_revision: 5 " + Told(6, {first, second}) + " nodes { added { " + two + " } } }";
  corpus.Write("snapshot-change-outage",
               Stream()
                   .Say(snapshot)
                   .Say(in_sync)
                   .Say("in_sync {}")
                   .Say(added)
                   .Say("heartbeat { moved { ring: 'r' version { epoch: 7 revision: 6 } } }")
                   .Lose(14)
                   .Pass(6'000)
                   .Say("change { ring: 'r' from_revision: 6 " + Told(7, {second}) + " nodes { removed: 'n1' } }")
                   .Pass(31'000)
                   .bytes());
  corpus.Write("chunks",
               Stream()
                   .Say("snapshot { ring { " + settings + Told(5, {first, second}) + "} nodes { " + one + " } }")
                   .Say("snapshot { ring { " + settings + Told(5, {first, second}) + "} nodes { " + two +
                        " } chunk: 1 last: true }")
                   .Say(in_sync)
                   .Say("snapshot { ring { " + settings + Told(4, {first}) + "} nodes { " + one +
                        " } last: true rewound: true }")
                   .Say("deleted { ring: 'r' version { epoch: 7 revision: 5 } }")
                   .Say("absent { ring: 'r' }")
                   .bytes());
  corpus.Write(
      "wrong-checksums",
      Stream()
          .Say(snapshot)
          .Say("change { ring: 'r' from_revision: 5 " + Told(6, {second}) + " nodes { added { " + two + " } } }")
          .Say("snapshot { ring { " + settings + Told(6, {second}) + "} nodes { " + one + " } last: true }")
          .Say(snapshot)
          .bytes());
  corpus.Write(
      "what-this-build-does-not-know",
      Stream()
          .Say("snapshot { ring { name: 'r' placement { slots {} } version { epoch: 7 revision: 5 } "
               "checksum { algorithm: 2 value: 1 } } last: true }")
          .Say("change { ring: 'r' from_revision: 5 version { epoch: 7 revision: 6 } slot_moves { first: 1 last: "
               "2 node_ids: 'n1' } ring_update { default_weight: 3 } }")
          .bytes());
  corpus.Write(
      "more-points-than-memory",
      Stream()
          .Say("snapshot { ring { name: 'r' placement { hashed { points_per_weight: 65536 } } default_weight: 1 "
               "version { epoch: 7 revision: 5 } } nodes { id: 'n1' weight: 65535 hash_key: 'n1' } last: true }")
          .Say("snapshot { ring { " + settings + Told(5, {first}) + "} nodes { " + one + " } last: true }")
          .Say("change { ring: 'r' from_revision: 5 version { epoch: 7 revision: 6 } nodes { updated { id: 'n1' "
               "weight: 4000000000 } } }")
          .bytes());
}

// --- saved_copy

void WriteSavedCopy(const Corpus& corpus) {
  const std::string one = "id: 'n1' weight: 3 hash_key: 'n1' zone: 'a'";
  const std::string two = "id: 'n2' weight: 2 hash_key: 'n2' metadata { key: 'rack' value: 'r1' }";
  const ring::Node first{.id = "n1", .weight = 3, .zone = "a", .hash_key = "n1"};
  const ring::Node second{.id = "n2", .weight = 2, .hash_key = "n2", .metadata = {{"rack", "r1"}}};
  const auto hashed = [&](const std::vector<ring::Node>& nodes) {
    return "ring { name: 'r' placement { hashed {} } default_weight: 100 " + Told(5, nodes) + "}";
  };
  const auto chunk = [](Output out, const std::string& text) {
    return out.Byte(NumberOf(SavedStep::kChunk)).Piece(Bytes<v1::WatchResponse>("snapshot { " + text + " }"));
  };
  const auto other = [](Output out, SavedStep step, const std::string& piece) {
    return out.Byte(NumberOf(step)).Piece(piece);
  };
  const Output whole = chunk({}, hashed({first}) + " nodes { " + one + " } last: true");
  corpus.Write("one-chunk", whole.bytes());
  corpus.Write("two-chunks", chunk(chunk({}, hashed({first, second}) + " nodes { " + one + " }"),
                                   hashed({first, second}) + " nodes { " + two + " } chunk: 1 last: true")
                                 .bytes());
  corpus.Write("slots", other(chunk({},
                                    "ring { name: 'r' placement { slots { slot_bits: 10 owners: 1 } } } last: true "
                                    "nodes { " +
                                        one + " }"),
                              SavedStep::kMend, "")
                            .bytes());
  corpus.Write("points", other(chunk({},
                                     "ring { name: 'r' placement { points { last_position: 99 } } } last: true "
                                     "nodes { id: 'n1' weight: 1 hash_key: 'n1' points: 9 points: 59 }"),
                               SavedStep::kMend, "")
                             .bytes());
  corpus.Write("goes-on", other(whole, SavedStep::kBytes, "more").bytes());
  corpus.Write("of-another-time", other(whole, SavedStep::kSeconds, Output().Number(1).bytes()).bytes());
  corpus.Write("of-another-ring", chunk({}, "ring { name: 'other' } last: true").bytes());
  corpus.Write("no-file", other({}, SavedStep::kFile, "ringdcpy and something else, longer than a header").bytes());
}

// --- codec

void WriteCodec(const Corpus& corpus) {
  const auto write = [&](const std::string& name, CodecKind kind, uint8_t number, const std::string& message) {
    corpus.Write(name, Output().Byte(NumberOf(kind)).Byte(number).Rest(message).bytes());
  };
  write("node", CodecKind::kNode, 0,
        Bytes<v1::Node>(
            "id: 'n1' address: '10.0.0.1:7000' weight: 3 zone: 'a' hash_key: 'k' metadata { key: 'rack' value: "
            "'r1' } join_number: 4 share: 0.25"));
  write("node-without-weight", CodecKind::kNode, 0, Bytes<v1::Node>("id: 'n1'"));
  write("placement", CodecKind::kPlacement, 0,
        Bytes<v1::Placement>("hashed { hash: HASH_FUNCTION_XXH3_64 label: '{key}#{index}' points_per_weight: 2 match: "
                             "POINT_MATCH_AT_OR_AFTER tie_rule: TIE_RULE_NODE_ID }"));
  write("placement-slots", CodecKind::kPlacement, 0, Bytes<v1::Placement>("slots { slot_bits: 16 }"));
  write("placement-points", CodecKind::kPlacement, 0,
        Bytes<v1::Placement>("points { last_position: 999 match: POINT_MATCH_STRICTLY_AFTER }"));
  write("node-points", CodecKind::kNode, 0, Bytes<v1::Node>("id: 'n1' weight: 1 points: 7 points: 3"));
  write("operation-add", CodecKind::kOperation, 0, Bytes<v1::NodeOperation>("add { node { id: 'n1' weight: 0 } }"));
  write("operation-remove", CodecKind::kOperation, 0, Bytes<v1::NodeOperation>("remove { node_id: 'n1' }"));
  write(
      "operation-update", CodecKind::kOperation, 0,
      Bytes<v1::NodeOperation>("update { node { id: 'n1' weight: 1 } update_mask { paths: 'weight' paths: 'zone' } }"));
  write("details", CodecKind::kDetails, 4,
        ToGrpc(ring::Error(absl::StatusCode::kNotFound, "RING_NOT_FOUND", "text")).error_details());
  write("lookup", CodecKind::kLookup, 2,
        Bytes<v1::LookupResponse>("version { epoch: 7 revision: 5 } owners { id: 'n1' } owners { id: 'n2' } hash: 9"));
  write("lookup-of-more-than-asked", CodecKind::kLookup, 1,
        Bytes<v1::LookupResponse>("owners { id: 'n1' } owners { id: 'n2' }"));
  write("batch", CodecKind::kBatchLookup, 2,
        Bytes<v1::BatchLookupResponse>(
            "nodes { id: 'n1' address: 'a' } nodes { id: 'n2' } owner_indices: 0 owner_indices: 1 "
            "owner_indices: 1 owner_indices: 0 owners_per_key: 2"));
  write("batch-with-an-index-too-high", CodecKind::kBatchLookup, 1,
        Bytes<v1::BatchLookupResponse>("nodes { id: 'n1' } owner_indices: 1 owners_per_key: 1"));
  write("ring", CodecKind::kRing, 0,
        Bytes<v1::Ring>(
            "name: 'r' version { epoch: 7 revision: 5 } checksum { algorithm: 1 value: 9 } placement { hashed { "
            "points_per_weight: 2 } } labels { key: 'k' value: 'v' } create_time { seconds: 1700000000 } "
            "node_count: 2 total_weight: 5 point_count: 10 imbalance: 1.1"));
}

// --- storage_record

void WriteStorageRecord(const Corpus& corpus) {
  using namespace server;
  const auto write = [&](const std::string& name, RecordKind kind, const std::string& record) {
    corpus.Write(name, Output().Byte(NumberOf(kind)).Rest(record).bytes());
  };
  write("ring", RecordKind::kRing, EncodeRing(TestHead("cache", {5, 9})));
  write("node", RecordKind::kNode, EncodeNode(*TestNode("n1")));
  const ring::NodePtr node = TestNode("n1");
  write("change", RecordKind::kChange,
        EncodeChange(
            TestPut("cache", {5, 9}, {{nullptr, node}, {node, nullptr}, {node, TestNode("n1", 7)}}, "q1").change));
  write("tombstone", RecordKind::kTombstone, EncodeTombstone(TestDrop("cache", {5, 9}, "q1").tombstone));
}

// --- store_log

void WriteStoreLog(const Corpus& corpus) {
  constexpr uint8_t kBig = 1;
  // Page size, salt, frames by their content (odd: the end of a transaction), bytes cut off, damage: place and bits.
  const auto made = [](uint8_t order, const std::vector<uint8_t>& frames, uint16_t cut, uint16_t place) {
    Output out;
    out.Byte(fuzz::kMade | order).Byte(0).Number(17).Number(18).Byte(static_cast<uint8_t>(frames.size()));
    for (const uint8_t frame : frames) out.Byte(frame);
    return out.Number(cut).Byte(place == 0 ? 0 : 1).Number(place).Byte(2).bytes();
  };
  corpus.Write("whole", made(kBig, {2, 3, 5, 7}, 0, 0));
  corpus.Write("cut", made(0, {2, 3, 5, 7}, 700, 0));
  corpus.Write("damaged-header", made(kBig, {2, 3, 5}, 0, 9));
  corpus.Write("damaged-first-transaction", made(0, {2, 3, 5, 7}, 0, 40));
  corpus.Write("damaged-last-transaction", made(kBig, {3, 5, 2, 7}, 0, 32 + 3 * 536 + 100));
  corpus.Write("header-alone", Output().Byte(fuzz::kHeaded | kBig).Rest(std::string(80, '\x02')).bytes());
  corpus.Write("raw", Output().Byte(0).Rest(std::string(80, '\x07')).bytes());
}

// --- config, http

void WriteConfig(const Corpus& corpus) {
  corpus.Write(
      "all-kinds",
      "# a comment\n---\ndata-dir: /var/lib/ringd\ninit: true\nlisten: [127.0.0.1:7440, 'unix:///run/r.sock']\n"
      "history-age: 720h\nhistory-max: 1000\nlog-format: json\nlog-level: \"warning\"\nadmin-san:\n- a\n- b\n"
      "tls-cert-file: c\ntls-key-file: k\ntls-client-ca-file: ca\nmax-nodes: 5\n");
  corpus.Write("typo", "data-dir: d\nhistory-maxx: 5\n");
  corpus.Write("out-of-bounds", "data-dir: d\nmax-nodes: 0\nheartbeat-interval: -1s\nlog-level: loud\n");
  corpus.Write("twice", "data-dir: d\ndata-dir: e\n");
  corpus.Write("anchors", "data-dir: &a d\nlisten: [*a, *a]\nhttp-listen: *a\n");
  corpus.Write("nested", "data-dir: {a: [b, {c: d}]}\n");
  corpus.Write("blocks", "data-dir: |\n  d\n  e\nhttp-listen: >-\n  127.0.0.1:0\n");
  corpus.Write("two-documents", "data-dir: d\n---\ndata-dir: e\n");
  corpus.Write("control-bytes", "\"data\\x1b-dir\\n\": \"d\\x07\"\n");
}

void WriteHttp(const Corpus& corpus) {
  corpus.Write("livez", "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
  corpus.Write("metrics", "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip, deflate, br\r\n\r\n");
  corpus.Write("head", "HEAD /readyz?verbose HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  corpus.Write("many-ranges", "GET /metrics HTTP/1.1\r\nRange: bytes=0-,0-,1-2,-5\r\n\r\n");
  corpus.Write("post-chunked",
               "POST /livez HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nTrailer: x\r\n\r\n");
  corpus.Write("post-with-length", "POST /x HTTP/1.1\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello");
  corpus.Write("form",
               "POST /livez HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: "
               "52\r\n\r\n--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n--b--");
  corpus.Write("escapes", "GET /%2e%2e/%00/%u00e9/livez?a=%0d%0aX:%20y#f HTTP/1.1\r\nX: \xff\r\n\r\n");
  corpus.Write("no-head", "GET /livez\n\n");
}

}  // namespace
}  // namespace ringd

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_corpus DIR\n");
    return 2;
  }
  const std::filesystem::path dir = argv[1];
  ringd::WriteDirectory({dir, "directory"});
  ringd::WriteLocalCopy({dir, "local_copy"});
  ringd::WriteSavedCopy({dir, "saved_copy"});
  ringd::WriteCodec({dir, "codec"});
  ringd::WriteStorageRecord({dir, "storage_record"});
  ringd::WriteStoreLog({dir, "store_log"});
  ringd::WriteConfig({dir, "config"});
  ringd::WriteHttp({dir, "http"});
  return 0;
}
