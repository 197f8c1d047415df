#include "server/certificates.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <ctime>
#include <memory>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "ring/error.h"
#include "server/small_file.h"

namespace ringd::server {
namespace {

template <auto Free>
struct Freer {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using BioPtr = std::unique_ptr<BIO, Freer<BIO_free>>;
using CertificatePtr = std::unique_ptr<X509, Freer<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Freer<EVP_PKEY_free>>;
using ContextPtr = std::unique_ptr<SSL_CTX, Freer<SSL_CTX_free>>;
using NumberPtr = std::unique_ptr<BIGNUM, Freer<BN_free>>;

// A file's name and what it is for, in front of what is wrong with it.
struct Subject {
  std::string_view what;  // such as "certificate"
  const std::string& file;
};

absl::Status Bad(const Subject& subject, const std::string& why) {
  return ring::Error(absl::StatusCode::kFailedPrecondition, kBadCertificate,
                     fmt::format("{} \"{}\" {}", subject.what, subject.file, why));
}

// The newest error of OpenSSL in this thread, and none any more.
std::string OpensslError() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason == nullptr ? "unknown error" : reason;
}

absl::Status ReadFile(const Subject& subject, std::string* text) {
  SmallFile file = ReadSmallFile(subject.file);
  if (!file.why_not.empty()) return Bad(subject, file.why_not);
  if (file.content.empty()) return Bad(subject, "is empty");
  *text = std::move(file.content);
  return absl::OkStatus();
}

BioPtr Memory(const std::string& text) { return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

absl::StatusOr<std::vector<CertificatePtr>> ParseCertificates(const Subject& subject, const std::string& text) {
  const BioPtr memory = Memory(text);
  std::vector<CertificatePtr> certificates;
  while (CertificatePtr next{PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr)}) {
    certificates.push_back(std::move(next));
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string error = OpensslError();
  if (!at_end) return Bad(subject, fmt::format("is damaged after {} certificates: {}", certificates.size(), error));
  if (certificates.empty()) return Bad(subject, "holds no certificate in PEM form");
  return certificates;
}

absl::StatusOr<KeyPtr> ParseKey(const Subject& subject, const std::string& text) {
  const auto no_passphrase = [](char*, int, int, void*) { return -1; };
  KeyPtr key(PEM_read_bio_PrivateKey(Memory(text).get(), nullptr, no_passphrase, nullptr));
  ERR_clear_error();
  if (key == nullptr) return Bad(subject, "holds no private key in PEM form without a passphrase");
  return key;
}

absl::Time TimeOf(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return absl::InfinitePast();
  return absl::FromTimeT(timegm(&parts));
}

std::string Written(absl::Time time) { return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", time, absl::UTCTimeZone()); }

// Empty when the certificate is valid at that time.
std::string WhyNotValid(const X509* certificate, absl::Time now) {
  const absl::Time from = TimeOf(X509_get0_notBefore(certificate));
  const absl::Time until = TimeOf(X509_get0_notAfter(certificate));
  if (now < from) return fmt::format("is not valid before {}", Written(from));
  if (now > until) return fmt::format("has expired at {}", Written(until));
  return "";
}

absl::Status CheckChain(const Subject& subject, const std::vector<CertificatePtr>& chain, absl::Time now) {
  for (size_t i = 0; i < chain.size(); i++) {
    const std::string which = chain.size() == 1 ? "" : fmt::format("(certificate {} in it) ", i + 1);
    if (const std::string why = WhyNotValid(chain[i].get(), now); !why.empty()) return Bad(subject, which + why);
    if (i + 1 == chain.size()) break;
    const bool issued = X509_check_issued(chain[i + 1].get(), chain[i].get()) == X509_V_OK &&
                        X509_verify(chain[i].get(), X509_get0_pubkey(chain[i + 1].get())) == 1;
    ERR_clear_error();
    if (!issued) return Bad(subject, which + "was not issued by the certificate that follows it");
  }
  if (X509_check_purpose(chain.front().get(), X509_PURPOSE_SSL_SERVER, 0) != 1) {
    return Bad(subject, "is not one for servers: its (extended) key usage says so");
  }
  return absl::OkStatus();
}

// What gRPC is going to do. OpenSSL refuses here what it finds too weak.
absl::Status Rehearse(const Subject& subject, const std::vector<CertificatePtr>& chain, EVP_PKEY* key) {
  const ContextPtr context(SSL_CTX_new(TLS_server_method()));
  bool done = context != nullptr && SSL_CTX_use_certificate(context.get(), chain.front().get()) == 1 &&
              SSL_CTX_use_PrivateKey(context.get(), key) == 1;
  for (size_t i = 1; i < chain.size(); i++) done = done && SSL_CTX_add1_chain_cert(context.get(), chain[i].get()) == 1;
  return done ? absl::OkStatus() : Bad(subject, fmt::format("cannot be used: {}", OpensslError()));
}

absl::Status CheckClientCa(const Subject& subject, const std::string& text, absl::Time now) {
  const auto authorities = ParseCertificates(subject, text);
  if (!authorities.ok()) return authorities.status();
  const bool any = std::any_of(authorities->begin(), authorities->end(), [now](const CertificatePtr& certificate) {
    return WhyNotValid(certificate.get(), now).empty();
  });
  return any ? absl::OkStatus() : Bad(subject, WhyNotValid(authorities->front().get(), now));
}

CertificateFacts FactsOf(X509* certificate) {
  CertificateFacts facts{.not_after = TimeOf(X509_get0_notAfter(certificate))};
  const NumberPtr serial(ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), nullptr));
  if (char* digits = serial == nullptr ? nullptr : BN_bn2hex(serial.get()); digits != nullptr) {
    facts.serial = digits;
    OPENSSL_free(digits);
  }
  const BioPtr memory(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(memory.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
  char* bytes = nullptr;
  const auto size = BIO_get_mem_data(memory.get(), &bytes);
  if (size > 0) facts.subject.assign(bytes, static_cast<size_t>(size));
  return facts;
}

Subject CertificateOf(const CertificateFiles& files) { return {"certificate", files.certificate}; }
Subject KeyOf(const CertificateFiles& files) { return {"key", files.key}; }
Subject ClientCaOf(const CertificateFiles& files) { return {"client CA", files.client_ca}; }

}  // namespace

absl::StatusOr<PemTexts> ReadPemFiles(const CertificateFiles& files) {
  PemTexts texts;
  if (absl::Status status = ReadFile(CertificateOf(files), &texts.certificate); !status.ok()) return status;
  if (absl::Status status = ReadFile(KeyOf(files), &texts.key); !status.ok()) return status;
  if (absl::Status status = ReadFile(ClientCaOf(files), &texts.client_ca); !status.ok()) return status;
  return texts;
}

absl::StatusOr<CertificateFacts> CheckPem(const PemTexts& texts, const CertificateFiles& files, absl::Time now) {
  ERR_clear_error();
  const auto chain = ParseCertificates(CertificateOf(files), texts.certificate);
  if (!chain.ok()) return chain.status();
  const auto key = ParseKey(KeyOf(files), texts.key);
  if (!key.ok()) return key.status();
  if (X509_check_private_key(chain->front().get(), key->get()) != 1) {
    ERR_clear_error();
    return Bad(KeyOf(files), fmt::format("does not belong to the certificate \"{}\"", files.certificate));
  }
  if (absl::Status status = CheckChain(CertificateOf(files), *chain, now); !status.ok()) return status;
  if (absl::Status status = Rehearse(CertificateOf(files), *chain, key->get()); !status.ok()) return status;
  if (absl::Status status = CheckClientCa(ClientCaOf(files), texts.client_ca, now); !status.ok()) return status;
  return FactsOf(chain->front().get());
}

}  // namespace ringd::server
