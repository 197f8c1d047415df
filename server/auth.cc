#include "server/auth.h"

#include <algorithm>
#include <array>
#include <utility>

#include "fmt/format.h"
#include "ring/error.h"

namespace ringd::server {
namespace {

constexpr std::array<std::pair<std::string_view, Right>, 20> kRights = {{
    {"CreateRing", Right::kChange},     {"GetRing", Right::kRead},      {"ListRings", Right::kRead},
    {"UpdateRing", Right::kChange},     {"DeleteRing", Right::kChange}, {"AddNode", Right::kChange},
    {"RemoveNode", Right::kChange},     {"UpdateNode", Right::kChange}, {"ApplyChanges", Right::kChange},
    {"ImportSlots", Right::kChange},    {"Lookup", Right::kRead},       {"BatchLookup", Right::kRead},
    {"ListRanges", Right::kRead},       {"ListChanges", Right::kRead},  {"DiffVersions", Right::kRead},
    {"RestoreVersion", Right::kChange}, {"Watch", Right::kRead},        {"ReportWatch", Right::kRead},
    {"ListWatchers", Right::kRead},     {"Backup", Right::kChange},
}};

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string NameOf(const Caller& caller) {
  if (caller.uris.empty() && caller.dns_names.empty()) return "a certificate without URI and DNS SAN";
  return ring::Quote(caller.Actor());
}

}  // namespace

std::optional<Right> RightFor(std::string_view method) {
  const auto* const rule =
      std::find_if(kRights.begin(), kRights.end(), [method](const auto& right) { return right.first == method; });
  if (rule == kRights.end()) return std::nullopt;
  return rule->second;
}

const std::string& Caller::Actor() const {
  if (!uris.empty()) return uris.front();
  return dns_names.empty() ? peer : dns_names.front();
}

bool Authorizer::IsAdmin(const Caller& caller) const {
  return std::any_of(admin_sans_.begin(), admin_sans_.end(), [&caller](const std::string& san) {
    return Contains(san.find(':') == std::string::npos ? caller.dns_names : caller.uris, san);
  });
}

absl::Status Authorizer::Check(const Caller& caller, std::string_view method) const {
  const std::optional<Right> right = RightFor(method);
  if (!right.has_value()) {
    return ring::Error(absl::StatusCode::kPermissionDenied, kAdminRequired,
                       fmt::format("nobody may call {}: it has no rule", method));
  }
  if (!caller.has_certificate || *right == Right::kRead || IsAdmin(caller)) return absl::OkStatus();
  return ring::Error(absl::StatusCode::kPermissionDenied, kAdminRequired,
                     fmt::format("{} may not call {}: no --admin-san of ringd names it", NameOf(caller), method));
}

}  // namespace ringd::server
