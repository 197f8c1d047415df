// Where a server is going to listen, and how: the rule that what other machines reach speaks mTLS, unless an operator
// names it as one that does not.
//
// Values and functions, any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "server/listen_address.h"

namespace ringd::server {

// The reason of a refusal. Part of the contract.
inline constexpr std::string_view kPlaintextRefused = "PLAINTEXT_REFUSED";

enum class Transport { kPlaintext, kMutualTls };

struct GrpcListen {
  ListenAddress address;
  Transport transport = Transport::kPlaintext;
  // Plaintext that --allow-plaintext let pass: it would have been refused, or would speak mTLS.
  bool by_override = false;
};

struct ListenPlan {
  std::vector<GrpcListen> grpc;  // one at least
  std::optional<ListenAddress> http;
  std::optional<ListenAddress> metrics;
};

// The texts of the settings of the same names.
struct ListenSettings {
  std::vector<std::string> listen;
  std::vector<std::string> allow_plaintext;
  std::string http_listen;     // empty = none
  std::string metrics_listen;  // likewise; any address
  bool has_certificates = false;
};

// A unix socket speaks plaintext; a TCP address mTLS where there are certificates, else plaintext if it is loopback.
// --allow-plaintext turns the address that it names into plaintext. INVALID_ARGUMENT for what is malformed, named
// twice, or allowed and not listened on; FAILED_PRECONDITION, with a text that names the missing setting and the
// override, for what may not be listened on.
absl::StatusOr<ListenPlan> PlanListening(const ListenSettings& settings);

// How many addresses speak plaintext by --allow-plaintext: what a metric tells.
size_t PlaintextOverrides(const ListenPlan& plan);

}  // namespace ringd::server
