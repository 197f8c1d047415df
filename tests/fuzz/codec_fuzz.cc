// Messages to values and back, on both sides of the wire: what is taken over comes back as it was, and no answer of a
// directory, whatever bytes it is, makes a value that may not be used as its header says.
#include <span>
#include <string>

#include "absl/strings/string_view.h"
#include "client/messages.h"
#include "grpcpp/support/status.h"
#include "proto/codec.h"
#include "proto/serialize.h"
#include "proto/status_codec.h"
#include "ring/error.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/inputs.h"
#include "tests/fuzz/messages.h"

namespace ringd {
namespace {

using fuzz::Check;
using fuzz::Input;

// Calls `judge` with the message that the bytes are, if they are one.
template <class Message, class Judge>
void IfParsed(std::string_view bytes, Judge judge) {
  Message message;
  if (!fuzz::Parse(bytes, &message)) return;
  message.DiscardUnknownFields();
  judge(message);
}

bool SameMessage(const google::protobuf::MessageLite& a, const google::protobuf::MessageLite& b) {
  return SerializeDeterministic(a) == SerializeDeterministic(b);
}

// Output-only fields are dropped on the way in.
void JudgeNode(const v1::Node& node) {
  const ring::AddNode add = FromProto(node);
  v1::Node back;
  ToProto(add.node, node.share(), &back);
  back.set_join_number(node.join_number());
  if (add.default_weight) back.clear_weight();
  Check(SameMessage(back, node), "a node of ring/ comes back as it was");

  v1::Node of_client;
  ToMessage(ToValue(node), &of_client);
  of_client.set_join_number(node.join_number());
  of_client.set_share(node.share());
  Check(SameMessage(of_client, node), "a node of the client comes back as it was");
}

void JudgePlacement(const v1::Placement& placement) {
  const auto settings = FromProto(placement);
  if (!settings.ok()) {
    Check(absl::IsInvalidArgument(settings.status()), "a placement that is not taken is INVALID_ARGUMENT");
    return;
  }
  Check(ring::CheckPlacement(*settings).ok(), "a placement that is taken is served");
  v1::Placement back;
  ToProto(*settings, &back);
  v1::Placement wanted = back;
  wanted.MergeFrom(placement);
  Check(SameMessage(back, wanted), "what was named is kept");
  Check(*FromProto(back) == *settings, "a placement comes back as it was");
}

const std::string& IdOf(const ring::AddNode& add) { return add.node.id; }
const std::string& IdOf(const ring::PutNode& put) { return put.node.id; }
const std::string& IdOf(const auto& operation) { return operation.id; }

void JudgeOperation(const v1::NodeOperation& message) {
  const auto operation = FromProto(message);
  if (!operation.ok()) {
    Check(absl::IsInvalidArgument(operation.status()), "an operation that is not taken is INVALID_ARGUMENT");
    return;
  }
  const std::string& id = message.has_add()      ? message.add().node().id()
                          : message.has_remove() ? message.remove().node_id()
                                                 : message.update().node().id();
  Check(std::visit([](const auto& taken) { return IdOf(taken); }, *operation) == id, "it is about the same node");
  Check(operation->index() == (message.has_add() ? 0u : message.has_remove() ? 1u : 2u), "and of the same kind");
}

// The details of an error, as they stand in a trailer.
void JudgeDetails(uint8_t number, std::string_view details) {
  const auto code = static_cast<grpc::StatusCode>(1 + number % 16);
  const absl::Status status = FromGrpc(grpc::Status(code, "text", std::string(details)));
  Check(static_cast<int>(status.code()) == code && status.message() == "text", "code and text are kept");
  const absl::Status again = FromGrpc(ToGrpc(status));
  const std::string reason = ring::ReasonOf(status);
  Check(again.code() == status.code() && again.message() == status.message(), "code and text come back");
  Check(ring::ReasonOf(again) == (reason.empty() ? absl::StatusCodeToString(status.code()) : reason),
        "the reason comes back", ring::ReasonOf(again));
}

void JudgeLookup(const v1::LookupResponse& response, size_t owners) {
  const auto result = ToValue(response, owners);
  Check(!result.ok() || (!result->owners.empty() && result->owners.size() <= owners),
        "owners are as many as asked for");
}

void JudgeBatchLookup(const v1::BatchLookupResponse& response, size_t keys, size_t owners) {
  const auto result = ToValue(response, keys, owners);
  if (!result.ok()) return;
  size_t bytes = 0;
  for (size_t key = 0; key < keys; ++key) {
    bytes += result->owner(key).id.size();
    Check(result->owners(key).size() <= owners, "no more owners than were asked for");
    for (const uint32_t node : result->owners(key)) bytes += result->nodes[node].address.size();
  }
  Check(bytes <= keys * result->owners_per_key * response.ByteSizeLong() + response.ByteSizeLong(),
        "every owner is one of the answer");
}

void JudgeRing(const v1::Ring& ring) {
  const RingInfo info = ToValue(ring);
  Check(info.name == ring.name() && info.node_count == ring.node_count() && info.labels.size() == ring.labels().size(),
        "a ring is taken over");
  v1::Plan plan;
  *plan.mutable_ring() = ring;
  Check(ToValue(plan).ring.version == info.version, "also in a plan");
}

}  // namespace
}  // namespace ringd

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace ringd;
  Input input(data, size);
  const auto kind = static_cast<fuzz::CodecKind>(input.Byte() % fuzz::kCodecKinds);
  const uint8_t number = input.Byte();
  const std::string_view bytes = input.Rest();
  switch (kind) {
    case fuzz::CodecKind::kNode:
      IfParsed<v1::Node>(bytes, JudgeNode);
      break;
    case fuzz::CodecKind::kPlacement:
      IfParsed<v1::Placement>(bytes, JudgePlacement);
      break;
    case fuzz::CodecKind::kOperation:
      IfParsed<v1::NodeOperation>(bytes, JudgeOperation);
      break;
    case fuzz::CodecKind::kDetails:
      JudgeDetails(number, bytes);
      break;
    case fuzz::CodecKind::kLookup:
      IfParsed<v1::LookupResponse>(bytes, [&](const auto& response) { JudgeLookup(response, number % 8); });
      break;
    case fuzz::CodecKind::kBatchLookup:
      IfParsed<v1::BatchLookupResponse>(
          bytes, [&](const auto& response) { JudgeBatchLookup(response, number % 8, number % 5); });
      break;
    case fuzz::CodecKind::kRing:
      IfParsed<v1::Ring>(bytes, JudgeRing);
      break;
  }
  return 0;
}
