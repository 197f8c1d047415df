#include "client/ringctl/version_text.h"

#include <fmt/format.h>

#include "client/ringctl/argument_values.h"

namespace ringd::ctl {

std::string VersionText(const v1::Version& version) {
  return fmt::format("{}/{}", version.epoch(), version.revision());
}

std::optional<v1::Version> ParseVersion(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::optional<uint64_t> epoch = ParseDecimal(text.substr(0, slash));
  const std::optional<uint64_t> revision = ParseDecimal(text.substr(slash + 1));
  if (!epoch || !revision) return std::nullopt;
  v1::Version version;
  version.set_epoch(*epoch);
  version.set_revision(*revision);
  return version;
}

std::string ChecksumText(const v1::Checksum& checksum) { return fmt::format("{:016x}", checksum.value()); }

std::string RevisionStepText(const v1::Version& before, const v1::Version& after) {
  if (before.epoch() != after.epoch()) return fmt::format("version {} -> {}", VersionText(before), VersionText(after));
  return fmt::format("revision {} -> {}", before.revision(), after.revision());
}

bool SameVersion(const v1::Version& a, const v1::Version& b) {
  return a.epoch() == b.epoch() && a.revision() == b.revision();
}

}  // namespace ringd::ctl
