// The file of a SqliteStore before SQLite touches it: made as a whole, or refused with a reason.
//
// Errors: NOT_FOUND no store there and none to be made; FAILED_PRECONDITION what is there is not a store that this
// binary reads, each case in its own words; DATA_LOSS its log is damaged where acknowledged changes follow; else as of
// SqliteDb. What is refused is left as it was.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "server/data_dir.h"
#include "server/sqlite_db.h"

namespace ringd::server {

inline constexpr char kStoreFileName[] = "ringd.db";

// Leaves a store file in `dir` that SQLite may open. A new one gets its name only when it is complete and durable.
// Removes what an earlier attempt to make one left. REQUIRES that nobody in this process has the file open.
absl::Status PrepareStoreFile(const DataDir& dir, InitMode mode);

// Gives a store that was made before rings had slots the table for them; does nothing to others.
absl::Status AddSlotsTable(SqliteDb& db);

}  // namespace ringd::server
