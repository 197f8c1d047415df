#include "server/listen_plan.h"

#include <algorithm>

#include "fmt/format.h"
#include "ring/error.h"

namespace ringd::server {
namespace {

absl::Status Refused(const ListenAddress& address, const std::string& what_helps) {
  return ring::Error(absl::StatusCode::kFailedPrecondition, kPlaintextRefused,
                     fmt::format("refusing to listen on {}: it is neither loopback nor a unix socket{}",
                                 address.ToString(), what_helps));
}

absl::StatusOr<std::vector<ListenAddress>> ParseAll(const std::vector<std::string>& texts) {
  std::vector<ListenAddress> addresses;
  for (const std::string& text : texts) {
    auto address = ParseListenAddress(text);
    if (!address.ok()) return address.status();
    addresses.push_back(*std::move(address));
  }
  return addresses;
}

bool Contains(const std::vector<ListenAddress>& addresses, const ListenAddress& address) {
  return std::find(addresses.begin(), addresses.end(), address) != addresses.end();
}

absl::StatusOr<GrpcListen> PlanOne(const ListenAddress& address, bool has_certificates, bool allowed) {
  if (address.is_unix()) return GrpcListen{address, Transport::kPlaintext};
  if (has_certificates && !allowed) return GrpcListen{address, Transport::kMutualTls};
  if (!IsLocal(address) && !allowed) {
    return Refused(address,
                   fmt::format(", and --tls-cert-file is missing; --allow-plaintext={} allows it all the same, for a "
                               "network that keeps strangers out",
                               address.ToString()));
  }
  return GrpcListen{address, Transport::kPlaintext, has_certificates || !IsLocal(address)};
}

}  // namespace

absl::StatusOr<ListenPlan> PlanListening(const ListenSettings& settings) {
  const auto addresses = ParseAll(settings.listen);
  if (!addresses.ok()) return addresses.status();
  const auto allowed = ParseAll(settings.allow_plaintext);
  if (!allowed.ok()) return allowed.status();
  for (const ListenAddress& address : *allowed) {
    if (Contains(*addresses, address)) continue;
    return ring::InvalidField(
        fmt::format("--allow-plaintext names {}, which --listen does not name", address.ToString()));
  }
  ListenPlan plan;
  for (const ListenAddress& address : *addresses) {
    if (std::any_of(plan.grpc.begin(), plan.grpc.end(),
                    [&](const GrpcListen& one) { return one.address == address; })) {
      return ring::InvalidField(fmt::format("--listen names {} twice", address.ToString()));
    }
    auto one = PlanOne(address, settings.has_certificates, Contains(*allowed, address));
    if (!one.ok()) return one.status();
    plan.grpc.push_back(*std::move(one));
  }
  if (plan.grpc.empty()) return ring::InvalidField("--listen names no address");
  if (!settings.http_listen.empty()) {
    auto http = ParseListenAddress(settings.http_listen);
    if (!http.ok()) return http.status();
    if (!IsLocal(*http))
      return Refused(*http, "; --metrics-listen takes one for probes and metrics that others may read");
    plan.http = *std::move(http);
  }
  if (!settings.metrics_listen.empty()) {
    auto metrics = ParseListenAddress(settings.metrics_listen);
    if (!metrics.ok()) return metrics.status();
    plan.metrics = *std::move(metrics);
  }
  return plan;
}

size_t PlaintextOverrides(const ListenPlan& plan) {
  return static_cast<size_t>(
      std::count_if(plan.grpc.begin(), plan.grpc.end(), [](const GrpcListen& one) { return one.by_override; }));
}

}  // namespace ringd::server
