#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ringd/v1/directory.pb.h"

namespace ringd::ctl {

// A version is written EPOCH/REVISION, both in decimal.
std::string VersionText(const v1::Version& version);

// ParseVersion reads what VersionText writes; nullopt for anything else.
std::optional<v1::Version> ParseVersion(std::string_view text);

// ChecksumText is the value in 16 hex digits.
std::string ChecksumText(const v1::Checksum& checksum);

// RevisionStepText tells how a change moved a ring: "revision 41 -> 42", with the epochs where they differ.
std::string RevisionStepText(const v1::Version& before, const v1::Version& after);

bool SameVersion(const v1::Version& a, const v1::Version& b);

}  // namespace ringd::ctl
