#include "proto/status_codec.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "absl/strings/cord.h"
#include "google/protobuf/util/time_util.h"
#include "grpcpp/support/error_details.h"
#include "proto/retry_after.h"
#include "ring/error.h"
#include "ringd/google_rpc/error_details.pb.h"
#include "ringd/google_rpc/status.pb.h"

namespace ringd {
namespace {

using google::protobuf::util::TimeUtil;

constexpr char kDomain[] = "ringd";
// How the wire names messages of google_rpc, whose package is our own in C++ alone; see proto/CMakeLists.txt.
constexpr std::string_view kUrl = "type.googleapis.com/";
constexpr std::string_view kErrorInfo = "google.rpc.ErrorInfo";
constexpr std::string_view kRetryInfo = "google.rpc.RetryInfo";
// What is believed of a peer that names a longer time.
constexpr std::chrono::seconds kLongestRetry = std::chrono::hours(1);

void AddDetail(std::string_view name, const google::protobuf::Message& message, google_rpc::Status& details) {
  google::protobuf::Any* detail = details.add_details();
  detail->set_type_url(std::string(kUrl) + std::string(name));
  detail->set_value(message.SerializeAsString());
}

// Reads a detail that has this name.
bool ReadDetail(const google::protobuf::Any& detail, std::string_view name, google::protobuf::Message& message) {
  const std::string_view url = detail.type_url();
  const size_t slash = url.rfind('/');
  return slash != std::string_view::npos && url.substr(slash + 1) == name && message.ParseFromString(detail.value());
}

// The details of an error; empty where there are none, or none that can be read.
google_rpc::Status DetailsOf(const grpc::Status& status) {
  google_rpc::Status details;
  if (!grpc::ExtractErrorDetails(status, &details).ok()) details.Clear();
  return details;
}

std::string Text(absl::string_view text) { return std::string(text.data(), text.size()); }

std::string ReasonIn(const google_rpc::Status& details) {
  for (const auto& detail : details.details()) {
    google_rpc::ErrorInfo info;
    if (ReadDetail(detail, kErrorInfo, info) && info.domain() == kDomain) return info.reason();
  }
  return "";
}

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
  AddDetail(kErrorInfo, info, details);
  if (const auto after = RetryAfter(status); after.has_value()) {
    google_rpc::RetryInfo retry;
    *retry.mutable_retry_delay() = TimeUtil::MillisecondsToDuration(after->count());
    AddDetail(kRetryInfo, retry, details);
  }
  return grpc::Status(code, details.message(), details.SerializeAsString());
}

absl::Status FromGrpc(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  absl::Status result(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
  const google_rpc::Status details = DetailsOf(status);
  const std::string reason = ReasonIn(details);
  if (!reason.empty()) result.SetPayload(ring::kReasonPayload, absl::Cord(reason));
  for (const auto& detail : details.details()) {
    google_rpc::RetryInfo retry;
    if (!ReadDetail(detail, kRetryInfo, retry)) continue;
    // Bounded first: what a peer names may not fit.
    const std::chrono::seconds whole(std::clamp<int64_t>(retry.retry_delay().seconds(), 0, kLongestRetry.count()));
    const std::chrono::nanoseconds part(std::clamp(retry.retry_delay().nanos(), 0, 999'999'999));
    result = WithRetryAfter(std::move(result), std::chrono::duration_cast<std::chrono::milliseconds>(whole + part));
  }
  return result;
}

std::string ReasonOf(const grpc::Status& status) { return ReasonIn(DetailsOf(status)); }

}  // namespace ringd
