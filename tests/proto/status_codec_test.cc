// absl::Status and grpc::Status say the same: code, text and reason survive the way there and back. The details are
// Google's google.rpc, which is linked here under its own name, as it is in other programs, beside ours.
#include "proto/status_codec.h"

#include <gtest/gtest.h>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "grpcpp/support/error_details.h"
#include "proto/retry_after.h"
#include "ring/error.h"

namespace ringd {
namespace {

TEST(StatusCodec, KeepsCodeTextAndReasonThereAndBack) {
  const absl::Status status = ring::Error(absl::StatusCode::kNotFound, ring::kNodeNotFound, "node \"n9\" not found");
  const grpc::Status wire = ToGrpc(status);
  EXPECT_EQ(wire.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(wire.error_message(), "node \"n9\" not found");
  EXPECT_EQ(ReasonOf(wire), "NODE_NOT_FOUND");
  const absl::Status back = FromGrpc(wire);
  EXPECT_EQ(back.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(back.message(), "node \"n9\" not found");
  EXPECT_EQ(ring::ReasonOf(back), "NODE_NOT_FOUND");
}

TEST(StatusCodec, TellsEveryCodeByTheSameNumber) {
  for (int code = 1; code <= 16; code++) {
    const grpc::Status wire = ToGrpc(absl::Status(static_cast<absl::StatusCode>(code), "text"));
    EXPECT_EQ(static_cast<int>(wire.error_code()), code);
    EXPECT_EQ(static_cast<int>(FromGrpc(wire).code()), code);
  }
  EXPECT_TRUE(ToGrpc(absl::OkStatus()).ok());
  EXPECT_TRUE(FromGrpc(grpc::Status::OK).ok());
}

TEST(StatusCodec, GivesAnErrorWithoutAReasonTheNameOfItsCode) {
  EXPECT_EQ(ReasonOf(ToGrpc(absl::InternalError("broken"))), "INTERNAL");
}

TEST(StatusCodec, PutsAnErrorInfoOfTheDomainRingdIntoTheDetails) {
  google::rpc::Status details;
  ASSERT_TRUE(grpc::ExtractErrorDetails(
                  ToGrpc(ring::Error(absl::StatusCode::kAborted, "VERSION_MISMATCH", "ring is elsewhere")), &details)
                  .ok());
  EXPECT_EQ(details.code(), static_cast<int>(grpc::StatusCode::ABORTED));
  EXPECT_EQ(details.message(), "ring is elsewhere");
  ASSERT_EQ(details.details_size(), 1);
  google::rpc::ErrorInfo info;
  ASSERT_TRUE(details.details(0).UnpackTo(&info));
  EXPECT_EQ(info.domain(), "ringd");
}

TEST(StatusCodec, KeepsTheTimeToWaitThereAndBack) {
  const absl::Status error = ring::Error(absl::StatusCode::kUnavailable, "DRAINING", "later");
  EXPECT_EQ(RetryAfter(FromGrpc(ToGrpc(error))), std::nullopt);
  const grpc::Status wire = ToGrpc(WithRetryAfter(error, std::chrono::milliseconds(1'234)));
  EXPECT_EQ(RetryAfter(FromGrpc(wire)), std::chrono::milliseconds(1'234));
  EXPECT_EQ(ReasonOf(wire), "DRAINING");
  google::rpc::Status details;
  ASSERT_TRUE(grpc::ExtractErrorDetails(wire, &details).ok());
  ASSERT_EQ(details.details_size(), 2);
  google::rpc::RetryInfo retry;
  ASSERT_TRUE(details.details(1).UnpackTo(&retry));
  EXPECT_EQ(retry.retry_delay().seconds(), 1);
  EXPECT_EQ(retry.retry_delay().nanos(), 234'000'000);
}

TEST(StatusCodec, BelievesNoTimeThatIsNegativeOrTooLong) {
  const auto read = [](int64_t seconds, int32_t nanos) {
    google::rpc::RetryInfo retry;
    retry.mutable_retry_delay()->set_seconds(seconds);
    retry.mutable_retry_delay()->set_nanos(nanos);
    google::rpc::Status details;
    details.add_details()->PackFrom(retry);
    return RetryAfter(FromGrpc(grpc::Status(grpc::StatusCode::UNAVAILABLE, "later", details.SerializeAsString())));
  };
  EXPECT_EQ(read(INT64_MAX, INT32_MAX), std::chrono::milliseconds(3'600'999));
  EXPECT_EQ(read(INT64_MIN, INT32_MIN), std::chrono::milliseconds(0));
  EXPECT_EQ(read(0, 5'000'000), std::chrono::milliseconds(5));
}

TEST(StatusCodec, ReadsNoReasonFromAnotherDomainOrFromNoDetails) {
  EXPECT_EQ(ReasonOf(grpc::Status(grpc::StatusCode::UNAVAILABLE, "no route")), "");
  google::rpc::ErrorInfo info;
  info.set_reason("QUOTA");
  info.set_domain("example.com");
  google::rpc::Status details;
  details.add_details()->PackFrom(info);
  EXPECT_EQ(ReasonOf(grpc::Status(grpc::StatusCode::UNAVAILABLE, "x", details.SerializeAsString())), "");
  EXPECT_EQ(ReasonOf(grpc::Status(grpc::StatusCode::UNAVAILABLE, "x", "\xff\xff garbage")), "");
}

}  // namespace
}  // namespace ringd
