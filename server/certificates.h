// Certificates of the server: reading them from files, and judging them before gRPC sees them, which would say little
// or abort.
//
// Functions without state, any thread.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace ringd::server {

// The reason of errors. Part of the contract.
inline constexpr std::string_view kBadCertificate = "BAD_CERTIFICATE";

// Names of PEM files.
struct CertificateFiles {
  std::string certificate;  // the server's, and behind it those that lead from it to the CA that clients know
  std::string key;          // of the first certificate, without a passphrase
  std::string client_ca;    // the CAs whose certificates clients may show

  bool operator==(const CertificateFiles&) const = default;
};

// What they hold.
struct PemTexts {
  std::string certificate;
  std::string key;
  std::string client_ca;

  bool operator==(const PemTexts&) const = default;
};

// What a log and a metric want to know of a certificate.
struct CertificateFacts {
  std::string serial;   // in hexadecimal
  std::string subject;  // its name, as RFC 2253 writes it
  absl::Time not_after;
};

// FAILED_PRECONDITION, with a text that names the file and the reason, for one that cannot be read, is no file, is
// empty or has more than a mebibyte.
absl::StatusOr<PemTexts> ReadPemFiles(const CertificateFiles& files);

// Whether a server can be run with them at the time `now`: each parses, the key belongs to the certificate, each
// certificate was issued by the next one, all are valid now, the first is one for servers, OpenSSL would use it, and
// one CA at least is valid. FAILED_PRECONDITION, with a text that names the file and the reason, when not.
absl::StatusOr<CertificateFacts> CheckPem(const PemTexts& texts, const CertificateFiles& files, absl::Time now);

}  // namespace ringd::server
