#include "client/retry.h"

#include <gtest/gtest.h>

#include "proto/status_codec.h"
#include "ring/error.h"

namespace ringd {
namespace {

using std::chrono::milliseconds;

const Retry::Clock::time_point kStart{std::chrono::hours(1)};
const grpc::Status kUnavailable(grpc::StatusCode::UNAVAILABLE, "gone");

double NoJitter() { return 0; }

TEST(Retry, TriesUnavailableFourTimesWithGrowingPauses) {
  Retry retry(kStart + std::chrono::seconds(5), NoJitter);
  EXPECT_EQ(retry.After(kUnavailable, kStart), milliseconds(50));
  EXPECT_EQ(retry.After(kUnavailable, kStart), milliseconds(100));
  EXPECT_EQ(retry.After(kUnavailable, kStart), milliseconds(200));
  EXPECT_EQ(retry.After(kUnavailable, kStart), std::nullopt);
}

TEST(Retry, BeginsNoAttemptAfterTheDeadline) {
  Retry retry(kStart + milliseconds(50), NoJitter);
  EXPECT_EQ(retry.After(kUnavailable, kStart), std::nullopt);
}

TEST(Retry, EveryOtherCodeIsTheOutcome) {
  for (int code = 0; code <= 16; ++code) {
    if (code == grpc::StatusCode::UNAVAILABLE) continue;
    Retry retry(kStart + std::chrono::seconds(5), NoJitter);
    EXPECT_EQ(retry.After(grpc::Status(static_cast<grpc::StatusCode>(code), ""), kStart), std::nullopt) << code;
  }
}

TEST(Retry, AServerThatHasWaitedInVainIsNotAskedAgain) {
  Retry retry(kStart + std::chrono::seconds(5), NoJitter);
  const absl::Status waited = ring::Error(absl::StatusCode::kUnavailable, "VERSION_NOT_REACHED", "at 1/2");
  EXPECT_EQ(retry.After(ToGrpc(waited), kStart), std::nullopt);
}

TEST(Understood, CancelledByTheClosingOfAConnectionIsUnavailable) {
  EXPECT_EQ(Understood(grpc::Status(grpc::StatusCode::CANCELLED, "")).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(Understood(grpc::Status(grpc::StatusCode::NOT_FOUND, "x")).error_message(), "x");
}

}  // namespace
}  // namespace ringd
