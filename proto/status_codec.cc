#include "proto/status_codec.h"

#include "absl/strings/cord.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/support/error_details.h"
#include "ring/error.h"

namespace ringd {
namespace {

constexpr char kDomain[] = "ringd";

std::string Text(absl::string_view text) { return std::string(text.data(), text.size()); }

std::string PayloadReason(const absl::Status& status) {
  const auto payload = status.GetPayload(ring::kReasonPayload);
  return payload.has_value() ? std::string(*payload) : absl::StatusCodeToString(status.code());
}

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const auto code = static_cast<grpc::StatusCode>(status.code());
  google::rpc::ErrorInfo info;
  info.set_reason(PayloadReason(status));
  info.set_domain(kDomain);
  google::rpc::Status details;
  details.set_code(static_cast<int>(code));
  details.set_message(Text(status.message()));
  details.add_details()->PackFrom(info);
  return grpc::Status(code, details.message(), details.SerializeAsString());
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  absl::Status result(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  const std::string reason = ReasonOf(status);
  if (!reason.empty()) result.SetPayload(ring::kReasonPayload, absl::Cord(reason));
  return result;
}

std::string ReasonOf(const grpc::Status& status) {
  google::rpc::Status details;
  if (!grpc::ExtractErrorDetails(status, &details).ok()) return "";
  for (const auto& detail : details.details()) {
    google::rpc::ErrorInfo info;
    if (detail.UnpackTo(&info) && info.domain() == kDomain) return info.reason();
  }
  return "";
}

}  // namespace ringd
