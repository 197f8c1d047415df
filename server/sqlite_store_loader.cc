#include "server/sqlite_store_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "ring/error.h"
#include "server/sqlite_store_checksum.h"
#include "server/storage_codec.h"
#include "server/store_rules.h"

namespace ringd::server {
namespace {

constexpr char kAllRings[] =
    "SELECT id, name, epoch, revision, record, nodes_digest, changes_digest, checksum FROM ring ORDER BY id";
constexpr char kAllNodes[] = "SELECT ring_id, id, record, checksum FROM node ORDER BY ring_id, id";
constexpr char kAllSlots[] = "SELECT ring_id, record, checksum FROM slots ORDER BY ring_id";
constexpr char kAllChanges[] =
    "SELECT ring_id, revision, time_micros, request_id, record, checksum FROM change ORDER BY ring_id, revision";
constexpr char kAllTombstones[] =
    "SELECT name, epoch, time_micros, record, checksum FROM tombstone ORDER BY name, epoch";

constexpr char kNotAsWritten[] = "the row is not what was written";

absl::Status Corrupt(const std::string& text) { return ring::Error(absl::StatusCode::kDataLoss, kStoreCorrupt, text); }

// Calls `take` with each row of a query, until it refuses one.
template <class Take>
absl::Status ForEachRow(SqliteDb& db, const char* sql, Take take) {
  SqliteQuery query(db, sql);
  while (true) {
    absl::StatusOr<bool> found = query.Next();
    if (!found.ok()) return found.status();
    if (!*found) return absl::OkStatus();
    if (absl::Status taken = take(query); !taken.ok()) return taken;
  }
}

// A ring while its rows come in; what is left of the digests must be 0 in the end.
struct OpenRing {
  int64_t id;
  StoredRing ring;
  RingChecksums checksums;
  uint64_t nodes_digest;
  uint64_t changes_digest;
};

absl::StatusOr<std::vector<OpenRing>> ReadRings(SqliteDb& db, LoadedRows& rows) {
  std::vector<OpenRing> rings;
  absl::Status read = ForEachRow(db, kAllRings, [&](const SqliteQuery& row) {
    const std::string where = fmt::format("ring {}: ", ring::Quote(row.Bytes(1)));
    const RingChecksums checksums(row.Bytes(1), row.Int(2));
    const uint64_t checksum = checksums.Ring(row.Int(3), row.Bytes(4), row.Int(5), row.Int(6));
    if (checksum != row.Int(7)) return Corrupt(where + kNotAsWritten);
    absl::StatusOr<RingHead> head = DecodeRing(row.Bytes(4));
    if (!head.ok()) return ring::Prefixed(where, head.status());
    if (head->name != row.Bytes(1) || head->version != ring::Version{row.Int(2), row.Int(3)}) {
      return Corrupt(where + "the row's record is of another ring or version");
    }
    rows.rings_digest += checksum;
    rings.push_back({row.Signed(0), {*std::move(head), {}, {}}, checksums, row.Int(5), row.Int(6)});
    return absl::OkStatus();
  });
  if (!read.ok()) return read;
  return rings;
}

// Walks through the rings alongside rows that come in order of ring_id.
class RingCursor {
 public:
  explicit RingCursor(std::vector<OpenRing>& rings) : rings_(rings) {}

  absl::StatusOr<OpenRing*> Find(int64_t ring_id) {
    while (next_ < rings_.size() && rings_[next_].id < ring_id) ++next_;
    if (next_ < rings_.size() && rings_[next_].id == ring_id) return &rings_[next_];
    return Corrupt(fmt::format("rows of ring number {}, which is not there", ring_id));
  }

