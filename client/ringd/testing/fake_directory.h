// FakeDirectory: a directory inside a test, for programs that use ringd::Client or ringd::LocalRing.
//
// It speaks to them over a real socket on loopback, so nothing of a program is bypassed; its rings are in memory, are
// those that the test gives it, and place keys as ringd does. It can be taken down and brought back. It serves Lookup,
// BatchLookup, GetRing, Watch and the changes of nodes; the limits, the guard and request_ids of a real directory it
// does not have.
//
// Performance: for tests. A ring is built anew with each change.
//
// Thread safety: all members may be called from any number of threads at once.
//
// Error handling: SetRing says why nodes make no ring. It ends the program when it cannot listen.
//
// Idempotency: SetRing with the same nodes is a new revision all the same.
//
// Example:
//   ringd::testing::FakeDirectory directory;
//   directory.SetRing("cache", {{.id = "n1", .address = "10.0.0.1:7000"}, {.id = "n2"}});
//   auto ring = ringd::LocalRing::Start("cache", {.directory = {.endpoints = {directory.endpoint()}}});
//   ...
//   directory.Stop();   // what does the program do now?
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "ringd/types.h"

namespace ringd::testing {

class FakeDirectory {
 public:
  // Listens on a free port of loopback.
  FakeDirectory();
  FakeDirectory(const FakeDirectory&) = delete;
  ~FakeDirectory();

  // Where it is; stays the same.
  const std::string& endpoint() const;

  // Makes the ring consist of just these nodes: the next revision of a ring that is there, else a new ring. A node
  // without a weight has 100. INVALID_ARGUMENT for nodes that make no ring (an empty id, an id twice).
  absl::Status SetRing(std::string_view ring, const std::vector<Node>& nodes);
  void DeleteRing(std::string_view ring);

  // Its version; empty when there is no such ring.
  Version version(std::string_view ring) const;

  // Breaks every connection and answers nobody until Start, which takes the same port. The rings stay. A LocalRing is
  // back some seconds after Start, kReconnectWithin at most.
  void Stop();
  void Start();

  // From now on every call is answered with this error, until it is OK again. Streams that are open stay.
  void FailWith(const absl::Status& status);

 private:
  class Service;
  struct Parts;

  const std::unique_ptr<Parts> parts_;
};

}  // namespace ringd::testing
