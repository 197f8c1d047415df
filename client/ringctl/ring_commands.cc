#include <fmt/format.h>

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
  if (options.placement == "slots") {
    request.mutable_placement()->mutable_slots();
  } else {
    v1::HashedPlacement& hashed = *request.mutable_placement()->mutable_hashed();
    if (options.points_per_weight) hashed.set_points_per_weight(*options.points_per_weight);
  }
  if (options.default_weight) request.set_default_weight(*options.default_weight);
  request.mutable_labels()->insert(options.labels.begin(), options.labels.end());
  return Mutate(session, &v1::Directory::Stub::CreateRing, request, options.mutation,
                {fmt::format("ring {}", Quoted(options.ring)), "created"});
}

ExitCode RingGet(Session& session, const std::string& ring) {
  const Answer<v1::GetRingResponse> answer = ReadRing(session.connection, ring);
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
