// The thin client's side of the wire: messages of ringd.v1 to and from the values of ringd/types.h. Pure functions.
// (proto/codec.h is that of ring/'s values, which this library does not link.)
#pragma once

#include <cstddef>

#include "absl/status/statusor.h"
#include "ringd/types.h"
#include "ringd/v1/directory.pb.h"

namespace ringd {

Version ToValue(const v1::Version& version);
Owner ToValue(const v1::Owner& owner);
Node ToValue(const v1::Node& node);
Placement ToValue(const v1::Placement& placement);
RingInfo ToValue(const v1::Ring& ring);
Movement ToValue(const v1::Movement& movement);
Plan ToValue(const v1::Plan& plan);
ChangeRecord ToValue(const v1::ChangeRecord& change);
// INTERNAL for an answer that is not whole.
absl::StatusOr<VersionDiff> ToValue(const v1::DiffVersionsResponse& joined);

// Answers of lookups. They are judged, so that whoever uses them need not: INTERNAL for what answers something else
// than was asked for, 1 to `owners` owners of each key.
absl::StatusOr<LookupResult> ToValue(const v1::LookupResponse& response, size_t owners);
absl::StatusOr<BatchLookupResult> ToValue(const v1::BatchLookupResponse& response, size_t keys, size_t owners);

void ToMessage(const Version& version, v1::Version* out);
// INVALID_ARGUMENT for a preset of a name that is none.
absl::Status ToMessage(const Placement& placement, v1::Placement* out);
void ToMessage(const Node& node, v1::Node* out);
void ToMessage(const Operation& operation, v1::NodeOperation* out);
// The node and the mask of an update.
void ToMessage(const UpdateNode& update, v1::Node* node, google::protobuf::FieldMask* mask);
// The fields and the mask of an update.
void ToMessage(const UpdateRing& update, v1::UpdateRingRequest* out);
void ToMessage(const MutationOptions& options, v1::MutationOptions* out);
WaitResult ToValue(const v1::WaitResult& message);

}  // namespace ringd
