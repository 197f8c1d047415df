// Reads all rows of a SqliteStore and verifies them against their checksums and digests.
//
// Cost: one pass over the file; history is verified and not kept.
// Errors: DATA_LOSS naming ring and row; those of SqliteDb.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "server/sqlite_db.h"
#include "server/store.h"

namespace ringd::server {

struct LoadedRows {
  StoreContents contents;  // rings in order of name, nodes in order of id; highest_epoch is left to the caller
  // What `meta` must say.
  uint64_t rings_digest = 0;
  uint64_t tombstones_digest = 0;
};

absl::StatusOr<LoadedRows> LoadRows(SqliteDb& db);

}  // namespace ringd::server