 private:
  std::vector<OpenRing>& rings_;
  size_t next_ = 0;
};

absl::Status ReadNodes(SqliteDb& db, std::vector<OpenRing>& rings) {
  RingCursor cursor(rings);
  return ForEachRow(db, kAllNodes, [&](const SqliteQuery& row) {
    absl::StatusOr<OpenRing*> ring = cursor.Find(row.Signed(0));
    if (!ring.ok()) return ring.status();
    const auto where = [&] {
      return fmt::format("ring {}, node {}: ", ring::Quote((*ring)->ring.head.name), ring::Quote(row.Bytes(1)));
    };
    const uint64_t checksum = (*ring)->checksums.Node(row.Bytes(1), row.Bytes(2));
    if (checksum != row.Int(3)) return Corrupt(where() + kNotAsWritten);
    absl::StatusOr<ring::Node> node = DecodeNode(row.Bytes(2));
    if (!node.ok()) return ring::Prefixed(where(), node.status());
    (*ring)->nodes_digest -= checksum;
    (*ring)->ring.nodes.push_back(*std::move(node));
    return absl::OkStatus();
  });
}

// A row that is lost, or of another version, shows in the ring's checksum, which is over its slots too.
absl::Status ReadSlots(SqliteDb& db, std::vector<OpenRing>& rings) {
  RingCursor cursor(rings);
  return ForEachRow(db, kAllSlots, [&](const SqliteQuery& row) {
    absl::StatusOr<OpenRing*> ring = cursor.Find(row.Signed(0));
    if (!ring.ok()) return ring.status();
    const std::string where = fmt::format("ring {}, slots: ", ring::Quote((*ring)->ring.head.name));
    if ((*ring)->checksums.Slots(row.Bytes(1)) != row.Int(2)) return Corrupt(where + kNotAsWritten);
    absl::StatusOr<std::vector<uint32_t>> places = DecodeSlots(row.Bytes(1));
    if (!places.ok()) return ring::Prefixed(where, places.status());
    (*ring)->ring.slot_places = *std::move(places);
    return absl::OkStatus();
  });
}

absl::Status VerifyChanges(SqliteDb& db, std::vector<OpenRing>& rings) {
  RingCursor cursor(rings);
  return ForEachRow(db, kAllChanges, [&](const SqliteQuery& row) {
    absl::StatusOr<OpenRing*> ring = cursor.Find(row.Signed(0));
    if (!ring.ok()) return ring.status();
    const uint64_t checksum = (*ring)->checksums.Change(row.Int(1), row.Signed(2), row.Bytes(3), row.Bytes(4));
    if (checksum != row.Int(5)) {
      return Corrupt(
          fmt::format("ring {}, change {}: {}", ring::Quote((*ring)->ring.head.name), row.Int(1), kNotAsWritten));
    }
    (*ring)->changes_digest -= checksum;
    return absl::OkStatus();
  });
}

absl::Status ReadTombstones(SqliteDb& db, LoadedRows& rows) {
  return ForEachRow(db, kAllTombstones, [&](const SqliteQuery& row) {
    const std::string where = fmt::format("tombstone of ring {}: ", ring::Quote(row.Bytes(0)));
    const uint64_t checksum = RingChecksums(row.Bytes(0), row.Int(1)).Tombstone(row.Signed(2), row.Bytes(3));
    if (checksum != row.Int(4)) return Corrupt(where + kNotAsWritten);
    absl::StatusOr<Tombstone> tombstone = DecodeTombstone(row.Bytes(3));
    if (!tombstone.ok()) return ring::Prefixed(where, tombstone.status());
    rows.tombstones_digest += checksum;
    rows.contents.tombstones.push_back(*std::move(tombstone));
    return absl::OkStatus();
  });
}

}  // namespace

absl::StatusOr<LoadedRows> LoadRows(SqliteDb& db) {
  LoadedRows rows;
  absl::StatusOr<std::vector<OpenRing>> rings = ReadRings(db, rows);
  if (!rings.ok()) return rings.status();
  if (absl::Status nodes = ReadNodes(db, *rings); !nodes.ok()) return nodes;
  if (absl::Status slots = ReadSlots(db, *rings); !slots.ok()) return slots;
  if (absl::Status changes = VerifyChanges(db, *rings); !changes.ok()) return changes;
  for (OpenRing& open : *rings) {
    if (open.nodes_digest != 0 || open.changes_digest != 0) {
      return Corrupt(fmt::format("ring {}: rows of its {} are lost, or too many", ring::Quote(open.ring.head.name),
                                 open.nodes_digest != 0 ? "nodes" : "changes"));
    }
    rows.contents.rings.push_back(std::move(open.ring));
  }
  std::sort(rows.contents.rings.begin(), rows.contents.rings.end(),
            [](const StoredRing& a, const StoredRing& b) { return a.head.name < b.head.name; });
  if (absl::Status tombstones = ReadTombstones(db, rows); !tombstones.ok()) return tombstones;
  return rows;
}

}  // namespace ringd::server
