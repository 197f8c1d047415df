// The file of a saved copy. Any thread; both wait for the disk.
//
// Whenever the process or the machine ends, the file is whole: it is the one from before or the new one. Beside it, a
// file of the same name with ".tmp" is the next one while it is written, and may be left over, which does no harm.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/local/saved_copy.h"

namespace ringd {

// Puts the copy in the place of the file. It is there for good when this is OK: also after a loss of power. Only its
// owner may read it: addresses and metadata of a service's nodes are nobody else's.
// On any error but that of a disk that fails at the last step, the file is as it was: NOT_FOUND where the folder is not
// there, RESOURCE_EXHAUSTED for a full disk or a copy that is too large, UNAVAILABLE while another one saves to the
// same path, such as the process before a restart; else what the system says.
absl::Status SaveCopy(const std::string& path, std::string_view ring, const SavedCopy& copy);

// NOT_FOUND when there is no file; the errors of DecodeCopy, and RESOURCE_EXHAUSTED for a file that is too large; else
// what the system says.
absl::StatusOr<SavedCopy> LoadCopy(const std::string& path, const CopyWanted& wanted);

}  // namespace ringd
