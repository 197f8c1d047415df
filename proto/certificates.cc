#include "proto/certificates.h"

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

#include "proto/small_file.h"
#include "ring/error.h"

namespace ringd {
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

// The newest error of OpenSSL in this thread, and none any more.
std::string OpensslError() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason == nullptr ? "unknown error" : reason;
}

BioPtr Memory(std::string_view text) { return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size()))); }

absl::StatusOr<std::vector<CertificatePtr>> ParseCertificates(const Pem& pem) {
  const BioPtr memory = Memory(pem.text);
  std::vector<CertificatePtr> certificates;
  while (CertificatePtr next{PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr)}) {
    certificates.push_back(std::move(next));
  }
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string error = OpensslError();
  if (!at_end)
    return BadPem(pem, "is damaged after " + std::to_string(certificates.size()) + " certificates: " + error);
  if (certificates.empty()) return BadPem(pem, "holds no certificate in PEM form");
  return certificates;
}

absl::StatusOr<KeyPtr> ParseKey(const Pem& pem) {
  const auto no_passphrase = [](char*, int, int, void*) { return -1; };
  KeyPtr key(PEM_read_bio_PrivateKey(Memory(pem.text).get(), nullptr, no_passphrase, nullptr));
  ERR_clear_error();
  if (key == nullptr) return BadPem(pem, "holds no private key in PEM form without a passphrase");
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
  if (now < from) return "is not valid before " + Written(from);
  if (now > until) return "has expired at " + Written(until);
  return "";
}

absl::Status CheckChain(const Pem& pem, const std::vector<CertificatePtr>& chain, CertificateUse use, absl::Time now) {
  for (size_t i = 0; i < chain.size(); i++) {
    const std::string which = chain.size() == 1 ? "" : "(certificate " + std::to_string(i + 1) + " in it) ";
    if (const std::string why = WhyNotValid(chain[i].get(), now); !why.empty()) return BadPem(pem, which + why);
    if (i + 1 == chain.size()) break;
    const bool issued = X509_check_issued(chain[i + 1].get(), chain[i].get()) == X509_V_OK &&
                        X509_verify(chain[i].get(), X509_get0_pubkey(chain[i + 1].get())) == 1;
    ERR_clear_error();
    if (!issued) return BadPem(pem, which + "was not issued by the certificate that follows it");
  }
  const bool server = use == CertificateUse::kServer;
  if (X509_check_purpose(chain.front().get(), server ? X509_PURPOSE_SSL_SERVER : X509_PURPOSE_SSL_CLIENT, 0) != 1) {
    return BadPem(
        pem, std::string("is not one for ") + (server ? "servers" : "clients") + ": its (extended) key usage says so");
  }
  return absl::OkStatus();
}

// What gRPC is going to do. OpenSSL refuses here what it finds too weak.
absl::Status Rehearse(const Pem& pem, const std::vector<CertificatePtr>& chain, EVP_PKEY* key) {
  const ContextPtr context(SSL_CTX_new(TLS_method()));
  bool done = context != nullptr && SSL_CTX_use_certificate(context.get(), chain.front().get()) == 1 &&
              SSL_CTX_use_PrivateKey(context.get(), key) == 1;
  for (size_t i = 1; i < chain.size(); i++) done = done && SSL_CTX_add1_chain_cert(context.get(), chain[i].get()) == 1;
  return done ? absl::OkStatus() : BadPem(pem, "cannot be used: " + OpensslError());
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

}  // namespace

absl::Status BadPem(const Pem& pem, std::string_view why) {
  std::string text(pem.what);
  text.append(" \"").append(pem.file).append("\" ").append(why);
  return ring::Error(absl::StatusCode::kFailedPrecondition, kBadCertificate, text);
}

absl::Status ReadInto(const Pem& pem, std::string* text) {
  SmallFile file = ReadSmallFile(std::string(pem.file));
  if (!file.why_not.empty()) return BadPem(pem, file.why_not);
  if (file.content.empty()) return BadPem(pem, "is empty");
  *text = std::move(file.content);
  return absl::OkStatus();
}

absl::StatusOr<CertificateFacts> CheckCertificate(const Pem& certificate, const Pem& key, CertificateUse use,
                                                  absl::Time now) {
  ERR_clear_error();
  const auto chain = ParseCertificates(certificate);
  if (!chain.ok()) return chain.status();
  const auto parsed_key = ParseKey(key);
  if (!parsed_key.ok()) return parsed_key.status();
  if (X509_check_private_key(chain->front().get(), parsed_key->get()) != 1) {
    ERR_clear_error();
    return BadPem(key, "does not belong to the certificate \"" + std::string(certificate.file) + "\"");
  }
  if (absl::Status status = CheckChain(certificate, *chain, use, now); !status.ok()) return status;
  if (absl::Status status = Rehearse(certificate, *chain, parsed_key->get()); !status.ok()) return status;
  return FactsOf(chain->front().get());
}

absl::Status CheckAuthorities(const Pem& authorities, absl::Time now) {
  ERR_clear_error();
  const auto certificates = ParseCertificates(authorities);
  if (!certificates.ok()) return certificates.status();
  const bool any = std::any_of(certificates->begin(), certificates->end(), [now](const CertificatePtr& certificate) {
    return WhyNotValid(certificate.get(), now).empty();
  });
  return any ? absl::OkStatus() : BadPem(authorities, WhyNotValid(certificates->front().get(), now));
}

}  // namespace ringd
