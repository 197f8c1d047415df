// AppliedTallies: how many of the names that watch a ring have applied a version of it, for each that somebody waits
// for. Whoever knows the names tells of every name that comes, goes or applies something; so nothing is counted twice.
//
// Threads: not synchronised.
// Cost: of a ring that is waited for, each call takes as long as there are waits for it; of another, a logarithm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ring/version.h"

namespace ringd::server {

struct AppliedTally {
  ring::Version version;
  double share = 1;     // of the watchers, above 0 and at most 1
  size_t watchers = 0;  // names that select the ring
  size_t applied = 0;   // those of them that have the version or a later one

  // Whether the share has applied it, rounded up to whole names. Of no names, any share has.
  bool Reached() const;
};

class AppliedTallies {
 public:
  using Ids = std::vector<uint64_t>;
  using OfRing = std::map<uint64_t, AppliedTally>;  // by id
  using ByRing = std::map<std::string, OfRing, std::less<>>;

  const ByRing& rings() const { return rings_; }
  const AppliedTally* Find(std::string_view ring, uint64_t id) const;

  // REQUIRES a tally that counts who is there.
  void Add(const std::string& ring, uint64_t id, const AppliedTally& tally) { rings_[ring].emplace(id, tally); }
  // Nothing when it is not there.
  void Remove(std::string_view ring, uint64_t id);

  // A name that selects the ring has gone from one version to another, has begun to select it, or selects it no longer.
  // A version is 0/0 where nothing is applied. The ids of the ring's tallies that are reached now are added to
  // `reached`.
  void Moved(std::string_view ring, const ring::Version& before, const ring::Version& now, Ids& reached);
  void Came(std::string_view ring, const ring::Version& applied, Ids& reached);
  void Went(std::string_view ring, const ring::Version& applied, Ids& reached);

 private:
  // Calls `edit` with each tally of the ring.
  template <class Edit>
  void Each(std::string_view ring, Ids& reached, const Edit& edit);

  ByRing rings_;  // none without a tally
};

}  // namespace ringd::server
