// What is listened on, and how: nothing that other machines reach without mTLS, unless an operator names it.
#include "server/listen_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ring/error.h"

namespace ringd::server {
namespace {

using ::testing::HasSubstr;

std::string TextOf(const absl::Status& status) { return std::string(status.message()); }

ListenPlan Planned(const ListenSettings& settings) {
  auto plan = PlanListening(settings);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return plan.ok() ? *std::move(plan) : ListenPlan();
}

TEST(ListenPlan, LocalAddressesSpeakPlaintextWithoutCertificates) {
  for (const char* text : {"localhost:1", "127.0.0.1:1", "127.255.255.255:1", "[::1]:1", "unix:s"}) {
    const ListenPlan plan = Planned({.listen = {text}});
    ASSERT_EQ(plan.grpc.size(), 1u);
    EXPECT_EQ(plan.grpc[0].address.ToString(), text);
    EXPECT_EQ(plan.grpc[0].transport, Transport::kPlaintext);
    EXPECT_EQ(PlaintextOverrides(plan), 0u);
    EXPECT_FALSE(plan.http.has_value());
  }
}

TEST(ListenPlan, EverythingElseIsRefusedAndToldWhatIsMissingAndWhatOverrides) {
  for (const std::string text : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "[::ffff:127.0.0.1]:1", "example.org:1"}) {
    const absl::Status status = PlanListening({.listen = {"127.0.0.1:2", text}}).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_EQ(ring::ReasonOf(status), "PLAINTEXT_REFUSED");
    EXPECT_EQ(TextOf(status), "refusing to listen on " + text +
                                  ": it is neither loopback nor a unix socket, and --tls-cert-file is missing; "
                                  "--allow-plaintext=" +
                                  text + " allows it all the same, for a network that keeps strangers out");
  }
}

TEST(ListenPlan, WithCertificatesEveryTcpAddressSpeaksMtlsAndAUnixSocketDoesNot) {
  const ListenPlan plan =
      Planned({.listen = {"0.0.0.0:1", "127.0.0.1:2", "[::]:1", "unix:s"}, .has_certificates = true});
  ASSERT_EQ(plan.grpc.size(), 4u);
  for (size_t i = 0; i < 3; i++) EXPECT_EQ(plan.grpc[i].transport, Transport::kMutualTls);
  EXPECT_EQ(plan.grpc[3].transport, Transport::kPlaintext);
  EXPECT_EQ(PlaintextOverrides(plan), 0u);
}

TEST(ListenPlan, AllowPlaintextIsForTheAddressThatItNames) {
  const ListenPlan open = Planned({.listen = {"0.0.0.0:1"}, .allow_plaintext = {"0.0.0.0:1"}});
  EXPECT_EQ(open.grpc[0].transport, Transport::kPlaintext);
  EXPECT_EQ(PlaintextOverrides(open), 1u);

  const ListenPlan both = Planned({.listen = {"0.0.0.0:1", "127.0.0.1:2", "10.0.0.1:3"},
                                   .allow_plaintext = {"127.0.0.1:2", "10.0.0.1:3"},
                                   .has_certificates = true});
  EXPECT_EQ(both.grpc[0].transport, Transport::kMutualTls);
  EXPECT_EQ(both.grpc[1].transport, Transport::kPlaintext);
  EXPECT_EQ(both.grpc[2].transport, Transport::kPlaintext);
  EXPECT_EQ(PlaintextOverrides(both), 2u);

  const ListenPlan harmless =
      Planned({.listen = {"127.0.0.1:1", "unix:s"}, .allow_plaintext = {"127.0.0.1:1", "unix:s"}});
  EXPECT_EQ(PlaintextOverrides(harmless), 0u) << "it was plaintext before";

  for (const std::string other : {"0.0.0.0:2", "10.0.0.1:1"}) {
    const absl::Status status = PlanListening({.listen = {"0.0.0.0:1"}, .allow_plaintext = {other}}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_EQ(TextOf(status), "--allow-plaintext names " + other + ", which --listen does not name");
  }
}

TEST(ListenPlan, WhatIsMalformedOrNamedTwiceIsInvalid) {
  for (const ListenSettings& settings : {ListenSettings{.listen = {"127.0.0.1"}},
                                         {.listen = {"127.0.0.1:1", "127.0.0.1:1"}},
                                         {.listen = {}},
                                         {.listen = {"127.0.0.1:1"}, .allow_plaintext = {"x"}},
                                         {.listen = {"127.0.0.1:1"}, .http_listen = "x"}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(PlanListening(settings).status()));
  }
}

TEST(ListenPlan, TheProbesStayLocalAlsoWithCertificates) {
  EXPECT_EQ(Planned({.listen = {"unix:s"}, .http_listen = "127.0.0.1:3"}).http->ToString(), "127.0.0.1:3");
  for (const bool has_certificates : {false, true}) {
    const absl::Status status =
        PlanListening({.listen = {"127.0.0.1:1"}, .http_listen = "0.0.0.0:1", .has_certificates = has_certificates})
            .status();
    EXPECT_EQ(ring::ReasonOf(status), "PLAINTEXT_REFUSED");
    EXPECT_THAT(TextOf(status), HasSubstr("--metrics-listen"));
  }
}

}  // namespace
}  // namespace ringd::server
