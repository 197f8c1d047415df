#include "server/certificates.h"

#include <utility>

namespace ringd::server {
namespace {

Pem CertificateOf(const CertificateFiles& files, std::string_view text = "") {
  return {"certificate", files.certificate, text};
}
Pem KeyOf(const CertificateFiles& files, std::string_view text = "") { return {"key", files.key, text}; }
Pem ClientCaOf(const CertificateFiles& files, std::string_view text = "") {
  return {"client CA", files.client_ca, text};
}

}  // namespace

absl::StatusOr<PemTexts> ReadPemFiles(const CertificateFiles& files) {
  PemTexts texts;
  if (absl::Status status = ReadInto(CertificateOf(files), &texts.certificate); !status.ok()) return status;
  if (absl::Status status = ReadInto(KeyOf(files), &texts.key); !status.ok()) return status;
  if (absl::Status status = ReadInto(ClientCaOf(files), &texts.client_ca); !status.ok()) return status;
  return texts;
}

absl::StatusOr<CertificateFacts> CheckPem(const PemTexts& texts, const CertificateFiles& files, absl::Time now) {
  auto facts =
      CheckCertificate(CertificateOf(files, texts.certificate), KeyOf(files, texts.key), CertificateUse::kServer, now);
  if (!facts.ok()) return facts;
  if (absl::Status status = CheckAuthorities(ClientCaOf(files, texts.client_ca), now); !status.ok()) return status;
  return facts;
}

}  // namespace ringd::server
