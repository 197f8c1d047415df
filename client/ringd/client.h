// Client: calls a directory. Thin: it holds no ring; each lookup is a call over the network. See LocalRing for a copy
// that answers in nanoseconds.
//
// Performance: a call is one round trip. Many keys belong into one BatchLookup. Make one Client and keep it: making one
// connects.
//
// Thread safety: all members may be called from any number of threads at once.
//
// Error handling: every call answers a Status of the codes of directory.proto, with its text and its reason
// (ErrorReason). Every call has a deadline, and ends with DEADLINE_EXCEEDED when that has passed. UNAVAILABLE is tried
// again within it, up to four times in all, at the next endpoint; it is what remains when no directory was reached. Of
// a change that ends with UNAVAILABLE or DEADLINE_EXCEEDED it is not known whether it was made.
//
// Idempotency: every change carries a request_id, made here if you give none, and keeps it when it is tried again: it
// is made once. To repeat a call yourself, after a restart for instance, give a request_id of your own.
//
// Example:
//   auto client = ringd::Client::Connect({.endpoints = {"127.0.0.1:7440"}});
//   if (!client.ok()) return client.status();
//   auto answer = (*client)->Lookup("cache", "user:17");
//   if (answer.ok()) Send(answer->owners.front().address);
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "ringd/types.h"

namespace ringd {

// Files in PEM, a mebibyte each at most. They are looked at again once a second at most while they are used, by the
// thread that uses them: they belong on a local disk. What is renewed is used from the next connection on, without a
// restart, once it is whole and good: each file parses, the key belongs to the certificate, each certificate of its
// file was issued by the next one and is valid now, and so is one CA at least. Until then the last good ones are used.
struct TlsFiles {
  std::string ca_file;    // whose certificates the server's is verified against; empty = those of gRPC
  std::string cert_file;  // of the client, and behind it those that lead to its CA; empty with key_file = none
  std::string key_file;
  // The name that the server's certificate must have; empty = the host of the endpoint.
  std::string server_name;
};

struct ClientOptions {
  // HOST:PORT, [V6]:PORT or unix:///PATH. The first that can be reached is used; the next when a call to it fails.
  std::vector<std::string> endpoints;
  // Absent = plaintext, which a server takes on loopback and unix sockets alone.
  std::optional<TlsFiles> tls;
  // Of each read, retries included.
  std::chrono::milliseconds lookup_timeout{1'000};
  // Of each change, each page of GetRing, ListRings and ListChanges, and each DiffVersions, retries included.
  std::chrono::milliseconds change_timeout{5'000};
};

class Client {
 public:
  // INVALID_ARGUMENT for options that are wrong (no endpoint, a certificate without its key); FAILED_PRECONDITION, with
  // the name of the file, for TLS files that are not good. Does not wait for a connection: the first call does.
  static absl::StatusOr<std::unique_ptr<Client>> Connect(ClientOptions options);
  Client(const Client&) = delete;
  ~Client();

  // Why the TLS files as they are now are not used, and those from before are: FAILED_PRECONDITION, with the name of
  // the file. OK = they are, or there are none. Worth an alert: connections will fail when the old certificate expires.
  absl::Status TlsProblem() const;

  // --- Lookups

  absl::StatusOr<LookupResult> Lookup(std::string_view ring, std::string_view key,
                                      const LookupOptions& options = {}) const;
  // The owners of a position on the circle: a value of the ring's hash function, or of the caller's own in a ring of
  // PointsPlacement.
  absl::StatusOr<LookupResult> LookupPosition(std::string_view ring, uint64_t position,
                                              const LookupOptions& options = {}) const;
  absl::StatusOr<BatchLookupResult> BatchLookup(std::string_view ring, std::span<const std::string_view> keys,
                                                const LookupOptions& options = {}) const;

  // --- Rings

  absl::StatusOr<MutationResult> CreateRing(std::string_view ring, const RingSettings& settings = {},
                                            const MutationOptions& options = {}) const;
  absl::StatusOr<MutationResult> UpdateRing(std::string_view ring, const ringd::UpdateRing& update,
                                            const MutationOptions& options = {}) const;
  absl::StatusOr<MutationResult> DeleteRing(std::string_view ring, const MutationOptions& options = {}) const;
  // All nodes, from one version; ABORTED when the ring changes faster than its pages can be read.
  absl::StatusOr<RingContent> GetRing(std::string_view ring) const;
  // The rings whose names begin with `prefix`, in order of name.
  absl::StatusOr<std::vector<RingInfo>> ListRings(std::string_view prefix = "") const;

  // --- History

  // The newest kept changes of a ring, `max` of them at most, newest first. Those of one epoch: where the ring is made
  // anew meanwhile, the list ends there.
  absl::StatusOr<std::vector<ChangeRecord>> ListChanges(std::string_view ring, size_t max) const;
  // What moved from one version to another; absent `to` = the ring as it is. NOT_FOUND when its history does not reach
  // so far.
  absl::StatusOr<VersionDiff> DiffVersions(std::string_view ring, const Version& from,
                                           const std::optional<Version>& to = std::nullopt) const;
  // Goes back to the nodes of an earlier version, as a new change. NOT_FOUND when its history does not reach so far.
  absl::StatusOr<MutationResult> RestoreVersion(std::string_view ring, const Version& version,
                                                const MutationOptions& options = {}) const;

  // --- Nodes

  absl::StatusOr<MutationResult> AddNode(std::string_view ring, const Node& node,
                                         const MutationOptions& options = {}) const;
  absl::StatusOr<MutationResult> RemoveNode(std::string_view ring, std::string_view node_id,
                                            const MutationOptions& options = {}) const;
  absl::StatusOr<MutationResult> UpdateNode(std::string_view ring, const ringd::UpdateNode& update,
                                            const MutationOptions& options = {}) const;
  // All of the operations as one change, or none of them.
  absl::StatusOr<MutationResult> ApplyChanges(std::string_view ring, std::span<const Operation> operations,
                                              const MutationOptions& options = {}) const;

 private:
  class Calls;
  explicit Client(std::unique_ptr<Calls> calls);

  const std::unique_ptr<Calls> calls_;
};

}  // namespace ringd
