// The checksums of a SqliteStore's rows: XXH3 64 over a row's key, the ring that it belongs to, and its contents.
// Frozen with the file format. Each field is hashed with the hash of those before it as seed, so that fields cannot run
// into each other and the part that all rows of a ring share is hashed once.
#pragma once

#include <xxhash.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace ringd::server {

class ChecksumChain {
 public:
  enum class Table : uint64_t { kMeta = 1, kRing = 2, kNode = 3, kChange = 4, kTombstone = 5, kSlots = 6 };

  explicit ChecksumChain(Table table) : hash_(static_cast<uint64_t>(table)) {}

  ChecksumChain& Add(std::string_view bytes) {
    hash_ = XXH3_64bits_withSeed(bytes.data(), bytes.size(), hash_);
    return *this;
  }
  ChecksumChain& Add(uint64_t number) {
    std::array<char, 8> bytes;  // little-endian
    for (char& byte : bytes) {
      byte = static_cast<char>(number);
      number >>= 8;
    }
    return Add(std::string_view(bytes.data(), bytes.size()));
  }
  uint64_t value() const { return hash_; }

 private:
  uint64_t hash_;
};

inline uint64_t MetaChecksum(std::string_view store_id, uint64_t highest_epoch, uint64_t rings_digest,
                             uint64_t tombstones_digest) {
  return ChecksumChain(ChecksumChain::Table::kMeta)
      .Add(store_id)
      .Add(highest_epoch)
      .Add(rings_digest)
      .Add(tombstones_digest)
      .value();
}

// Of one ring, at one epoch: a row that strayed in from another ring, or from an earlier ring of that name, shows.
class RingChecksums {
 public:
  RingChecksums(std::string_view name, uint64_t epoch)
      : ring_(Start(ChecksumChain::Table::kRing, name, epoch)),
        node_(Start(ChecksumChain::Table::kNode, name, epoch)),
        change_(Start(ChecksumChain::Table::kChange, name, epoch)),
        tombstone_(Start(ChecksumChain::Table::kTombstone, name, epoch)),
        slots_(Start(ChecksumChain::Table::kSlots, name, epoch)) {}

  uint64_t Ring(uint64_t revision, std::string_view record, uint64_t nodes_digest, uint64_t changes_digest) const {
    return ChecksumChain(ring_).Add(revision).Add(nodes_digest).Add(changes_digest).Add(record).value();
  }
  uint64_t Node(std::string_view id, std::string_view record) const {
    return ChecksumChain(node_).Add(id).Add(record).value();
  }
  uint64_t Change(uint64_t revision, int64_t time_micros, std::string_view request_id, std::string_view record) const {
    const uint64_t time = static_cast<uint64_t>(time_micros);
    return ChecksumChain(change_).Add(revision).Add(time).Add(request_id).Add(record).value();
  }
  uint64_t Slots(std::string_view record) const { return ChecksumChain(slots_).Add(record).value(); }
  uint64_t Tombstone(int64_t time_micros, std::string_view record) const {
    return ChecksumChain(tombstone_).Add(static_cast<uint64_t>(time_micros)).Add(record).value();
  }

 private:
  static ChecksumChain Start(ChecksumChain::Table table, std::string_view name, uint64_t epoch) {
    return ChecksumChain(table).Add(name).Add(epoch);
  }

  ChecksumChain ring_;
  ChecksumChain node_;
  ChecksumChain change_;
  ChecksumChain tombstone_;
  ChecksumChain slots_;
};

}  // namespace ringd::server
