// Selections: the rings that any of several selectors selects. Selectors come and go; equal ones count each.
//
// Threads: not synchronised.
// Cost: Add and Remove take the logarithm of what is there for each name; Selects takes it once, and where there are
// prefixes once for each byte of the ring's name, however many selectors there are.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "server/watch_session.h"

namespace ringd::server {

class Selections {
 public:
  void Add(const RingSelector& selector);
  // REQUIRES a selector that was added, and not yet removed as often.
  void Remove(const RingSelector& selector);

  bool Selects(std::string_view ring) const;

 private:
  // How many selectors have each.
  using Counts = std::map<std::string, size_t, std::less<>>;

  static void Less(Counts& counts, const std::string& one);

  Counts names_;
  Counts prefixes_;
};

}  // namespace ringd::server
