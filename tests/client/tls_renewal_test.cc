// Client certificates are renewed while a program runs: the next connections are made with the new one, no call fails,
// and a pair that is bad is told and not used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>
#include <thread>

#include "grpcpp/security/auth_context.h"
#include "grpcpp/security/server_credentials.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "ringd/client.h"
#include "ringd/local_ring.h"
#include "ringd/v1/directory.grpc.pb.h"
#include "tests/client/client_certificates.h"
#include "tests/support/shared.h"

namespace ringd {
namespace {

using ::testing::HasSubstr;

// A directory of mTLS that notes who calls. It ends each Watch at once, so that a copy connects again and again.
class Callers final : public v1::Directory::Service {
 public:
  grpc::Status Lookup(grpc::ServerContext* context, const v1::LookupRequest*, v1::LookupResponse* response) override {
    response->add_owners()->set_id("n1");
    last_.Update([&](std::string& name) { name = NameOf(*context); });
    return grpc::Status::OK;
  }
  grpc::Status Watch(grpc::ServerContext* context, const v1::WatchRequest*,
                     grpc::ServerWriter<v1::WatchResponse>*) override {
    watchers_.Update([&](std::map<std::string, int>& names) { names[NameOf(*context)]++; });
    return {grpc::StatusCode::UNAVAILABLE, "come again"};
  }

  std::string last() const { return last_.Get(); }
  void AwaitWatch(const std::string& name) {
    watchers_.Await([&](const std::map<std::string, int>& names) { return names.contains(name); });
  }

 private:
  static std::string NameOf(const grpc::ServerContext& context) {
    const auto names = context.auth_context()->FindPropertyValues("x509_common_name");
    return names.empty() ? "" : std::string(names.front().data(), names.front().size());
  }

  support::Shared<std::string> last_;
  support::Shared<std::map<std::string, int>> watchers_;
};

class TlsRenewalTest : public ::testing::Test {
 protected:
  TlsRenewalTest() {
    const TestCertificate server = certificates_.Issue("server");
    grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    options.pem_root_certs = certificates_.ca();
    options.pem_key_cert_pairs.push_back({server.KeyPem(), server.Pem()});
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(options), &port);
    builder.RegisterService(&callers_);
    server_ = builder.BuildAndStart();
    options_ = {.endpoints = {"127.0.0.1:" + std::to_string(port)}, .tls = certificates_.files()};
  }

  ClientCertificates certificates_;
  Callers callers_;
  std::unique_ptr<grpc::Server> server_;
  ClientOptions options_;
};

TEST_F(TlsRenewalTest, CallsGoOnWithTheNewCertificate) {
  const auto client = Client::Connect(options_);
  ASSERT_TRUE(client.ok()) << client.status();
  ASSERT_TRUE((*client)->Lookup("r", "k").ok());
  EXPECT_EQ(callers_.last(), "one");
  certificates_.Renew("two");
  // Ended by ctest's timeout where it does not come.
  while (callers_.last() != "two") ASSERT_TRUE((*client)->Lookup("r", "k").ok());
}

TEST_F(TlsRenewalTest, ABadPairIsToldAndTheOneFromBeforeGoesOn) {
  const auto client = Client::Connect(options_);
  ASSERT_TRUE(client.ok()) << client.status();
  EXPECT_TRUE((*client)->TlsProblem().ok());
  certificates_.Write(options_.tls->key_file, "");
  while ((*client)->TlsProblem().ok()) std::this_thread::yield();
  EXPECT_THAT(std::string((*client)->TlsProblem().message()), HasSubstr(options_.tls->key_file));
  ASSERT_TRUE((*client)->Lookup("r", "k").ok());
  EXPECT_EQ(callers_.last(), "one");
  // Who cannot connect reads why that may be.
  server_->Shutdown();
  const absl::Status status = (*client)->Lookup("r", "k").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr("is empty"));
}

TEST_F(TlsRenewalTest, ACopyConnectsWithTheNewCertificate) {
  const auto ring = LocalRing::Start("r", {.directory = options_});
  ASSERT_TRUE(ring.ok()) << ring.status();
  callers_.AwaitWatch("one");
  certificates_.Renew("two");
  callers_.AwaitWatch("two");
  certificates_.Write(options_.tls->cert_file, "");
  while ((*ring)->status().tls_problem.ok()) std::this_thread::yield();
}

}  // namespace
}  // namespace ringd
