// The one codec between wire messages (ringd.v1) and values of ring/. Pure functions, any thread.
//
// To...: value to message, cannot fail. From...: message to value. They check shape alone (a oneof that is not set, an
// unknown mask path) and answer INVALID_ARGUMENT; bounds of values are checked in server/request_checks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "ring/movement.h"
#include "ring/node.h"
#include "ring/ring.h"
#include "ring/slot_moves.h"
#include "ring/slot_table.h"
#include "ring/version.h"
#include "ringd/v1/directory.pb.h"

namespace ringd {

void ToProto(const ring::Version& version, v1::Version* out);
ring::Version FromProto(const v1::Version& version);

// A checksum of ring/checksum.h, with the number of its algorithm.
void ToProto(uint64_t checksum, v1::Checksum* out);

void ToProto(const ring::Placement& placement, v1::Placement* out);
// Fills in the defaults of absent fields. What is wrong or not served yet is refused.
absl::StatusOr<ring::Placement> FromProto(const v1::Placement& placement);

void ToProto(const ring::Node& node, double share, v1::Node* out);
// Output-only fields are dropped. An absent weight is the ring's default.
ring::AddNode FromProto(const v1::Node& node);
absl::StatusOr<ring::UpdateNode> FromProto(const v1::Node& node, const google::protobuf::FieldMask& mask);
absl::StatusOr<ring::Operation> FromProto(const v1::NodeOperation& operation);

void ToProto(const ring::NodeDelta& delta, v1::NodeChange* out);

void ToProto(const ring::Movement& movement, v1::Movement* out);

// The new owners of the slots of one run of moves.
void ToProto(const ring::SlotMoves& moves, size_t run, v1::SlotMove* out);
// As many places a slot as the longest list has. What was before is not told, and nobody's in the result.
// INVALID_ARGUMENT for a slot of more owners than any ring keeps.
absl::StatusOr<ring::SlotMoves> FromProto(const google::protobuf::RepeatedPtrField<v1::SlotMove>& moves);

// Places of slots, between those of SlotTable and the slot_owners of messages.
void ToProto(std::span<const uint32_t> places, google::protobuf::RepeatedField<uint32_t>* out);
void AppendPlaces(const google::protobuf::RepeatedField<uint32_t>& slot_owners, std::vector<uint32_t>* places);

void ToProto(const ring::Node& node, v1::Owner* out);

}  // namespace ringd
