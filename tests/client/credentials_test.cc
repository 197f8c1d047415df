// Which TLS files a client takes, and that good ones stay until better ones come.
#include "client/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ring/error.h"
#include "tests/client/client_certificates.h"

namespace ringd {
namespace {

using ::testing::HasSubstr;

class CredentialsTest : public ::testing::Test {
 protected:
  std::unique_ptr<Credentials> Loaded() {
    auto credentials = Credentials::Load(certificates_.files(), [this] { return now_; });
    EXPECT_TRUE(credentials.ok()) << credentials.status();
    return credentials.ok() ? *std::move(credentials) : nullptr;
  }
  // Looks again, as soon as it may.
  void LookAgain(Credentials& credentials) {
    now_ += absl::Seconds(1);
    credentials.Renew();
  }
  static void ExpectBad(const absl::Status& status, const std::string& why) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    EXPECT_EQ(ring::ReasonOf(status), "BAD_CERTIFICATE");
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  }

  const TlsFiles& files() const { return certificates_.files(); }

  absl::Time now_ = server::CertificateNow();
  ClientCertificates certificates_{now_};
};

TEST_F(CredentialsTest, WithoutFilesTheyStayAsTheyAre) {
  const auto credentials = *Credentials::Load(std::nullopt);
  const auto first = credentials->current();
  ASSERT_NE(first, nullptr);
  credentials->Renew();
  EXPECT_EQ(credentials->current(), first);
  EXPECT_TRUE(credentials->problem().ok());
}

TEST_F(CredentialsTest, WhatIsNotGoodIsRefusedAtTheStart) {
  const auto load = [this](const TlsFiles& files) {
    return Credentials::Load(files, [this] { return now_; }).status();
  };
  EXPECT_EQ(load({.cert_file = files().cert_file}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(load({.key_file = files().key_file}).code(), absl::StatusCode::kInvalidArgument);
  ExpectBad(load({.ca_file = "/nowhere"}), "CA \"/nowhere\" cannot be read: No such file or directory");
  certificates_.Write(files().key_file, "");
  ExpectBad(load(files()), "key \"" + files().key_file + "\" is empty");
  certificates_.Write(certificates_.Expired());
  ExpectBad(load(files()), "certificate \"" + files().cert_file + "\" has expired at");
}

TEST_F(CredentialsTest, ACertificateForServersAloneIsRefused) {
  const TestCertificate ca({.name = "ca", .is_ca = true});
  certificates_.Write(TestCertificate({.issuer = &ca, .usage = "serverAuth"}));
  ExpectBad(Credentials::Load(files(), [this] { return now_; }).status(), "is not one for clients");
}

TEST_F(CredentialsTest, ARenewedPairIsTakenOnceItIsWhole) {
  const auto credentials = Loaded();
  ASSERT_NE(credentials, nullptr);
  const auto first = credentials->current();
  LookAgain(*credentials);
  EXPECT_EQ(credentials->current(), first) << "nothing is new";

  const TestCertificate renewed = certificates_.Issue("two");
  certificates_.Write(files().cert_file, renewed.Pem());
  LookAgain(*credentials);
  EXPECT_EQ(credentials->current(), first);
  ExpectBad(credentials->problem(), "key \"" + files().key_file + "\" does not belong to the certificate");
  certificates_.Write(files().key_file, renewed.KeyPem());
  LookAgain(*credentials);
  EXPECT_NE(credentials->current(), first);
  EXPECT_TRUE(credentials->problem().ok());
}

TEST_F(CredentialsTest, WhatIsBadIsToldAndTheLastGoodOnesStay) {
  const auto credentials = Loaded();
  ASSERT_NE(credentials, nullptr);
  const auto first = credentials->current();
  const TestCertificate good = certificates_.Issue("one");
  certificates_.Write(good);
  LookAgain(*credentials);
  const auto second = credentials->current();
  EXPECT_NE(second, first);
  for (const auto& [file, text, why] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {files().cert_file, good.Pem().substr(0, good.Pem().size() / 2), "is damaged"},
           {files().cert_file, "", "is empty"},
           {files().key_file, good.KeyPem().substr(0, good.KeyPem().size() / 2), "holds no private key"},
           {files().key_file, certificates_.Issue("other").KeyPem(), "does not belong"},
           {files().ca_file, certificates_.ca().substr(0, 100), "is damaged"}}) {
    certificates_.Write(good);
    certificates_.Write(file, text);
    LookAgain(*credentials);
    ExpectBad(credentials->problem(), why);
    EXPECT_EQ(credentials->current(), second) << why;
  }
  certificates_.Write(good);
  LookAgain(*credentials);
  EXPECT_TRUE(credentials->problem().ok());
  EXPECT_EQ(credentials->current(), second) << "the same files as before";
}

TEST_F(CredentialsTest, FilesAreLookedAtOnceASecond) {
  const auto credentials = Loaded();
  ASSERT_NE(credentials, nullptr);
  const auto first = credentials->current();
  certificates_.Renew("two");
  now_ += absl::Milliseconds(999);
  credentials->Renew();
  EXPECT_EQ(credentials->current(), first);
  now_ += absl::Milliseconds(1);
  credentials->Renew();
  EXPECT_NE(credentials->current(), first);
}

TEST_F(CredentialsTest, AClockThatIsSetBackHoldsNothingUp) {
  const auto credentials = Loaded();
  ASSERT_NE(credentials, nullptr);
  const auto first = credentials->current();
  certificates_.Renew("two");
  now_ -= absl::Hours(1);
  credentials->Renew();
  EXPECT_NE(credentials->current(), first);
}

TEST_F(CredentialsTest, OnesOwnCertificateThatExpiresIsToldAndKept) {
  const auto credentials = Loaded();
  ASSERT_NE(credentials, nullptr);
  const auto first = credentials->current();
  now_ += absl::Hours(25);
  credentials->Renew();
  ExpectBad(credentials->problem(), "has expired at");
  EXPECT_EQ(credentials->current(), first);
}

}  // namespace
}  // namespace ringd
