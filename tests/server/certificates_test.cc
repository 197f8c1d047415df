// Which certificates a server takes, and what is said of the others; that good ones stay until better ones come.
#include "server/certificates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "ring/error.h"
#include "server/certificate_keeper.h"
#include "tests/server/store_test_data.h"
#include "tests/server/test_certificates.h"

namespace ringd::server {
namespace {

using ::testing::HasSubstr;

const CertificateFiles kNames{"cert.pem", "key.pem", "ca.pem"};

class CertificatesTest : public ::testing::Test {
 protected:
  PemTexts Good() const { return {server_.Pem(), server_.KeyPem(), ca_.Pem()}; }

  static void ExpectBad(const PemTexts& texts, const std::string& why) {
    const absl::Status status = CheckPem(texts, kNames, CertificateNow()).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
    EXPECT_EQ(ring::ReasonOf(status), "BAD_CERTIFICATE");
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  }

  TestCertificate ca_{{.name = "ca", .is_ca = true}};
  TestCertificate server_{{.issuer = &ca_}};
};

TEST_F(CertificatesTest, AGoodPairIsTaken) {
  const auto facts = CheckPem(Good(), kNames, CertificateNow());
  ASSERT_TRUE(facts.ok()) << facts.status();
  EXPECT_EQ(facts->subject, "CN=server");
  EXPECT_NE(facts->serial, "");
  EXPECT_EQ(facts->not_after, CertificateNow() + absl::Hours(24));
}

TEST_F(CertificatesTest, AChainIsTakenInItsOrder) {
  const TestCertificate intermediate({.name = "intermediate", .issuer = &ca_, .is_ca = true});
  const TestCertificate leaf({.issuer = &intermediate});
  PemTexts texts{leaf.Pem() + intermediate.Pem() + ca_.Pem(), leaf.KeyPem(), ca_.Pem()};
  EXPECT_TRUE(CheckPem(texts, kNames, CertificateNow()).ok());
  texts.certificate = leaf.Pem() + ca_.Pem();
  ExpectBad(texts, "certificate \"cert.pem\" (certificate 1 in it) was not issued by the certificate that follows it");
  texts.certificate = intermediate.Pem() + leaf.Pem();
  ExpectBad(texts, "key \"key.pem\" does not belong to the certificate \"cert.pem\"");
}

TEST_F(CertificatesTest, ALookalikeOfTheIssuerDidNotIssueIt) {
  const TestCertificate lookalike({.name = "ca", .is_ca = true});
  ExpectBad({server_.Pem() + lookalike.Pem(), server_.KeyPem(), ca_.Pem()}, "was not issued by");
}

TEST_F(CertificatesTest, WhatIsNoPemIsRefused) {
  PemTexts texts = Good();
  texts.certificate = "hello";
  ExpectBad(texts, "certificate \"cert.pem\" holds no certificate in PEM form");
  texts = Good();
  texts.key = ca_.Pem();
  ExpectBad(texts, "key \"key.pem\" holds no private key in PEM form without a passphrase");
  texts = Good();
  texts.key = server_.KeyPem("secret");
  ExpectBad(texts, "holds no private key in PEM form without a passphrase");
  texts = Good();
  texts.client_ca = server_.KeyPem();
  ExpectBad(texts, "client CA \"ca.pem\" holds no certificate");
}

TEST_F(CertificatesTest, WhatIsCutIsRefusedWhereverItIsCut) {
  const PemTexts good = Good();
  for (size_t size = 0; size + 1 < good.certificate.size(); size += 7) {
    PemTexts texts = good;
    texts.certificate.resize(size);
    EXPECT_FALSE(CheckPem(texts, kNames, CertificateNow()).ok()) << size;
    texts = good;
    texts.certificate += good.certificate.substr(0, size);
    const bool nothing_begun = size < std::string("-----BEGIN CERTIFICATE-----\n").size();
    EXPECT_EQ(CheckPem(texts, kNames, CertificateNow()).ok(), nothing_begun) << size;
  }
  for (size_t size = 0; size + 1 < good.key.size(); size += 7) {
    PemTexts texts = good;
    texts.key.resize(size);
    EXPECT_FALSE(CheckPem(texts, kNames, CertificateNow()).ok()) << size;
  }
}

TEST_F(CertificatesTest, TheKeyMustBelongToTheCertificate) {
  PemTexts texts = Good();
  texts.key = ca_.KeyPem();
  ExpectBad(texts, "key \"key.pem\" does not belong to the certificate \"cert.pem\"");
}

TEST_F(CertificatesTest, DatesAreJudged) {
  const auto bad = [this](const TestCertificate& server, const std::string& why) {
    ExpectBad({server.Pem(), server.KeyPem(), ca_.Pem()}, "certificate \"cert.pem\" " + why);
  };
  bad(TestCertificate({.not_after = CertificateNow() - absl::Seconds(1), .issuer = &ca_}),
      "has expired at 2023-11-14T22:13:19Z");
  bad(TestCertificate({.not_before = CertificateNow() + absl::Seconds(1), .issuer = &ca_}),
      "is not valid before 2023-11-14T22:13:21Z");
  const TestCertificate last_second({.not_before = CertificateNow(), .not_after = CertificateNow(), .issuer = &ca_});
  EXPECT_TRUE(CheckPem({last_second.Pem(), last_second.KeyPem(), ca_.Pem()}, kNames, CertificateNow()).ok());
}

TEST_F(CertificatesTest, OneClientCaMustBeValid) {
  const TestCertificate expired({.name = "old", .not_after = CertificateNow() - absl::Seconds(1), .is_ca = true});
  PemTexts texts = Good();
  texts.client_ca = expired.Pem();
  ExpectBad(texts, "client CA \"ca.pem\" has expired");
  texts.client_ca += ca_.Pem();
  EXPECT_TRUE(CheckPem(texts, kNames, CertificateNow()).ok());
}

TEST_F(CertificatesTest, WhatIsNotForServersOrTooWeakIsRefused) {
  const TestCertificate client({.issuer = &ca_, .usage = "clientAuth"});
  ExpectBad({client.Pem(), client.KeyPem(), ca_.Pem()}, "is not one for servers");
  const TestCertificate unsaid({.issuer = &ca_, .usage = ""});
  EXPECT_TRUE(CheckPem({unsaid.Pem(), unsaid.KeyPem(), ca_.Pem()}, kNames, CertificateNow()).ok());
  const TestCertificate weak({.issuer = &ca_, .weak_key = true});
  ExpectBad({weak.Pem(), weak.KeyPem(), ca_.Pem()}, "cannot be used: ee key too small");
}

class CertificateFilesTest : public CertificatesTest {
 protected:
  CertificateFilesTest() { Write(Good()); }

