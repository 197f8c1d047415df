// Who may call what: one table from the methods of ringd.v1.Directory to the right that each needs, and one decision.
//
// Pure values and functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace ringd::server {

// The reason of a refusal. Part of the contract.
inline constexpr std::string_view kAdminRequired = "ADMIN_REQUIRED";

enum class Right {
  kRead,    // look up, list, watch, report what was watched
  kChange,  // change rings, or take away all of them as a backup
};

// The right that a method ("AddNode") needs; nothing for one without a rule, which nobody may call.
std::optional<Right> RightFor(std::string_view method);

// Who calls: by certificate, or over a plaintext listener, where all who reach it are trusted.
struct Caller {
  bool has_certificate = false;
  std::vector<std::string> uris;       // URI SANs of the certificate, such as a SPIFFE id
  std::vector<std::string> dns_names;  // its DNS SANs
  std::string peer;                    // gRPC's name of the connection

  // The name that stands in change records and in the log: the first URI, else the first DNS name, else the peer.
  const std::string& Actor() const;
};

class Authorizer {
 public:
  // Certificates with one of these SANs may change rings. A name with a colon in it is compared with URI SANs, any
  // other with DNS SANs; byte by byte, a wildcard stands for itself.
  explicit Authorizer(std::vector<std::string> admin_sans) : admin_sans_(std::move(admin_sans)) {}

  // PERMISSION_DENIED, with a text that says what is missing, for what the caller may not do.
  absl::Status Check(const Caller& caller, std::string_view method) const;

 private:
  bool IsAdmin(const Caller& caller) const;

  const std::vector<std::string> admin_sans_;
};

}  // namespace ringd::server
