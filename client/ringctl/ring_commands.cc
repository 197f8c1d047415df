#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include "client/ringctl/commands.h"
#include "client/ringctl/confirmation.h"
#include "client/ringctl/escape.h"
#include "client/ringctl/failure.h"
#include "client/ringctl/mutation.h"
#include "client/ringctl/ring_pages.h"
#include "client/ringctl/ring_view.h"
#include "client/ringctl/standard_output.h"

namespace ringd::ctl {

ExitCode RingCreate(Session& session, const RingCreateOptions& options) {
  v1::CreateRingRequest request;
  request.set_ring(options.ring);
  absl::StatusOr<v1::Placement> placement = PlacementOf(options.placement);
  if (!placement.ok()) return ReportError(ExitCode::kUsage, std::string(placement.status().message()));
  *request.mutable_placement() = *std::move(placement);
  if (options.default_weight) request.set_default_weight(*options.default_weight);
  request.mutable_labels()->insert(options.labels.begin(), options.labels.end());
  return Mutate(session, &v1::Directory::Stub::CreateRing, request, options.mutation,
                {fmt::format("ring {}", Quoted(options.ring)), "created"});
}

ExitCode RingGet(Session& session, const std::string& ring) {
  // A document is the whole ring, which `ring import` makes anew.
  const bool document = session.options.format == Format::kJson || session.options.format == Format::kYaml;
  const Answer<v1::GetRingResponse> answer = ReadRing(session.connection, ring, document);
  if (!answer.status.ok()) return ReportStatus(answer.status);
  const v1::GetRingResponse& response = answer.value;
  if (PrintDocument(response, session.options.format)) return ExitCode::kOk;
  if (session.options.format == Format::kTsv) {
    google::protobuf::RepeatedPtrField<v1::Ring> rings;
    *rings.Add() = response.ring();
    Print(TsvText(RingRows(rings)));
  } else {
    Print(RingBlock(response.ring()) + "\n" +
          RowsText(NodeRows(response.ring(), response.nodes(), Format::kTable), session.options));
  }
  return ExitCode::kOk;
}

ExitCode RingList(Session& session) {
  const Answer<v1::ListRingsResponse> answer = ReadRings(session.connection);
  if (!answer.status.ok()) return ReportStatus(answer.status);
  if (!PrintDocument(answer.value, session.options.format)) {
    Print(RowsText(RingRows(answer.value.rings()), session.options));
  }
  return ExitCode::kOk;
}

ExitCode RingUpdate(Session& session, const RingUpdateOptions& options) {
  v1::UpdateRingRequest request;
  request.set_ring(options.ring);
  google::protobuf::FieldMask& mask = *request.mutable_update_mask();
  if (options.default_weight) {
    request.set_default_weight(*options.default_weight);
    mask.add_paths("default_weight");
  }
  if (options.labels) {
    request.mutable_labels()->insert(options.labels->begin(), options.labels->end());
    mask.add_paths("labels");
  }
  if (options.history_max) {
    request.mutable_history_limits()->set_max_changes(*options.history_max);
    mask.add_paths("history_limits.max_changes");
  }
  if (options.history_age) {
    *request.mutable_history_limits()->mutable_max_age() =
        google::protobuf::util::TimeUtil::MillisecondsToDuration(options.history_age->count());
    mask.add_paths("history_limits.max_age");
  }
  return Mutate(session, &v1::Directory::Stub::UpdateRing, request, options.mutation,
                {fmt::format("ring {}", Quoted(options.ring)), "updated"});
}

ExitCode RingDelete(Session& session, const std::string& ring, const MutationFlags& flags) {
  const std::string question = fmt::format("Type the name of ring {} to delete it:", Quoted(ring));
  const ExitCode confirmed = Confirm(flags, "ring delete", question, ring);
  if (confirmed != ExitCode::kOk) return confirmed;
  v1::DeleteRingRequest request;
  request.set_ring(ring);
  return Mutate(session, &v1::Directory::Stub::DeleteRing, request, flags,
                {fmt::format("ring {}", Quoted(ring)), "deleted"});
}

}  // namespace ringd::ctl
