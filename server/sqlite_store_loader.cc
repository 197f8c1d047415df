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
constexpr char kAllChanges[] =
    "SELECT ring_id, revision, time_micros, request_id, record, checksum FROM change ORDER BY ring_id, revision";
constexpr char kAllTombstones[] =
    "SELECT name, epoch, time_micros, record, checksum FROM tombstone ORDER BY name, epoch";

constexpr char kNotAsWritten[] = "the row is not what was written";

absl::Status Corrupt(const std::string& text) { return ring::Error(absl::StatusCode::kDataLoss, kStoreCorrupt, text); }

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
  SqliteQuery query(db, kAllRings);
  while (true) {
    absl::StatusOr<bool> found = query.Next();
    if (!found.ok()) return found.status();
    if (!*found) return rings;
    const std::string where = fmt::format("ring {}: ", ring::Quote(query.Bytes(1)));
    const uint64_t checksum =
        RingChecksums(query.Bytes(1), query.Int(2)).Ring(query.Int(3), query.Bytes(4), query.Int(5), query.Int(6));
    if (checksum != query.Int(7)) return Corrupt(where + kNotAsWritten);
    absl::StatusOr<RingHead> head = DecodeRing(query.Bytes(4));
    if (!head.ok()) return ring::Prefixed(where, head.status());
    if (head->name != query.Bytes(1) || head->version != ring::Version{query.Int(2), query.Int(3)}) {
      return Corrupt(where + "the row's record is of another ring or version");
    }
    rows.rings_digest += checksum;
    StoredRing ring{*std::move(head), {}};
    const RingChecksums checksums(ring.head.name, ring.head.version.epoch);
    rings.push_back({query.Signed(0), std::move(ring), checksums, query.Int(5), query.Int(6)});
  }
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
  SqliteQuery query(db, kAllNodes);
  while (true) {
    absl::StatusOr<bool> found = query.Next();
    if (!found.ok()) return found.status();
    if (!*found) return absl::OkStatus();
    absl::StatusOr<OpenRing*> ring = cursor.Find(query.Signed(0));
    if (!ring.ok()) return ring.status();
    const auto where = [&] {
      return fmt::format("ring {}, node {}: ", ring::Quote((*ring)->ring.head.name), ring::Quote(query.Bytes(1)));
    };
    const uint64_t checksum = (*ring)->checksums.Node(query.Bytes(1), query.Bytes(2));
    if (checksum != query.Int(3)) return Corrupt(where() + kNotAsWritten);
    absl::StatusOr<ring::Node> node = DecodeNode(query.Bytes(2));
    if (!node.ok()) return ring::Prefixed(where(), node.status());
    (*ring)->nodes_digest -= checksum;
    (*ring)->ring.nodes.push_back(*std::move(node));
  }
}

absl::Status VerifyChanges(SqliteDb& db, std::vector<OpenRing>& rings) {
  RingCursor cursor(rings);
  SqliteQuery query(db, kAllChanges);
  while (true) {
    absl::StatusOr<bool> found = query.Next();
    if (!found.ok()) return found.status();
    if (!*found) return absl::OkStatus();
    absl::StatusOr<OpenRing*> ring = cursor.Find(query.Signed(0));
    if (!ring.ok()) return ring.status();
    const uint64_t checksum = (*ring)->checksums.Change(query.Int(1), query.Signed(2), query.Bytes(3), query.Bytes(4));
    if (checksum != query.Int(5)) {
      return Corrupt(
          fmt::format("ring {}, change {}: {}", ring::Quote((*ring)->ring.head.name), query.Int(1), kNotAsWritten));
    }
    (*ring)->changes_digest -= checksum;
  }
}

absl::Status ReadTombstones(SqliteDb& db, LoadedRows& rows) {
  SqliteQuery query(db, kAllTombstones);
  while (true) {
    absl::StatusOr<bool> found = query.Next();
    if (!found.ok()) return found.status();
    if (!*found) return absl::OkStatus();
    const std::string where = fmt::format("tombstone of ring {}: ", ring::Quote(query.Bytes(0)));
    const uint64_t checksum = RingChecksums(query.Bytes(0), query.Int(1)).Tombstone(query.Signed(2), query.Bytes(3));
    if (checksum != query.Int(4)) return Corrupt(where + kNotAsWritten);
    absl::StatusOr<Tombstone> tombstone = DecodeTombstone(query.Bytes(3));
    if (!tombstone.ok()) return ring::Prefixed(where, tombstone.status());
    rows.tombstones_digest += checksum;
    rows.contents.tombstones.push_back(*std::move(tombstone));
  }
}

}  // namespace

absl::StatusOr<LoadedRows> LoadRows(SqliteDb& db) {
  LoadedRows rows;
  absl::StatusOr<std::vector<OpenRing>> rings = ReadRings(db, rows);
  if (!rings.ok()) return rings.status();
  if (absl::Status nodes = ReadNodes(db, *rings); !nodes.ok()) return nodes;
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
