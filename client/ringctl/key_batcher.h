#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ringd/v1/directory.pb.h"

namespace ringd::ctl {

// KeyBatcher gathers keys into requests that a server with default limits takes: at most 10,000 keys, and bytes below
// its limit of 1 MiB a message. A key that is too large by itself gets a request of its own, for the server to judge.
class KeyBatcher {
 public:
  static constexpr int kMostKeys = 10'000;
  static constexpr std::size_t kMostBytes = 900'000;

  // Every batch begins as a copy of `prototype`, which has no keys.
  explicit KeyBatcher(v1::BatchLookupRequest prototype);

  // Fits: `key` can be added without passing a limit. Always so for the first key of a batch.
  bool Fits(std::string_view key) const;

  void Add(std::string_view key);
  bool empty() const { return batch_.keys_size() == 0; }

  // Take hands out the batch and begins a new one.
  v1::BatchLookupRequest Take();

 private:
  const v1::BatchLookupRequest prototype_;
  v1::BatchLookupRequest batch_;
  std::size_t bytes_;  // size of batch_ on the wire, or a little more
};

}  // namespace ringd::ctl
