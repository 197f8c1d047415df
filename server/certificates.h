// Certificates of the server: reading them from files, and judging them.
//
// Functions without state, any thread.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/certificates.h"

namespace ringd::server {

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

// FAILED_PRECONDITION, with a text that names the file and the reason, for one that cannot be read, is no file, is
// empty or has more than a mebibyte.
absl::StatusOr<PemTexts> ReadPemFiles(const CertificateFiles& files);

// Whether a server can be run with them at the time `now`; see proto/certificates.h. FAILED_PRECONDITION, with a text
// that names the file and the reason, when not.
absl::StatusOr<CertificateFacts> CheckPem(const PemTexts& texts, const CertificateFiles& files, absl::Time now);

}  // namespace ringd::server
