// Saved copies of a ring as an evil hand would make them: any header, any chunks, with a size and a hash that are
// right.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ring/hash.h"

namespace ringd::support {

inline std::string LittleEndian(uint64_t number, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i));
  return text;
}

// The format is told twice here, once in saved_copy.cc: so that neither changes unseen.
struct SealedCopy {
  std::string magic = "ringdcpy";
  uint32_t format = 1;
  uint64_t millis = 0;
  std::string chunks;  // each with its size before it

  SealedCopy& Add(std::string_view chunk) {
    chunks += LittleEndian(chunk.size(), 4);
    chunks += chunk;
    return *this;
  }
  std::string bytes() const {
    const std::string head = magic + LittleEndian(format, 4);
    std::string all = head + LittleEndian(head.size() + 16 + chunks.size() + 8, 8) + LittleEndian(millis, 8) + chunks;
    all += LittleEndian(ring::HashKey(all), 8);
    return all;
  }
};

}  // namespace ringd::support
