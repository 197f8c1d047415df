// The commit that the build was configured at, or "unknown" outside a git work tree.
#pragma once

namespace ringd::server {

extern const char* const kBuildCommit;

}  // namespace ringd::server
