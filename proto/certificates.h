// Certificates in PEM, as both ends of a connection have them: judging them before gRPC sees them, which would say
// little, or abort.
//
// Functions without state, any thread.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace ringd {

// The reason of errors. Part of the contract.
inline constexpr std::string_view kBadCertificate = "BAD_CERTIFICATE";

// A file in PEM, and what is in it.
struct Pem {
  std::string_view what;  // what it is for, such as "certificate"
  std::string_view file;
  std::string_view text;
};

enum class CertificateUse { kServer, kClient };

// What a log and a metric want to know of a certificate.
struct CertificateFacts {
  std::string serial;   // in hexadecimal
  std::string subject;  // its name, as RFC 2253 writes it
  absl::Time not_after;
};

// FAILED_PRECONDITION: what is wrong with a file, its name before it.
absl::Status BadPem(const Pem& pem, std::string_view why);

// Reads the file into `text`; that of `pem` is not looked at.
absl::Status ReadInto(const Pem& pem, std::string* text);

// Whether this end of a connection can show the certificate at the time `now`: both parse, the key belongs to the first
// certificate and has no passphrase, each certificate was issued by the next one, all are valid now, the first is one
// for that use, and OpenSSL would take them. FAILED_PRECONDITION, with a text that names the file and the reason, when
// not.
absl::StatusOr<CertificateFacts> CheckCertificate(const Pem& certificate, const Pem& key, CertificateUse use,
                                                  absl::Time now);

// Whether the other end's certificate can be verified against them: all parse, and one at least is valid now.
absl::Status CheckAuthorities(const Pem& authorities, absl::Time now);

}  // namespace ringd
