#include "proto/status_codec.h"

#include <string_view>

#include "absl/strings/cord.h"
#include "grpcpp/support/error_details.h"
#include "ring/error.h"
#include "ringd/google_rpc/error_details.pb.h"
#include "ringd/google_rpc/status.pb.h"

namespace ringd {
namespace {

constexpr char kDomain[] = "ringd";
// How the wire names google_rpc::ErrorInfo, whose package is our own in C++ alone; see proto/CMakeLists.txt.
constexpr char kErrorInfoUrl[] = "type.googleapis.com/google.rpc.ErrorInfo";

bool IsErrorInfo(const google::protobuf::Any& detail) {
  return std::string_view(detail.type_url()).ends_with("/google.rpc.ErrorInfo");
}

std::string Text(absl::string_view text) { return std::string(text.data(), text.size()); }

std::string PayloadReason(const absl::Status& status) {
  const auto payload = status.GetPayload(ring::kReasonPayload);
  return payload.has_value() ? std::string(*payload) : absl::StatusCodeToString(status.code());
}

}  // namespace

grpc::Status ToGrpc(const absl::Status& status) {
  if (status.ok()) return grpc::Status::OK;
  const auto code = static_cast<grpc::StatusCode>(status.code());
  google_rpc::ErrorInfo info;
  info.set_reason(PayloadReason(status));
  info.set_domain(kDomain);
  google_rpc::Status details;
  details.set_code(static_cast<int>(code));
  details.set_message(Text(status.message()));
  google::protobuf::Any* detail = details.add_details();
  detail->set_type_url(kErrorInfoUrl);
  detail->set_value(info.SerializeAsString());
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
  google_rpc::Status details;
  if (!grpc::ExtractErrorDetails(status, &details).ok()) return "";
  for (const auto& detail : details.details()) {
    google_rpc::ErrorInfo info;
    if (IsErrorInfo(detail) && info.ParseFromString(detail.value()) && info.domain() == kDomain) return info.reason();
  }
  return "";
}

}  // namespace ringd