  void Write(const PemTexts& texts) {
    std::ofstream(files_.certificate) << texts.certificate;
    std::ofstream(files_.key) << texts.key;
    std::ofstream(files_.client_ca) << texts.client_ca;
  }
  std::unique_ptr<CertificateKeeper> Loaded() {
    auto keeper = CertificateKeeper::Load(files_, [this] { return now_; });
    EXPECT_TRUE(keeper.ok()) << keeper.status();
    return keeper.ok() ? *std::move(keeper) : nullptr;
  }

  TempDir temp_;
  const CertificateFiles files_{temp_ / "cert.pem", temp_ / "key.pem", temp_ / "ca.pem"};
  absl::Time now_ = CertificateNow();
};

TEST_F(CertificateFilesTest, AreReadAndNamedWhereTheyCannotBe) {
  EXPECT_EQ(*ReadPemFiles(files_), Good());
  const auto why = [this](const std::string& file) {
    const absl::Status status = ReadPemFiles(files_).status();
    EXPECT_EQ(ring::ReasonOf(status), "BAD_CERTIFICATE");
    EXPECT_THAT(std::string(status.message()), HasSubstr("\"" + file + "\" "));
    return std::string(status.message());
  };
  for (const auto& [what, file] : {std::pair("certificate", files_.certificate), std::pair("key", files_.key),
                                   std::pair("client CA", files_.client_ca)}) {
    Write(Good());
    std::filesystem::remove(file);
    EXPECT_THAT(why(file), HasSubstr(what));
    EXPECT_THAT(why(file), HasSubstr("cannot be read: No such file or directory"));
    std::ofstream(file).flush();
    EXPECT_THAT(why(file), HasSubstr("is empty"));
    std::ofstream(file) << std::string((1 << 20) + 1, 'x');
    EXPECT_THAT(why(file), HasSubstr("has more than 1048576 bytes"));
    std::filesystem::remove(file);
    std::filesystem::create_directory(file);
    EXPECT_THAT(why(file), HasSubstr("is not a regular file"));
    std::filesystem::remove(file);
    ASSERT_EQ(mkfifo(file.c_str(), 0600), 0);
    EXPECT_THAT(why(file), HasSubstr("is not a regular file"));
    std::filesystem::remove(file);
  }
}

TEST_F(CertificateFilesTest, LoadFailsAsTheCheckDoes) {
  std::filesystem::remove(files_.key);
  EXPECT_EQ(ring::ReasonOf(CertificateKeeper::Load(files_, absl::Now).status()), "BAD_CERTIFICATE");
}

TEST_F(CertificateFilesTest, ANewPairIsServedOnceItIsWhole) {
  const auto keeper = Loaded();
  ASSERT_NE(keeper, nullptr);
  const auto before = keeper->served();
  keeper->Look();
  EXPECT_EQ(keeper->served(), before) << "nothing is new";

  const TestCertificate renewed({.issuer = &ca_});
  std::ofstream(files_.certificate) << renewed.Pem();
  keeper->Look();
  EXPECT_EQ(keeper->served(), before) << "the key is still that of before";
  EXPECT_EQ(keeper->refused(), 1u);
  std::ofstream(files_.key) << renewed.KeyPem();
  keeper->Look();
  EXPECT_EQ(keeper->served()->texts.certificate, renewed.Pem());
  EXPECT_EQ(before->texts, Good()) << "who holds it keeps it";
}

TEST_F(CertificateFilesTest, WhatIsBadIsRefusedAndTheLastGoodOnesStay) {
  const auto keeper = Loaded();
  ASSERT_NE(keeper, nullptr);
  const auto before = keeper->served();
  const TestCertificate expired({.not_after = CertificateNow() - absl::Hours(1), .issuer = &ca_});
  PemTexts mismatched = Good();
  mismatched.key = ca_.KeyPem();
  PemTexts no_ca = Good();
  no_ca.client_ca = "";
  uint64_t refused = 0;
  for (const PemTexts& bad : {mismatched, PemTexts{}, no_ca, PemTexts{expired.Pem(), expired.KeyPem(), ca_.Pem()}}) {
    Write(bad);
    for (int i = 0; i < 3; i++) keeper->Look();
    EXPECT_EQ(keeper->served(), before);
    EXPECT_EQ(keeper->refused(), ++refused) << "told and counted once";
  }
  std::filesystem::remove(files_.certificate);
  keeper->Look();
  EXPECT_EQ(keeper->served(), before);
  Write(Good());
  keeper->Look();
  EXPECT_EQ(keeper->served(), before);
  EXPECT_EQ(keeper->refused(), refused + 1);
}

TEST_F(CertificateFilesTest, APairBecomesGoodWhenItsTimeHasCome) {
  const auto keeper = Loaded();
  ASSERT_NE(keeper, nullptr);
  const TestCertificate later({.not_before = CertificateNow() + absl::Minutes(5), .issuer = &ca_});
  Write({later.Pem(), later.KeyPem(), ca_.Pem()});
  keeper->Look();
  EXPECT_EQ(keeper->served()->texts, Good());
  now_ += absl::Minutes(5);
  keeper->Look();
  EXPECT_EQ(keeper->served()->texts.certificate, later.Pem());
}

TEST_F(CertificateFilesTest, OthersCanBeNamed) {
  const auto keeper = Loaded();
  ASSERT_NE(keeper, nullptr);
  const TestCertificate other({.issuer = &ca_});
  const CertificateFiles files{temp_ / "other.pem", temp_ / "other-key.pem", files_.client_ca};
  std::ofstream(files.certificate) << other.Pem();
  std::ofstream(files.key) << other.KeyPem();
  keeper->Look(files);
  EXPECT_EQ(keeper->served()->texts.certificate, other.Pem());
}

TEST_F(CertificateFilesTest, TheThreadLooksByItself) {
  const auto keeper = Loaded();
  ASSERT_NE(keeper, nullptr);
  const TestCertificate renewed({.issuer = &ca_});
  Write({renewed.Pem(), renewed.KeyPem(), ca_.Pem()});
  keeper->Start(std::chrono::milliseconds(1));
  // Ended by ctest's timeout where it does not.
  while (keeper->served()->texts.certificate != renewed.Pem()) std::this_thread::yield();
}

}  // namespace
}  // namespace ringd::server
