#include "server/applied_tallies.h"

#include <algorithm>
#include <cmath>

namespace ringd::server {

bool AppliedTally::Reached() const {
  // A share such as 0.07 of 100 is a little more than 7 in a double.
  constexpr double kRounding = 1e-9;
  const double needed = std::ceil(share * static_cast<double>(watchers) - kRounding);
  return watchers == 0 || static_cast<double>(applied) >= std::max(needed, 1.0);
}

const AppliedTally* AppliedTallies::Find(std::string_view ring, uint64_t id) const {
  const auto of_ring = rings_.find(ring);
  if (of_ring == rings_.end()) return nullptr;
  const auto tally = of_ring->second.find(id);
  return tally == of_ring->second.end() ? nullptr : &tally->second;
}

void AppliedTallies::Remove(std::string_view ring, uint64_t id) {
  const auto of_ring = rings_.find(ring);
  if (of_ring == rings_.end()) return;
  of_ring->second.erase(id);
  if (of_ring->second.empty()) rings_.erase(of_ring);
}

template <class Edit>
void AppliedTallies::Each(std::string_view ring, Ids& reached, const Edit& edit) {
  const auto of_ring = rings_.find(ring);
  if (of_ring == rings_.end()) return;
  for (auto& [id, tally] : of_ring->second) {
    edit(tally);
    if (tally.Reached()) reached.push_back(id);
  }
}

void AppliedTallies::Moved(std::string_view ring, const ring::Version& before, const ring::Version& now, Ids& reached) {
  Each(ring, reached, [&](AppliedTally& tally) {
    if (before < tally.version && now >= tally.version) tally.applied++;
  });
}

void AppliedTallies::Came(std::string_view ring, const ring::Version& applied, Ids& reached) {
  Each(ring, reached, [&](AppliedTally& tally) {
    tally.watchers++;
    if (applied >= tally.version) tally.applied++;
  });
}

void AppliedTallies::Went(std::string_view ring, const ring::Version& applied, Ids& reached) {
  Each(ring, reached, [&](AppliedTally& tally) {
    tally.watchers--;
    if (applied >= tally.version) tally.applied--;
  });
}

}  // namespace ringd::server
