#include "server/selections.h"

namespace ringd::server {

void Selections::Add(const RingSelector& selector) {
  for (const std::string& name : selector.names) names_[name]++;
  if (selector.prefix.has_value()) prefixes_[*selector.prefix]++;
}

void Selections::Remove(const RingSelector& selector) {
  for (const std::string& name : selector.names) Less(names_, name);
  if (selector.prefix.has_value()) Less(prefixes_, *selector.prefix);
}

bool Selections::Selects(std::string_view ring) const {
  if (names_.contains(ring)) return true;
  for (size_t length = 0; length <= ring.size() && !prefixes_.empty(); length++) {
    if (prefixes_.contains(ring.substr(0, length))) return true;
  }
  return false;
}

void Selections::Less(Counts& counts, const std::string& one) {
  const auto it = counts.find(one);
  if (--it->second == 0) counts.erase(it);
}

}  // namespace ringd::server
