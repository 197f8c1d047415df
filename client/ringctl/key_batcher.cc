#include "client/ringctl/key_batcher.h"

#include <utility>

namespace ringd::ctl {
namespace {

// Tag and length of a key, at most.
constexpr std::size_t kKeyOverhead = 6;

}  // namespace

KeyBatcher::KeyBatcher(v1::BatchLookupRequest prototype)
    : prototype_(std::move(prototype)), batch_(prototype_), bytes_(prototype_.ByteSizeLong()) {}

bool KeyBatcher::Fits(std::string_view key) const {
  return empty() || (batch_.keys_size() < kMostKeys && bytes_ + key.size() + kKeyOverhead <= kMostBytes);
}

void KeyBatcher::Add(std::string_view key) {
  batch_.add_keys(key.data(), key.size());
  bytes_ += key.size() + kKeyOverhead;
}

v1::BatchLookupRequest KeyBatcher::Take() {
  bytes_ = prototype_.ByteSizeLong();
  return std::exchange(batch_, prototype_);
}

}  // namespace ringd::ctl
