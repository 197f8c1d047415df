// Finds damage in the middle of SQLite's write-ahead log, which SQLite itself passes over in silence.
//
// Its recovery ends at the first frame whose checksum is wrong, and drops what follows: right for the end of a log that
// a crash cut short, of which nobody was told. But a transaction is begun only when the one before it is on the disk.
// So where a frame is wrong, and behind it another transaction ends and a next one goes on from its end, what is wrong
// was acknowledged.
//
// Damage in the last transaction, or in the header of the frame that ends the one before it, cannot be told from a
// crash, and is not found.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace ringd::server {

// The offset of the first wrong byte's frame, or 0 for the log's header; nothing when the log is whole, or ends as a
// crash may leave it. `log` is a whole ringd.db-wal. Pure, any thread.
std::optional<size_t> FindLogDamage(std::string_view log);

}  // namespace ringd::server
