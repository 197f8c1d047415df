// Who may call what.
#include "server/auth.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ring/error.h"
#include "ringd/v1/directory.pb.h"

namespace ringd::server {
namespace {

using ::testing::HasSubstr;

constexpr char kAdmin[] = "spiffe://example.org/admin";

Caller WithUri(const std::string& uri) { return {.has_certificate = true, .uris = {uri}, .peer = "ipv4:10.0.0.1:1"}; }
Caller WithDns(const std::string& name) {
  return {.has_certificate = true, .dns_names = {name}, .peer = "ipv4:10.0.0.1:1"};
}

template <class Visit>
void ForEachMethod(Visit visit) {
  const auto* service = v1::LookupRequest::descriptor()->file()->FindServiceByName("Directory");
  ASSERT_NE(service, nullptr);
  for (int i = 0; i < service->method_count(); i++) visit(service->method(i)->name());
}

TEST(Auth, EveryMethodHasARule) {
  ForEachMethod([](const std::string& method) { EXPECT_TRUE(RightFor(method).has_value()) << method; });
}

TEST(Auth, AMethodWithoutARuleIsDenied) {
  for (const Caller& caller : {Caller{}, WithUri(kAdmin)}) {
    for (const char* method : {"", "NoSuchMethod", "lookup", "AddNode2"}) {
      EXPECT_TRUE(absl::IsPermissionDenied(Authorizer({kAdmin}).Check(caller, method))) << method;
    }
  }
}

TEST(Auth, MutationsNeedTheRightToChange) {
  for (const char* method : {"CreateRing", "DeleteRing", "UpdateRing", "AddNode", "RemoveNode", "UpdateNode",
                             "ApplyChanges", "ImportSlots", "RestoreVersion", "Backup"}) {
    EXPECT_EQ(RightFor(method), Right::kChange) << method;
  }
}

// Every request of a mutation carries MutationOptions, so a mutation that the contract gains is found here.
TEST(Auth, WhatCarriesMutationOptionsNeedsTheRightToChange) {
  const auto* file = v1::LookupRequest::descriptor()->file();
  ForEachMethod([file](const std::string& method) {
    const auto* request = file->FindMessageTypeByName(method + "Request");
    ASSERT_NE(request, nullptr);
    const auto* options = request->FindFieldByName("options");
    if (options == nullptr || options->message_type() != v1::MutationOptions::descriptor()) return;
    EXPECT_EQ(RightFor(method), Right::kChange) << method;
  });
}

TEST(Auth, WithoutACertificateEverythingIsAllowed) {
  const Authorizer authorizer({kAdmin});
  ForEachMethod([&](const std::string& method) { EXPECT_TRUE(authorizer.Check({}, method).ok()) << method; });
}

TEST(Auth, AnAdminMayDoAllAndOthersRead) {
  const Authorizer authorizer({"spiffe://example.org/other", kAdmin, "ops.example.org"});
  ForEachMethod([&](const std::string& method) {
    for (const Caller& admin : {WithUri(kAdmin), WithDns("ops.example.org")}) {
      EXPECT_TRUE(authorizer.Check(admin, method).ok()) << method;
    }
    for (const Caller& other : {WithUri("spiffe://example.org/reader"), WithDns("x.example.org"), WithUri("")}) {
      EXPECT_EQ(authorizer.Check(other, method).ok(), RightFor(method) == Right::kRead) << method;
    }
  });
}

TEST(Auth, NamesAreComparedByteByByteAndInTheirKind) {
  const Authorizer authorizer({kAdmin, "ops.example.org", "*.example.com"});
  const std::string uri = kAdmin;
  for (const Caller& caller :
       {WithUri(uri + "/"), WithUri(uri + std::string("\0", 1)), WithUri("SPIFFE://example.org/admin"), WithDns(uri),
        WithUri("ops.example.org"), WithDns("OPS.example.org"), WithDns("ops.example.org."), WithDns("a.example.com"),
        WithDns("example.org"), Caller{.has_certificate = true}}) {
    EXPECT_TRUE(absl::IsPermissionDenied(authorizer.Check(caller, "AddNode"))) << caller.Actor();
  }
  EXPECT_TRUE(absl::IsPermissionDenied(Authorizer({}).Check(WithUri(kAdmin), "AddNode")));
}

TEST(Auth, ARefusalSaysWhoAndWhatIsMissing) {
  const absl::Status status = Authorizer({kAdmin}).Check(WithUri("spiffe://a/\nb"), "AddNode");
  EXPECT_EQ(ring::ReasonOf(status), "ADMIN_REQUIRED");
  EXPECT_EQ(std::string(status.message()),
            "\"spiffe://a/\\x0Ab\" may not call AddNode: no --admin-san of ringd names it");
  const absl::Status nameless = Authorizer({kAdmin}).Check({.has_certificate = true}, "AddNode");
  EXPECT_THAT(std::string(nameless.message()), HasSubstr("a certificate without URI and DNS SAN may not call AddNode"));
}

TEST(Auth, TheActorIsTheFirstUriThenTheFirstDnsNameThenThePeer) {
  Caller caller{.has_certificate = true, .uris = {"u1", "u2"}, .dns_names = {"d1", "d2"}, .peer = "p"};
  EXPECT_EQ(caller.Actor(), "u1");
  caller.uris.clear();
  EXPECT_EQ(caller.Actor(), "d1");
  caller.dns_names.clear();
  EXPECT_EQ(caller.Actor(), "p");
}

}  // namespace
}  // namespace ringd::server
