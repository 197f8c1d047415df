#include "server/build_commit.h"

namespace ringd::server {

const char* const kBuildCommit = RINGD_COMMIT;

}  // namespace ringd::server
