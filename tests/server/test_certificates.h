// Certificates for tests, made in memory: P-256 keys, no files.
#pragma once

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

#include "absl/time/time.h"

namespace ringd::server {

inline absl::Time CertificateNow() { return absl::FromUnixSeconds(1'700'000'000); }

class TestCertificate {
 public:
  struct Wanted {
    std::string name = "server";
    absl::Time not_before = CertificateNow() - absl::Hours(1);
    absl::Time not_after = CertificateNow() + absl::Hours(24);
    const TestCertificate* issuer = nullptr;  // null = itself
    bool is_ca = false;
    std::string usage = "serverAuth,clientAuth";  // extended key usage; empty = none is named
    bool weak_key = false;
  };

  explicit TestCertificate(const Wanted& wanted)
      : key_(wanted.weak_key ? EVP_RSA_gen(512) : EVP_EC_gen("P-256"), EVP_PKEY_free),
        certificate_(X509_new(), X509_free) {
    static int64_t serial = 0;
    X509* x509 = certificate_.get();
    X509_set_version(x509, X509_VERSION_3);
    ASN1_INTEGER_set_int64(X509_get_serialNumber(x509), ++serial);
    ASN1_TIME_set(X509_getm_notBefore(x509), absl::ToTimeT(wanted.not_before));
    ASN1_TIME_set(X509_getm_notAfter(x509), absl::ToTimeT(wanted.not_after));
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(wanted.name.c_str()), -1, -1, 0);
    const TestCertificate& issuer = wanted.issuer == nullptr ? *this : *wanted.issuer;
    X509_set_issuer_name(x509, X509_get_subject_name(issuer.certificate_.get()));
    X509_set_pubkey(x509, key_.get());
    AddExtension(NID_basic_constraints, wanted.is_ca ? "critical,CA:TRUE" : "critical,CA:FALSE");
    if (!wanted.usage.empty() && !wanted.is_ca) AddExtension(NID_ext_key_usage, wanted.usage);
    X509_sign(x509, issuer.key_.get(), EVP_sha256());
  }

  std::string Pem() const {
    return Written([this](BIO* out) { PEM_write_bio_X509(out, certificate_.get()); });
  }
  std::string KeyPem(const std::string& passphrase = "") const {
    return Written([&](BIO* out) {
      if (passphrase.empty()) {
        PEM_write_bio_PrivateKey(out, key_.get(), nullptr, nullptr, 0, nullptr, nullptr);
      } else {
        PEM_write_bio_PrivateKey(out, key_.get(), EVP_aes_128_cbc(),
                                 reinterpret_cast<const unsigned char*>(passphrase.data()),
                                 static_cast<int>(passphrase.size()), nullptr, nullptr);
      }
    });
  }

 private:
  void AddExtension(int nid, const std::string& value) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value.c_str());
    X509_add_ext(certificate_.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }

  template <class Write>
  static std::string Written(Write write) {
    const std::unique_ptr<BIO, decltype(&BIO_free)> out(BIO_new(BIO_s_mem()), BIO_free);
    write(out.get());
    char* bytes = nullptr;
    const auto size = BIO_get_mem_data(out.get(), &bytes);
    return {bytes, static_cast<size_t>(size)};
  }

  std::shared_ptr<EVP_PKEY> key_;
  std::shared_ptr<X509> certificate_;
};

}  // namespace ringd::server
