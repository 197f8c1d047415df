#include "server/certificates.h"

#include <utility>

#include "server/small_file.h"

namespace ringd::server {
namespace {

Pem CertificateOf(const CertificateFiles& files, std::string_view text = "") {
  return {"certificate", files.certificate, text};
}
Pem KeyOf(const CertificateFiles& files, std::string_view text = "") { return {"key", files.key, text}; }
Pem ClientCaOf(const CertificateFiles& files, std::string_view text = "") {
  return {"client CA", files.client_ca, text};
}

absl::Status ReadFile(const Pem& pem, std::string* text) {
  SmallFile file = ReadSmallFile(std::string(pem.file));
  if (!file.why_not.empty()) return BadPem(pem, file.why_not);
  if (file.content.empty()) return BadPem(pem, "is empty");
  *text = std::move(file.content);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<PemTexts> ReadPemFiles(const CertificateFiles& files) {
  PemTexts texts;
  if (absl::Status status = ReadFile(CertificateOf(files), &texts.certificate); !status.ok()) return status;
  if (absl::Status status = ReadFile(KeyOf(files), &texts.key); !status.ok()) return status;
  if (absl::Status status = ReadFile(ClientCaOf(files), &texts.client_ca); !status.ok()) return status;
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
